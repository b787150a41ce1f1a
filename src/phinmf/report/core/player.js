import { regionOf } from "./mix.js";
import { current } from "./store.js";

/**
 * The player of both pages. A version is played in pieces, a few seconds ahead of what is heard.
 *
 * Invariants: the channels of a piece begin at the same sample of the context's clock, and a piece
 * begins where the one before it ends, so nothing can lose sync, also around a loop. A jump is a
 * new run: the one before it fades out while the new one fades in.
 */

const LEAD = 0.03; // seconds: sounds are scheduled in the future, so that all start in time
const AHEAD = 2; // seconds that are scheduled: more than a hidden page sleeps
const FADE = 0.006; // seconds in which sound begins or stops: nothing clicks
const SMOOTHING = 0.008; // seconds after which a gain has moved 63 % of the way
const TICK = 16; // milliseconds between looks at the clock while it plays; more on hidden pages
const REST = 400; // milliseconds of pause after which the sound device is left alone

/** What is heard between two jumps. Times are counted in samples of the context's clock. */
export class Run {
  /**
   * @param context of this page, or one that only computes
   * @param sounds of a version: `version`, and `piece(sample)`, which returns the piece that holds
   *   a sample, {start, count, channels}, if it is here; `channels` are buffers with one channel,
   *   left and right of each source
   * @param gains of these channels
   * @param position first sample of the version
   */
  constructor(context, sounds, gains, position) {
    Object.assign(this, { context, sounds, next: position });
    this.rate = sounds.version.sample_rate;
    this.pieces = []; // {at, from, to, nodes} in time and in samples of the version
    this.time = 0; // when the next piece begins
    this.lead = LEAD; // more where the page is slow
    this.fader = new GainNode(context, { gain: 0 });
    this.fader.connect(context.destination);
    const sides = new ChannelMergerNode(context, { numberOfInputs: 2 });
    sides.connect(this.fader);
    this.volumes = gains.map((gain, i) => {
      const volume = new GainNode(context, { gain });
      volume.connect(sides, 0, i % 2);
      return volume;
    });
  }

  get now() { return this.context.currentTime * this.rate; }

  /** The sample that is heard. */
  get position() {
    const { now } = this;
    const piece = this.pieces.findLast(({ at }) => at <= now) ?? this.pieces[0];
    if (!piece) return this.next;
    return Math.min(piece.to, piece.from + Math.max(0, now - piece.at));
  }

  /** Whether sound is lacking. */
  get waiting() { return this.time <= this.now; }

  get over() { return this.next >= this.sounds.version.length && this.waiting; }

  /** Schedule what is here of the next seconds, around the loop if there is one. */
  extend(loop, ahead = AHEAD) {
    const { now, sounds: { version } } = this;
    this.pieces = this.pieces.filter(({ to, at, from }, i) => (
      at + to - from > now || i === this.pieces.length - 1));
    while (this.next < version.length && this.time < now + ahead * this.rate) {
      const from = this.next;
      const piece = this.sounds.piece(from);
      if (!piece) return;
      const late = this.time < this.now + (this.lead * this.rate) / 2;
      if (late) this.begin(Math.ceil(this.now + this.lead * this.rate));
      const at = this.time;
      const end = Math.min(piece.start + piece.count, endOf(loop, from));
      this.schedule(piece, end);
      this.next = end === loop?.end ? loop.start : end;
      if (this.now + (LEAD * this.rate) / 3 > at) this.retry(from);
    }
  }

  /** It took too long to schedule a piece, so its channels may not begin together: do it again. */
  retry(from) {
    for (const node of this.pieces.pop().nodes) node.stop();
    Object.assign(this, { next: from, time: 0, lead: 2 * this.lead });
  }

  /** Let sound begin, or go on after it was lacking. */
  begin(time) {
    const { gain } = this.fader;
    this.time = time;
    gain.setValueAtTime(0, time / this.rate);
    gain.linearRampToValueAtTime(1, time / this.rate + FADE);
  }

  schedule({ start, count, channels }, end) {
    const { context, rate, next: from, time: at } = this;
    const nodes = channels.map((buffer, i) => {
      const node = new AudioBufferSourceNode(context, { buffer });
      node.connect(this.volumes[i]);
      node.start(at / rate, (from - start) / rate);
      if (end < start + count) node.stop((at + end - from) / rate);
      return node;
    });
    this.pieces.push({ at, from, to: end, nodes });
    this.time += end - from;
  }

  /** The loop is another one: forget what is not heard yet, and end what is heard where it ends. */
  reschedule(loop) {
    const { now, position } = this;
    const later = this.pieces.filter(({ at }) => at > now);
    for (const { nodes } of later) for (const node of nodes) node.stop();
    this.pieces = this.pieces.filter(({ at }) => at <= now);
    const piece = this.pieces.at(-1);
    if (piece) {
      piece.to = Math.min(piece.to, endOf(loop, position));
      this.time = piece.at + piece.to - piece.from;
      for (const node of piece.nodes) node.stop(this.time / this.rate);
      this.next = piece.to === loop?.end ? loop.start : piece.to;
    } else { // nothing is heard yet
      this.time = 0;
      this.next = later[0]?.from ?? this.next;
    }
    this.extend(loop);
  }

  /** Let the volumes follow the gains. */
  setGains(gains) {
    this.volumes.forEach(({ gain }, i) => {
      gain.setTargetAtTime(gains[i], this.context.currentTime, SMOOTHING);
    });
  }

  /** Fade out, and play no more. */
  stop() {
    const { fader: { gain }, context: { currentTime: now } } = this;
    gain.cancelAndHoldAtTime?.(now);
    gain.setTargetAtTime(0, now, FADE / 3);
    for (const { nodes } of this.pieces) for (const node of nodes) node.stop(now + 2 * FADE);
    setTimeout(() => this.fader.disconnect(), REST);
  }
}

/** Where a loop ends that is entered, or was, at a sample; beyond its end sound goes on. */
const endOf = (loop, sample) => (loop && sample < loop.end ? loop.end : Infinity);

/** Samples as a buffer with one channel. */
export function bufferOf(samples, sampleRate) {
  const buffer = new AudioBuffer({ length: samples.length, sampleRate });
  buffer.copyToChannel(samples, 0);
  return buffer;
}

/** Plays a version: where it is, and what is asked for. Positions are samples of the version. */
class Player {
  constructor() {
    this.changed = () => {}; // called when it starts, stops, waits or moves
    this.sounds = null; // of the version that is shown
    this.context = null; // made when play is first called: browsers require a gesture
    this.run = null; // what is heard, as long as it plays
    this.rested = 0; // the position while nothing plays
    this.loop = null; // {start, end}
    this.problem = ""; // why nothing can be heard
    this.timer = 0; // of looks at the clock
  }

  get version() { return this.sounds?.version; }

  get playing() { return Boolean(this.run); }

  get waiting() { return this.playing && this.run.waiting; }

  /** Left and right factors of each source: those of the mix, unless the sounds have their own. */
  get gains() { return this.sounds.gains ?? current().gains; }

  get position() {
    const { run, version } = this;
    return run ? inside(version, run.position + shift(run.sounds.version, version)) : this.rested;
  }

  /** Show another version; of the same recording it goes on at the same moment. */
  open(sounds) {
    const { version: before, position } = this;
    const { version } = sounds;
    const together = before && before.recording === version.recording
      && before.sample_rate === version.sample_rate;
    if (!together) this.leave();
    const moved = together ? shift(before, version) : 0;
    this.sounds?.close();
    this.sounds = sounds;
    this.rested = inside(version, position + moved);
    this.loop = this.loop && regionOf(version, this.loop.start + moved, this.loop.end + moved);
    this.advance();
  }

  /** Forget the context: the next recording may have another sample rate. */
  leave() {
    this.stop();
    this.sounds?.close();
    this.context?.close();
    Object.assign(this, { sounds: null, context: null, rested: 0, loop: null });
  }

  /** Schedule and fetch what is heard next; called as time passes and when sound has come. */
  advance() {
    const { run, sounds, loop } = this;
    if (run && run.sounds !== sounds) { // until this version is here, that one is heard
      const next = Math.round(inside(sounds.version, this.position + LEAD * run.rate));
      if (sounds.piece(next)) this.jump(next);
      else run.extend(null);
    } else if (run?.over) {
      this.stop();
      this.rested = 0;
    } else run?.extend(loop);
    sounds.want(Math.floor(this.position), this.loop);
    this.changed();
  }

  jump(position) {
    this.run?.stop();
    this.run = new Run(this.context, this.sounds, this.gains, position);
    this.run.extend(this.loop);
  }

  stop() {
    clearInterval(this.timer);
    this.run?.stop();
    this.run = null;
  }

  // ---- transport -----------------------------------------------------------------------------

  async play() {
    if (!this.version) return;
    const { sample_rate: sampleRate } = this.version;
    let { context } = this;
    try {
      context ??= new AudioContext({ sampleRate, latencyHint: "interactive" });
      this.context = context;
      await context.resume();
    } catch {
      if (context && this.context !== context) return; // another recording was opened meanwhile
      this.problem = `This browser cannot play sound at ${sampleRate} Hz.`;
      this.changed();
      return;
    }
    if (this.context !== context || this.playing) return;
    this.problem = "";
    this.jump(this.rested);
    this.timer = setInterval(() => this.advance(), TICK);
    this.advance();
  }

  pause() {
    this.rested = Math.round(this.position);
    this.stop();
    setTimeout(() => { if (!this.playing) this.context?.suspend(); }, REST);
    this.changed();
  }

  toggle() {
    return this.playing ? this.pause() : this.play();
  }

  seek(sample) {
    if (!this.version) return;
    this.rested = Math.round(Math.min(this.version.length - 1, Math.max(0, sample)));
    if (this.playing) this.jump(this.rested);
    this.advance();
  }

  /** Loop a region; without one, play on. */
  setLoop(from, to) {
    this.loop = from === undefined ? null : regionOf(this.version, from, to);
    if (this.run?.sounds === this.sounds) this.run.reschedule(this.loop);
    this.advance();
  }

  /** Let what is heard follow the mix. */
  updateGains() {
    if (this.run?.sounds === this.sounds) this.run.setGains(this.gains);
  }
}

export const player = new Player();

/** How far samples are moved from one version of a recording to another. */
const shift = (from, to) => from.first_sample - to.first_sample;

/** The position in a version for one that may lie outside of it: then its beginning. */
const inside = (version, position) =>
  (position >= 0 && position < version.length ? position : 0);
