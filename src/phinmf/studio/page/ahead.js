import { sound } from "./server.js";

const SECONDS = 0.5; // of a stretch
const AHEAD = 8; // seconds that are fetched before they are needed, if they fit
const READY = 2; // stretches that must be here before another version is switched to
const BYTES = 192e6; // maximum
const AT_ONCE = 2; // requests
const AGAIN = 1000; // milliseconds until a request that failed is made again

/** Fetches the stretches of a version before they are played, and drops those far away. */
export class Ahead {
  /** @param version of the server's state */
  constructor(version) {
    this.version = version;
    // all stretches of a version but the last are as long
    this.stretch = Math.max(128, Math.round(SECONDS * version.sample_rate));
    this.bytes = 4 * this.stretch * version.channels * (version.components.length + 1);
    this.stretches = new Set(); // starts of those that came, the one needed last at the end
    this.loading = new Map(); // starts and how to abort them
    this.upcoming = [];
    this.messages = []; // what a mixer is told as soon as there is one
    this.port = null; // of the mixer
    this.closed = false;
    this.problem = ""; // why the last request failed
  }

  /** Let a mixer hear this version. */
  connect(port) {
    this.port = port;
    for (const message of this.messages.splice(0)) this.tell(message);
  }

  tell(message) {
    if (this.port) this.port.postMessage(message, message.samples ? [message.samples.buffer] : []);
    else this.messages.push(message);
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

  /** Whether it can be played at once from where it was last wanted. */
  get ready() {
    return this.upcoming.slice(0, READY).every((start) => this.stretches.has(start));
  }

  /** The starts of the stretches that are heard next, in their order. */
  next(position, loop) {
    const room = Math.max(2, Math.floor(BYTES / this.bytes) - AT_ONCE);
    const most = Math.min(room, Math.ceil(AHEAD / SECONDS));
    const starts = [];
    let sample = position;
    while (starts.length < most && sample < this.version.length) {
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
      const length = Math.min(this.stretch, this.version.length - start);
      const { count, samples } = await sound(this.version.id, start, length, abort.signal);
      if (this.closed) return;
      this.stretches.add(start);
      this.tell({ act: "add", start, count, samples });
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
      this.tell({ act: "drop", start });
    }
  }

  close() {
    this.closed = true;
    for (const abort of this.loading.values()) abort.abort();
  }
}
