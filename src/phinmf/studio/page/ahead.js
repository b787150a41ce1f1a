const SECONDS = 0.5; // of a stretch
const AHEAD = 8; // seconds that are fetched before they are needed, if they fit
const BYTES = 192e6; // maximum
const AT_ONCE = 2; // requests
const AGAIN = 1000; // milliseconds until a request that failed is made again

/** Samples of a stretch: all stretches of a take but the last are as long. */
export const stretchOf = (take) => Math.max(128, Math.round(SECONDS * take.sample_rate));

/** Fetches the stretches of a take before they are played, and drops those that are far away. */
export class Ahead {
  /**
   * @param take of the server's state
   * @param fetch function of start, count and an AbortSignal that returns {count, samples}
   * @param deliver function to call with what was fetched: start, count, samples
   * @param drop function to call with the start of a stretch that is not needed any more
   */
  constructor(take, fetch, deliver, drop) {
    Object.assign(this, { take, fetch, deliver, drop });
    this.stretch = stretchOf(take);
    this.bytes = 4 * this.stretch * take.channels * (take.components.length + 1); // of a stretch
    this.stretches = new Set(); // starts of those that were delivered, the one that was needed last at the end
    this.loading = new Map(); // starts and how to abort them
    this.upcoming = [];
    this.closed = false;
    this.problem = ""; // why the last request failed
  }

  /** Fetch what is heard next from a position on. */
  want(position, loop) {
    this.upcoming = this.next(position, loop);
    for (const start of this.upcoming) {
      if (this.stretches.delete(start)) this.stretches.add(start);
    }
    for (const [start, abort] of this.loading) {
      if (!this.upcoming.includes(start)) abort.abort();
    }
    this.load();
  }

  /** The starts of the stretches that are heard next, in their order. */
  next(position, loop) {
    const room = Math.max(2, Math.floor(BYTES / this.bytes) - AT_ONCE);
    const most = Math.min(room, Math.ceil(AHEAD / SECONDS));
    const starts = [];
    let sample = position;
    while (starts.length < most && sample < this.take.length) {
      const start = sample - (sample % this.stretch);
      if (starts.includes(start)) break; // once around the loop
      starts.push(start);
      sample = start + this.stretch;
      if (loop && position < loop.end && sample >= loop.end) sample = loop.start;
    }
    return starts;
  }

  load() {
    for (const start of this.upcoming) {
      if (this.closed || this.loading.size >= AT_ONCE) return;
      if (!this.stretches.has(start) && !this.loading.has(start)) this.get(start);
    }
  }

  async get(start) {
    const abort = new AbortController();
    this.loading.set(start, abort);
    try {
      const count = Math.min(this.stretch, this.take.length - start);
      const sound = await this.fetch(start, count, abort.signal);
      if (this.closed) return;
      this.stretches.add(start);
      this.deliver(start, sound.count, sound.samples);
      this.problem = "";
      this.tidy();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.problem = error.message;
      await new Promise((resolve) => { setTimeout(resolve, AGAIN); });
    } finally {
      this.loading.delete(start);
      this.load();
    }
  }

  /** Drop what has not been needed for the longest time, if there is too much. */
  tidy() {
    for (const start of this.stretches) {
      if (this.stretches.size * this.bytes <= BYTES) return;
      if (this.upcoming.includes(start)) continue;
      this.stretches.delete(start);
      this.drop(start);
    }
  }

  close() {
    this.closed = true;
    for (const abort of this.loading.values()) abort.abort();
  }
}
