import { Ahead, stretchOf } from "./ahead.js";
import { landing, shifted } from "./mixing.js";
import { sound } from "./server.js";

const REST = 400; // milliseconds of pause after which the sound device is left alone
const SHORTEST = 0.05; // seconds of a loop

/** What a deck must know of a take. */
export const deckOptions = (take) => ({
  key: take.key, rate: take.sample_rate, channels: take.channels, length: take.length,
  sources: take.components.length + 1, stretch: stretchOf(take),
});

/** Plays a take: the audio context, what is fetched for it, and where it is. */
export class Player {
  /**
   * @param gains function of a take that returns the factors of its sources
   * @param changed function to call when it starts, stops, waits or moves
   */
  constructor(gains, changed) {
    Object.assign(this, { gains, changed });
    this.take = null;
    this.position = 0; // samples of the take
    this.loop = null;
    this.playing = false;
    this.waiting = false;
    this.levels = []; // peaks of the sources, for the meters
    this.problem = ""; // why nothing can be heard
    this.context = null; // made when play is first called: browsers require a gesture
    this.port = null; // to the worklet
    this.serial = 0;
    this.decks = new Map(); // by key: {take, ahead, backlog}
  }

  // ---- takes ---------------------------------------------------------------------------------

  /** Show a take; while another one of the same recording plays, go over to it at the same moment. */
  open(take) {
    const before = this.take;
    if (before?.key === take.key) return;
    const together = before && before.recording === take.recording && before.sample_rate === take.sample_rate;
    if (!together) this.leave();
    const shift = together ? before.first_sample - take.first_sample : 0;
    this.position = together ? landing(take, this.position + shift) : 0;
    this.loop = together ? shifted(this.loop, shift, take.length) : null;
    this.take = take;
    this.addDeck(take);
    this.post({ act: "change", key: take.key, shift });
    this.closeOthers();
    this.fetchAhead();
    this.changed();
  }

  addDeck(take) {
    if (this.decks.has(take.key)) return;
    const { key } = take;
    const deck = { take, backlog: [] };
    deck.ahead = new Ahead(
      take,
      (start, count, signal) => sound(deck.take.id, start, count, signal),
      (start, count, samples) => this.deliver({ act: "add", key, start, count, samples }),
      (start) => this.post({ act: "drop", key, start }),
    );
    this.decks.set(key, deck);
    this.post({ act: "open", take: deckOptions(take) });
    this.updateGains(take);
  }

  /** The server described a take again; after a restart it may have another id. */
  refresh(take) {
    if (this.take?.key === take.key) this.take = take;
    const deck = this.decks.get(take.key);
    if (deck) deck.take = take;
  }

  /** Close decks that are neither shown nor, until another one is ready, heard. */
  closeOthers() {
    for (const [key, { ahead }] of this.decks) {
      if (key === this.take.key || (this.playing && key === this.heard)) continue;
      ahead.close();
      this.decks.delete(key);
      this.post({ act: "close", key });
    }
  }

  /** Forget the context: the next take may have another sample rate. */
  leave() {
    this.playing = false;
    for (const { ahead } of this.decks.values()) ahead.close();
    this.decks.clear();
    this.context?.close();
    Object.assign(this, { context: null, port: null, heard: null, levels: [], waiting: false });
  }

  deliver(message) {
    if (this.port) this.port.postMessage(message, [message.samples.buffer]);
    else this.decks.get(message.key)?.backlog.push(message);
  }

  /** Send a command; reports from before it are not believed. */
  post(message) {
    this.serial += 1;
    this.port?.postMessage({ ...message, serial: this.serial });
  }

  // ---- the worklet ---------------------------------------------------------------------------

  async connect(context) {
    await context.audioWorklet.addModule("mixer.js");
    if (this.context !== context) return;
    const node = new AudioWorkletNode(context, "phinmf-mixer", {
      numberOfInputs: 0, outputChannelCount: [2], processorOptions: deckOptions(this.take),
    });
    node.connect(context.destination);
    node.port.onmessage = ({ data }) => this.hear(data);
    this.port = node.port;
    this.heard = this.take.key;
    this.updateGains(this.take);
    for (const message of this.decks.get(this.take.key).backlog.splice(0)) this.deliver(message);
    this.post({ act: "loop", loop: this.loop });
    this.post({ act: "seek", position: this.position });
  }

  /** A report of the worklet. */
  hear({ serial, key, position, playing, waiting, ended, levels }) {
    const over = key !== this.heard; // another take is heard from now on
    this.heard = key;
    if (over) this.closeOthers();
    if (key !== this.take.key) {
      this.fetchAhead(key, position);
      return;
    }
    this.levels = levels;
    if (serial < this.serial) return;
    Object.assign(this, { position, waiting, playing: playing && !ended });
    this.fetchAhead();
    this.changed();
  }

  /** Fetch for the take that is shown, and for one that is still heard. */
  fetchAhead(key = this.take.key, position = this.position) {
    const deck = this.decks.get(key);
    if (!deck) return;
    deck.ahead.want(position, key === this.take.key ? this.loop : null);
    this.problem = deck.ahead.problem;
    if (key === this.take.key) return;
    const shift = deck.take.first_sample - this.take.first_sample;
    this.position = landing(this.take, position + shift); // where it will go on
    this.fetchAhead();
    this.changed();
  }

  // ---- transport -----------------------------------------------------------------------------

  async play() {
    if (!this.take) return;
    let { context } = this;
    try {
      if (!context) {
        context = new AudioContext({ sampleRate: this.take.sample_rate, latencyHint: "interactive" });
        this.context = context;
        await this.connect(context);
      }
      await context.resume();
    } catch {
      if (this.context !== context) return; // another recording was opened meanwhile
      if (!this.port) this.context = null; // the next attempt begins anew
      this.problem = `This browser cannot play sound at ${this.take.sample_rate} Hz.`;
      this.changed();
      return;
    }
    if (this.context !== context) return;
    this.playing = true;
    this.post({ act: "play" });
    this.fetchAhead();
    this.changed();
  }

  pause() {
    this.playing = false;
    this.waiting = false;
    this.levels = [];
    this.post({ act: "pause" });
    setTimeout(() => { if (!this.playing) this.context?.suspend(); }, REST);
    this.changed();
  }

  toggle() {
    return this.playing ? this.pause() : this.play();
  }

  seek(sample) {
    if (!this.take) return;
    this.position = Math.round(Math.min(this.take.length - 1, Math.max(0, sample)));
    this.post({ act: "seek", position: this.position });
    this.fetchAhead();
    this.changed();
  }

  /** Loop a region; null plays on. */
  setLoop(from, to) {
    this.loop = null;
    if (from !== undefined) {
      const start = Math.max(0, Math.round(Math.min(from, to)));
      const end = Math.min(this.take.length, Math.round(Math.max(from, to)));
      if (end - start >= SHORTEST * this.take.sample_rate) this.loop = { start, end };
    }
    this.post({ act: "loop", loop: this.loop });
    this.fetchAhead();
    this.changed();
  }

  updateGains(take = this.take) {
    if (take) this.post({ act: "gains", key: take.key, gains: this.gains(take) });
  }
}
