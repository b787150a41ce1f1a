/** Seconds after which a gain has moved 63 % of the way: nothing clicks. */
const SMOOTHING = 0.008;
/** A gain that is as near as this to its target takes its value. */
const NEAR = 1e-5;

/**
 * The sound of one take that is here: stretches of the original and of all components, which are
 * held together, so that they cannot lose sync, and the gains with which they are added up.
 */
export class Deck {
  /**
   * @param take key, rate, channels, length in samples, number of sources, samples of a stretch
   */
  constructor({ key, rate, channels, length, sources, stretch }) {
    Object.assign(this, { key, rate, channels, length, sources, stretch });
    this.stretches = new Map(); // by the number of their first sample
    this.gains = new Float64Array(2 * sources); // left and right of each source, as they are now
    this.targets = new Float64Array(2 * sources);
    this.levels = new Float32Array(sources); // the peak of each source since they were last read
    this.share = 1 - Math.exp(-1 / (SMOOTHING * rate)); // of the way to the target in a sample
  }

  /** Keep a stretch: planar float32, sources × channels × count samples. */
  add(start, count, samples) {
    this.stretches.set(start, { start, count, samples });
  }

  drop(start) {
    this.stretches.delete(start);
  }

  /** The stretch that holds a sample, if it is here. */
  stretchAt(position) {
    const start = position - (position % this.stretch);
    const stretch = this.stretches.get(start);
    return stretch && position < start + stretch.count ? stretch : undefined;
  }

  /** Whether the next samples from a position on are here, over the end of the loop if there is one. */
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

  /** Let the gains be their targets at once: nothing is heard now. */
  settle() {
    this.gains.set(this.targets);
  }

  /**
   * Add all sources, each with its gains, to two sums: the arithmetic of everything that is heard.
   *
   * @param stretch where the samples are
   * @param position the first sample, counted from the beginning of the take
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
      const second = channels > 1 ? first + size : first; // of more than two channels, two are heard
      let peak = this.levels[source];
      for (let i = 0; i < count; i++) {
        if (!steady) {
          toLeft += share * (leftTarget - toLeft);
          toRight += share * (rightTarget - toRight);
        }
        const l = toLeft * samples[first + i];
        const r = toRight * samples[second + i];
        left[offset + i] += l;
        right[offset + i] += r;
        peak = Math.max(peak, l, -l, r, -r);
      }
      this.levels[source] = peak;
      gains[2 * source] = Math.abs(leftTarget - toLeft) < NEAR ? leftTarget : toLeft;
      gains[2 * source + 1] = Math.abs(rightTarget - toRight) < NEAR ? rightTarget : toRight;
    }
  }
}

/** Where a piece that begins at a position ends: with its stretch, or with the loop. */
export function pieceEnd(stretch, position, loop) {
  const end = stretch.start + stretch.count;
  return loop && position < loop.end ? Math.min(end, loop.end) : end;
}
