/** The arithmetic of what is heard: the worklet plays it, and a page can compute the same. */

const FADE = 0.006; // seconds in which sound begins or stops
const SMOOTHING = 0.008; // seconds after which a gain has moved 63 % of the way: nothing clicks
const NEAR = 1e-5; // a gain that is as near as this to its target takes its value

/**
 * The sound of one version that is here: stretches of the original and of all components, which
 * are kept together, so that they cannot lose sync, and the gains with which they are added up.
 */
export class Deck {
  /** @param options rate, channels, length in samples, number of sources, samples of a stretch */
  constructor({ rate, channels, length, sources, stretch }) {
    Object.assign(this, { rate, channels, length, sources, stretch });
    this.stretches = new Map(); // {start, count, samples} by start: sources × channels × count
    this.gains = new Float64Array(2 * sources); // left and right of each source, as they are now
    this.targets = new Float64Array(2 * sources);
    this.share = 1 - Math.exp(-1 / (SMOOTHING * rate)); // of the way to the target in a sample
  }

  /** The stretch that holds a sample, if it is here. */
  stretchAt(position) {
    const start = position - (position % this.stretch);
    const stretch = this.stretches.get(start);
    return stretch && position < start + stretch.count ? stretch : undefined;
  }

  /** Whether the next samples are here, over the end of the loop if there is one. */
  holds(position, count, loop) {
    let missing = count;
    let from = position;
    while (missing > 0 && from < this.length) {
      const stretch = this.stretchAt(from);
      if (!stretch) return false;
      const end = pieceEnd(stretch, from, loop);
      missing -= end - from;
      from = loop && end === loop.end ? loop.start : end;
    }
    return true;
  }

  /**
   * Add all sources, each with its gains, to two sums.
   *
   * @param stretch where the samples are
   * @param position the first sample, counted from the beginning of the version
   * @param count how many
   * @param left, right sums, to be added to from index `offset` on
   */
  addUp({ start, count: size, samples }, position, count, left, right, offset) {
    const { channels, gains, targets, share } = this;
    for (let source = 0; source < this.sources; source++) {
      let toLeft = gains[2 * source];
      let toRight = gains[2 * source + 1];
      const leftTarget = targets[2 * source];
      const rightTarget = targets[2 * source + 1];
      const steady = toLeft === leftTarget && toRight === rightTarget;
      if (steady && toLeft === 0 && toRight === 0) continue;
      const first = source * channels * size + position - start;
      const second = channels > 1 ? first + size : first; // of more than two, two are heard
      for (let i = 0; i < count; i++) {
        if (!steady) {
          toLeft += share * (leftTarget - toLeft);
          toRight += share * (rightTarget - toRight);
        }
        left[offset + i] += toLeft * samples[first + i];
        right[offset + i] += toRight * samples[second + i];
      }
      gains[2 * source] = Math.abs(leftTarget - toLeft) < NEAR ? leftTarget : toLeft;
      gains[2 * source + 1] = Math.abs(rightTarget - toRight) < NEAR ? rightTarget : toRight;
    }
  }
}

/**
 * Plays a deck from a position on until it is stopped: a jump is one voice that fades out and
 * another one that fades in.
 */
export class Voice {
  /** @param loop {start, end} in samples, or null; the end is not played */
  constructor(deck, position, loop) {
    Object.assign(this, { deck, position, loop });
    this.playing = true; // whether sound is to be heard
    this.waiting = false; // whether sound is lacking
    this.envelope = 0; // between silence and 1
    this.left = new Float64Array(128); // sums in double precision
    this.right = new Float64Array(128);
  }

  /** Whether nothing more will be heard. */
  get over() {
    return this.position >= this.deck.length || (!this.playing && this.envelope === 0);
  }

  /** Add the next samples, at most 128, to two channels. */
  process(left, right) {
    const { deck } = this;
    const step = 1 / (FADE * deck.rate);
    const enough = Math.ceil(1 / step) + left.length;
    this.waiting = this.playing && !deck.holds(this.position, enough, this.loop);
    const rising = this.playing && !this.waiting;
    const most = rising ? left.length : Math.min(left.length, Math.ceil(this.envelope / step));
    const count = this.advance(most);
    for (let i = 0; i < count; i++) {
      this.envelope = Math.min(1, Math.max(0, this.envelope + (rising ? step : -step)));
      left[i] += this.envelope * this.left[i];
      right[i] += this.envelope * this.right[i];
    }
    if (count < most) this.envelope = 0;
  }

  /** Add up the next samples, around the loop if there is one; return how many there were. */
  advance(count) {
    const { deck, loop } = this;
    this.left.fill(0);
    this.right.fill(0);
    let done = 0;
    while (done < count) {
      const stretch = deck.stretchAt(this.position);
      if (!stretch) break;
      const pieceStops = pieceEnd(stretch, this.position, loop);
      const end = Math.min(pieceStops, this.position + count - done);
      deck.addUp(stretch, this.position, end - this.position, this.left, this.right, done);
      done += end - this.position;
      this.position = loop && end === loop.end ? loop.start : end;
    }
    return done;
  }
}

/** Where a piece that begins at a position ends: with its stretch, or with the loop. */
function pieceEnd(stretch, position, loop) {
  const end = stretch.start + stretch.count;
  return loop && position < loop.end ? Math.min(end, loop.end) : end;
}
