import { bufferOf } from "./player.js";
import { sound } from "./server.js";

const SECONDS = 0.5; // of a stretch
const AHEAD = 8; // seconds that are fetched before they are needed, if they fit
const BYTES = 192e6; // maximum
const AT_ONCE = 2; // requests
const AGAIN = 1000; // milliseconds until a request that failed is made again

/** Fetches the stretches of a version before they are played, and drops those far away. */
export class Stretches {
  /**
   * @param version of the server's state
   * @param changed function to call when a stretch has come, or has failed to come
   * @param what of the version is fetched
   * @param sources how many, beside the recording
   */
  constructor(version, changed, what = "sound", sources = version.components.length) {
    Object.assign(this, { version, changed, what });
    // all stretches of a version but the last are as long
    this.length = Math.max(128, Math.round(SECONDS * version.sample_rate));
    this.bytes = 4 * this.length * version.channels * (sources + 1);
    this.pieces = new Map(); // those that came, by start, the one needed last at the end
    this.loading = new Map(); // starts and how to abort them
    this.upcoming = [];
    this.closed = false;
    this.problem = ""; // why the last request failed
  }

  /** The stretch that holds a sample, if it is here: {start, count, channels}. */
  piece(sample) { return this.pieces.get(sample - (sample % this.length)); }

  /** Fetch what is heard next from a position on. */
  want(position, loop) {
    this.upcoming = this.next(position, loop);
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
    while (starts.length < most && sample < this.version.length) {
      const start = sample - (sample % this.length);
      if (starts.includes(start)) break; // once around the loop
      starts.push(start);
      sample = start + this.length;
      if (loop && position < loop.end && sample >= loop.end) sample = loop.start;
    }
    return starts;
  }

  load() {
    for (const start of this.upcoming) {
      if (this.closed || this.loading.size >= AT_ONCE) return;
      if (!this.pieces.has(start) && !this.loading.has(start)) this.get(start);
    }
  }

  async get(start) {
    const abort = new AbortController();
    this.loading.set(start, abort);
    try {
      const count = Math.min(this.length, this.version.length - start);
      const samples = await sound(this.version.id, start, count, abort.signal, this.what);
      if (this.closed) return;
      this.pieces.set(start, { start, count, channels: this.channels(samples, count) });
      this.problem = "";
      this.tidy();
      this.changed();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.problem = error.message;
      this.changed();
      await new Promise((resolve) => { setTimeout(resolve, AGAIN); });
    } finally {
      this.loading.delete(start);
      this.load();
    }
  }

  /** Left and right of each source as buffers; of more than two channels, two are heard. */
  channels(samples, count) {
    const { channels, sample_rate: sampleRate } = this.version;
    return Array.from({ length: samples.length / count / channels }, (_, source) => {
      const sides = Array.from({ length: Math.min(2, channels) }, (__, channel) => {
        const first = (source * channels + channel) * count;
        return bufferOf(samples.subarray(first, first + count), sampleRate);
      });
      return [sides[0], sides.at(-1)];
    }).flat();
  }

  /** Drop what came first and is not needed, if there is too much. */
  tidy() {
    for (const start of this.pieces.keys()) {
      if (this.pieces.size * this.bytes <= BYTES) return;
      if (!this.upcoming.includes(start)) this.pieces.delete(start);
    }
  }

  close() {
    this.closed = true;
    for (const abort of this.loading.values()) abort.abort();
  }
}
