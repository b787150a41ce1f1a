import { Deck } from "./deck.js";
import { Mixing } from "./mixing.js";

/** Blocks of 128 samples between two reports. */
const REPORT_EVERY = 8;

/** The audio thread: holds the next seconds of all sources and adds them up. */
class Mixer extends AudioWorkletProcessor {
  constructor({ processorOptions }) {
    super();
    this.decks = new Map();
    this.mixing = new Mixing(this.deckOf(processorOptions));
    this.serial = 0; // of the last command; older reports are not believed
    this.blocks = 0;
    this.port.onmessage = ({ data }) => {
      this[data.act](data);
      this.serial = data.serial ?? this.serial;
    };
  }

  deckOf(take) {
    const deck = new Deck(take);
    this.decks.set(take.key, deck);
    return deck;
  }

  // ---- commands ------------------------------------------------------------------------------

  add({ key, start, count, samples }) { this.decks.get(key)?.add(start, count, samples); }

  drop({ key, start }) { this.decks.get(key)?.drop(start); }

  play() { this.mixing.playing = true; }

  pause() { this.mixing.playing = false; }

  seek({ position }) { this.mixing.seek(position); }

  loop({ loop }) { this.mixing.loop = loop; }

  open({ take }) { this.deckOf(take); }

  gains({ key, gains }) { this.decks.get(key)?.targets.set(gains); }

  change({ key, shift }) { this.mixing.change(this.decks.get(key), shift); }

  close({ key }) { this.decks.delete(key); }

  // ---- sound ---------------------------------------------------------------------------------

  process(_inputs, [[left, right]]) {
    this.mixing.process(left, right);
    this.blocks += 1;
    if (this.mixing.ended || this.blocks >= REPORT_EVERY) this.report();
    return true;
  }

  report() {
    const { deck, shown, playing, waiting, ended } = this.mixing;
    const levels = deck.levels.slice();
    this.port.postMessage({ serial: this.serial, key: deck.key, position: shown, playing, waiting, ended, levels });
    deck.levels.fill(0);
    this.mixing.ended = false;
    this.blocks = 0;
  }
}

registerProcessor("phinmf-mixer", Mixer);
