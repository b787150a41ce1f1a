const CLOSEST = 0.25; // seconds that are shown at least
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
const APART = 64; // pixels between the numbers of the ruler

/** The part of a take that is shown: zoom and scroll, in samples. */
export class View {
  constructor(length, rate) {
    Object.assign(this, { length, rate, from: 0, to: length });
  }

  get span() { return this.to - this.from; }

  get zoomed() { return this.span < this.length; }

  /** Show another span; what is at sample `at` stays where it is. */
  zoom(factor, at = (this.from + this.to) / 2) {
    const least = Math.min(this.length, CLOSEST * this.rate);
    const span = Math.min(this.length, Math.max(least, this.span / factor));
    const share = (at - this.from) / this.span;
    this.place(at - share * span, span);
  }

  scroll(samples) {
    this.place(this.from + samples, this.span);
  }

  place(from, span) {
    this.from = Math.min(this.length - span, Math.max(0, from));
    this.to = this.from + span;
  }

  /** Show the part that the view of another take shows, if that is zoomed and all of it is here. */
  showAs(other, shift) {
    const from = other.from + shift;
    if (other.zoomed && from >= 0 && from + other.span <= this.length) this.place(from, other.span);
  }

  /** Turn the page when the playhead leaves it; return whether it was turned. */
  keepShown(position) {
    if (position >= this.from && position < this.to) return false;
    const before = this.from;
    this.place(position - 0.05 * this.span, this.span);
    return this.from !== before;
  }

  /** Where a sample is, as a share of the width. */
  share(sample) {
    return (sample - this.from) / this.span;
  }

  sample(share) {
    return Math.min(this.length, Math.max(0, this.from + share * this.span));
  }

  /** Seconds of the numbers on the ruler, `start` being the moment where the take begins. */
  ticks(width, start) {
    const seconds = this.span / this.rate;
    const step = STEPS.find((s) => (s / seconds) * width >= APART) ?? STEPS.at(-1) * Math.ceil(seconds / 6000);
    const first = Math.ceil((start + this.from / this.rate) / step - 1e-9) * step;
    const ticks = [];
    for (let i = 0; first + i * step <= start + this.to / this.rate; i++) ticks.push(first + i * step);
    return { step, seconds: ticks };
  }
}
