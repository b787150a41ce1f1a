import { Deck, Voice } from "./mixing.js";

const REPORT_EVERY = 8; // blocks of 128 samples

/** The audio thread: holds the next seconds of all sources and adds them up. */
class Mixer extends AudioWorkletProcessor {
  constructor() {
    super();
    this.deck = null; // of the version that is heard
    this.voices = []; // the last one is what is to be heard; the others fade out
    this.serial = 0; // of the last command; older reports are not believed
    this.blocks = 0;
    this.port.onmessage = ({ data }) => {
      this[data.act](data);
      this.serial = data.serial ?? this.serial;
    };
  }

  // ---- commands ------------------------------------------------------------------------------

  open({ version }) { this.deck = new Deck(version); }

  add({ start, count, samples }) { this.deck.stretches.set(start, { start, count, samples }); }

  drop({ start }) { this.deck.stretches.delete(start); }

  gains({ gains }) {
    const silent = this.voices.every(({ deck }) => deck !== this.deck);
    if (silent) this.deck.gains.set(gains);
    this.deck.targets.set(gains);
  }

  play({ position, loop }) {
    this.pause();
    this.voices.push(new Voice(this.deck, position, loop));
  }

  pause() { for (const voice of this.voices) voice.playing = false; }

  loop({ loop }) { for (const voice of this.voices) voice.loop = loop; }

  // ---- sound ---------------------------------------------------------------------------------

  process(_inputs, [[left, right]]) {
    for (const voice of this.voices) voice.process(left, right);
    this.blocks += 1;
    const voice = this.voices.at(-1);
    if (voice?.playing && (voice.over || this.blocks >= REPORT_EVERY)) {
      const { position, waiting, over } = voice;
      this.port.postMessage({ serial: this.serial, position, waiting, over });
      this.blocks = 0;
    }
    this.voices = this.voices.filter(({ over }) => !over);
    return true;
  }
}

registerProcessor("phinmf-mixer", Mixer);
