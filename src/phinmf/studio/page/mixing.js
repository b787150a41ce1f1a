import { pieceEnd } from "./deck.js";

/** Seconds of the fade where sound begins or stops. */
const FADE = 0.006;
/** Seconds of sound that must be here before another take is switched to. */
const READY = 0.3;

/**
 * Plays a deck: position, loop, start and stop. It knows nothing of audio nodes, so that the
 * worklet and `render` on the page compute the same numbers.
 */
export class Mixing {
  constructor(deck) {
    this.deck = deck;
    this.position = 0; // the next sample of the take
    this.loop = null; // {start, end} in samples; the end is not played
    this.playing = false; // whether sound is to be heard
    this.waiting = false; // whether sound is lacking
    this.ended = false; // whether it played to the end since this was last read
    this.jump = null; // {position} or {deck, shift}: to be done as soon as it is silent
    this.envelope = 0; // between silence and 1
    this.left = new Float64Array(128); // sums in double precision
    this.right = new Float64Array(128);
  }

  seek(position) {
    this.jump = { position };
    this.landIfSilent();
  }

  /** Go over to another take; the moment of the recording stays, so the position shifts. */
  change(deck, shift) {
    this.jump = { deck, shift };
    this.landIfSilent();
  }

  landIfSilent() {
    if (!this.playing && this.envelope === 0) this.land();
  }

  /** The position to show: where it will be after a jump. */
  get shown() {
    return this.jump?.position ?? this.position;
  }

  /** Write the next samples to two channels. */
  process(left, right) {
    left.fill(0);
    right.fill(0);
    if (this.left.length < left.length) {
      this.left = new Float64Array(left.length);
      this.right = new Float64Array(left.length);
    }
    let rising = this.rises();
    if (!rising && this.envelope === 0) {
      if (this.jump && this.mayJump()) this.land();
      rising = this.rises();
      if (!rising) return;
      this.deck.settle();
    }
    this.fill(left, right, rising);
  }

  /** Whether sound is wanted and here. */
  rises() {
    const { deck, position, loop } = this;
    const enough = Math.ceil(FADE * deck.rate) + 128;
    this.waiting = this.playing && !deck.holds(position, enough, loop);
    return this.playing && !this.waiting && !(this.jump && this.mayJump());
  }

  /** Another take is waited for while this one plays on, unless nothing plays. */
  mayJump() {
    const { deck, shift } = this.jump;
    if (!deck || !this.playing) return true;
    return deck.holds(landing(deck, this.position + shift), Math.ceil(READY * deck.rate), null);
  }

  land() {
    const { deck, shift, position } = this.jump;
    this.jump = null;
    if (!deck) {
      this.position = position;
      return;
    }
    this.position = landing(deck, this.position + shift);
    this.loop = shifted(this.loop, shift, deck.length);
    this.deck = deck;
  }

  /** Write a stretch of sound, which fades in or out or is steady. */
  fill(left, right, rising) {
    const step = 1 / (FADE * this.deck.rate);
    const most = rising ? left.length : Math.min(left.length, Math.ceil(this.envelope / step));
    this.left.fill(0);
    this.right.fill(0);
    const done = this.move(most);
    for (let i = 0; i < done; i++) {
      this.envelope = Math.min(1, Math.max(0, this.envelope + (rising ? step : -step)));
      left[i] = this.envelope * this.left[i];
      right[i] = this.envelope * this.right[i];
    }
    if (done < most || this.ended) this.envelope = 0;
  }

  /** Add up the next samples, around the loop if there is one; return how many there were. */
  move(count) {
    const { deck, loop } = this;
    let done = 0;
    while (done < count) {
      const stretch = deck.stretchAt(this.position);
      if (!stretch) break;
      const end = Math.min(pieceEnd(stretch, this.position, loop), this.position + count - done);
      deck.addUp(stretch, this.position, end - this.position, this.left, this.right, done);
      done += end - this.position;
      this.position = loop && end === loop.end ? loop.start : end;
    }
    if (this.position >= deck.length) {
      Object.assign(this, { position: 0, playing: false, ended: true });
    }
    return done;
  }
}

/** The position in a take for one that may lie outside of it: then its beginning. */
export function landing(take, position) {
  return position >= 0 && position < take.length ? position : 0;
}

/** A loop in the samples of another take of the recording, if it lies in that. */
export function shifted(loop, shift, length) {
  if (!loop) return null;
  const moved = { start: loop.start + shift, end: loop.end + shift };
  return moved.start >= 0 && moved.end <= length ? moved : null;
}
