import { Ahead } from "./ahead.js";
import { regionOf } from "./mix.js";
import { mixOf } from "./store.js";

const REST = 400; // milliseconds of pause after which the sound device is left alone

/** What a deck must know of a version. */
export const deckOptions = ({ version, stretch }) => ({
  rate: version.sample_rate, channels: version.channels, length: version.length,
  sources: version.components.length + 1, stretch,
});

/**
 * Plays a version: the audio context, what is fetched for it, and where it is.
 *
 * Another version of the same recording goes on at the same moment. It is shown at once; until
 * enough of its sound is here, the one before it is still heard.
 */
class Player {
  constructor() {
    this.changed = () => {}; // called when it starts, stops, waits or moves
    this.version = null; // that is shown
    this.position = 0; // samples of the version
    this.loop = null; // {start, end} in samples
    this.playing = false;
    this.waiting = false;
    this.problem = ""; // why nothing can be heard
    this.context = null; // made when play is first called: browsers require a gesture
    this.connected = null; // a promise that the mixer is there
    this.port = null; // to the mixer
    this.serial = 0; // of commands
    this.ahead = null; // fetches the version that is shown
    this.heard = null; // fetches the version that the mixer plays
  }

  // ---- versions ------------------------------------------------------------------------------

  open(version) {
    const before = this.version;
    if (before?.folder === version.folder) return;
    const together = before?.recording === version.recording
      && before.sample_rate === version.sample_rate;
    if (!together) this.leave();
    const shift = together ? before.first_sample - version.first_sample : 0;
    if (this.ahead !== this.heard) this.ahead.close();
    this.version = version;
    this.position = landing(version, this.position + shift);
    this.loop = shifted(this.loop, shift, version.length);
    this.ahead = new Ahead(version);
    this.fetchAhead();
    this.goOver();
    this.changed();
  }

  /** The server described the versions again; after a restart they may have other ids. */
  refresh(versions) {
    if (!this.version) return;
    this.version = versions.get(this.version.folder) ?? this.version;
    for (const ahead of [this.ahead, this.heard]) {
      if (ahead) ahead.version = versions.get(ahead.version.folder) ?? ahead.version;
    }
  }

  /** Let the version that is shown be heard: now, or as soon as enough of its sound is here. */
  goOver(now = !this.playing) {
    if (!this.port || this.heard === this.ahead || !(now || this.ahead.ready)) return;
    this.heard?.close();
    this.heard = this.ahead;
    this.post({ act: "open", version: deckOptions(this.ahead) });
    this.updateGains();
    this.ahead.connect(this.port);
    if (this.playing) this.postPlay();
  }

  /** Forget the context: the next version may have another sample rate. */
  leave() {
    this.ahead?.close();
    this.heard?.close();
    this.context?.close();
    Object.assign(this, {
      version: null, position: 0, loop: null, playing: false, waiting: false,
      context: null, connected: null, port: null, ahead: null, heard: null,
    });
  }

  // ---- the mixer -----------------------------------------------------------------------------

  async connect(context) {
    await context.audioWorklet.addModule("mixer.js");
    if (this.context !== context) return; // another recording was opened meanwhile
    const options = { numberOfInputs: 0, outputChannelCount: [2] };
    const node = new AudioWorkletNode(context, "phinmf-mixer", options);
    node.connect(context.destination);
    node.port.onmessage = ({ data }) => this.hear(data);
    this.port = node.port;
    this.goOver();
  }

  /** Send a command; reports from before it are not believed. */
  post(message) {
    this.serial += 1;
    this.port?.postMessage({ ...message, serial: this.serial });
  }

  postPlay() {
    this.post({ act: "play", position: this.position, loop: this.loop });
  }

  updateGains() {
    if (this.heard !== this.ahead || !this.heard) return;
    this.post({ act: "gains", gains: mixOf(this.version.folder).gains });
  }

  /** A report of the mixer. */
  hear({ serial, position, waiting, over }) {
    if (serial < this.serial) return;
    const { heard } = this;
    const shift = heard.version.first_sample - this.version.first_sample;
    this.waiting = waiting;
    this.playing = !over;
    this.position = over ? 0 : landing(this.version, position + shift);
    if (heard !== this.ahead) heard.want(position, null);
    this.fetchAhead();
    this.goOver();
    this.changed();
  }

  fetchAhead() {
    this.ahead.want(this.position, this.loop);
    this.problem = this.ahead.problem;
  }

  // ---- transport -----------------------------------------------------------------------------

  async play() {
    if (!this.version) return;
    const { sample_rate: sampleRate } = this.version;
    let { context } = this;
    try {
      context ??= new AudioContext({ sampleRate, latencyHint: "interactive" });
      this.context = context;
      this.connected ??= this.connect(context);
      await this.connected;
      await context.resume();
    } catch {
      if (context && this.context !== context) return;
      this.connected = null; // the next attempt begins anew
      this.problem = `This browser cannot play sound at ${sampleRate} Hz.`;
      this.changed();
      return;
    }
    if (this.context !== context || this.playing) return;
    this.playing = true;
    this.postPlay();
    this.fetchAhead();
    this.changed();
  }

  pause() {
    Object.assign(this, { playing: false, waiting: false });
    this.post({ act: "pause" });
    this.goOver();
    setTimeout(() => { if (!this.playing) this.context?.suspend(); }, REST);
    this.changed();
  }

  toggle() {
    return this.playing ? this.pause() : this.play();
  }

  seek(sample) {
    if (!this.version) return;
    this.position = Math.round(Math.min(this.version.length - 1, Math.max(0, sample)));
    this.goOver(true);
    if (this.playing) this.postPlay();
    this.fetchAhead();
    this.changed();
  }

  /** Loop a region; without one, play on. */
  setLoop(from, to) {
    this.loop = from === undefined ? null : regionOf(this.version, from, to);
    if (this.heard === this.ahead) this.post({ act: "loop", loop: this.loop });
    this.fetchAhead();
    this.changed();
  }
}

export const player = new Player();

/** The position in a version for one that may lie outside of it: then its beginning. */
const landing = (version, position) =>
  (position >= 0 && position < version.length ? position : 0);

/** A loop in the samples of another version of the recording, if it lies in that. */
function shifted(loop, shift, length) {
  if (!loop) return null;
  const moved = { start: loop.start + shift, end: loop.end + shift };
  return moved.start >= 0 && moved.end <= length ? moved : null;
}
