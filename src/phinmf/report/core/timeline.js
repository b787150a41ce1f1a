import { arrange, find, findAll, make } from "./dom.js";
import { player } from "./player.js";
import { rows } from "./rows.js";
import { clock } from "./words.js";

const CLOSEST = 0.25; // seconds that are shown at least
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
const APART = 64; // pixels between the numbers of the ruler
const DRAG = 4; // pixels after which a press is a drag
const LOOK_AROUND = 2000; // milliseconds in which the playhead is not followed

/** The part of a version that is shown: zoom and scroll, in samples. */
class View {
  constructor(length, rate) {
    Object.assign(this, { length, rate, from: 0, span: length });
  }

  get to() { return this.from + this.span; }

  get zoomed() { return this.span < this.length; }

  /** Show another span; what is at a sample stays where it is, if that is shown. */
  zoom(factor, sample) {
    const inside = sample >= this.from && sample <= this.to;
    const fixed = inside ? sample : this.from + this.span / 2;
    const least = Math.min(this.length, CLOSEST * this.rate);
    const share = (fixed - this.from) / this.span;
    this.span = Math.min(this.length, Math.max(least, this.span / factor));
    this.show(fixed - share * this.span);
  }

  /** Show the part from a sample on, as far as there is one. */
  show(from) {
    this.from = Math.min(this.length - this.span, Math.max(0, from));
  }

  /** Turn the page when the playhead leaves it; return whether it was turned. */
  keepShown(position) {
    if (position >= this.from && position < this.to) return false;
    const before = this.from;
    this.show(position - 0.05 * this.span);
    return this.from !== before;
  }

  /** Where a sample is, as a share of the width. */
  share(sample) { return (sample - this.from) / this.span; }

  sample(share) { return Math.min(this.length, Math.max(0, this.from + share * this.span)); }

  /** Seconds of the numbers on the ruler, `start` being where the version begins. */
  ticks(width, start) {
    const seconds = this.span / this.rate;
    const longest = STEPS.at(-1) * Math.ceil(seconds / 6000);
    const step = STEPS.find((candidate) => (candidate / seconds) * width >= APART) ?? longest;
    const first = Math.ceil((start + this.from / this.rate) / step - 1e-9) * step;
    const ticks = [];
    for (let i = 0; first + i * step <= start + this.to / this.rate; i++) {
      ticks.push(first + i * step);
    }
    return { step, seconds: ticks };
  }
}

/** Ruler, playhead, loop and scroll bar: where things are in time, and the pointer on them. */
class Timeline {
  constructor() {
    const element = find(".tracks"); // has the ruler, the scroll bar and the lanes in it
    Object.assign(this, { view: null, version: null, followAfter: 0 });
    this.drawn = () => {}; // called with the view when everything was drawn again
    this.ruler = find(".ruler", element);
    this.bar = find(".scrollbar", element);
    this.heads = findAll(".head", element); // on the ruler and over the lanes
    this.loops = findAll(".loop", element);
    this.width = 0; // of the ruler and the lanes, in pixels
    this.press = null; // of a pointer: {surface, id, x, looping}
    element.addEventListener("pointerdown", (event) => this.begin(event));
    element.addEventListener("pointermove", (event) => this.drag(event));
    for (const type of ["pointerup", "pointercancel"]) {
      element.addEventListener(type, (event) => this.end(event));
    }
    element.addEventListener("wheel", (event) => this.turn(event), { passive: false });
    this.bar.addEventListener("input", () => this.scroll(Number(this.bar.value)));
    new ResizeObserver(() => this.update()).observe(this.ruler);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.update());
  }

  /** Show a version: all of it, or the same part as before of another one of the same sound. */
  open(version) {
    const { recording, first_sample: first, length, sample_rate: rate } = version;
    const { version: before } = this;
    const same = before?.recording === recording && before.first_sample === first;
    if (!same || before.length !== length) this.view = new View(length, rate);
    this.version = version;
    this.update();
  }

  // ---- what is shown -------------------------------------------------------------------------

  /** Another part is shown: draw everything again. */
  update() {
    if (!this.view) return;
    const { view, ruler, bar } = this;
    this.width = ruler.clientWidth;
    const { step, seconds } = view.ticks(this.width, this.version.start);
    const digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
    const numbers = seconds.map((second) => {
      const tick = make("span", { text: clock(second, digits) });
      tick.style.left = `${100 * view.share((second - this.version.start) * view.rate)}%`;
      return tick;
    });
    arrange(find(".ticks", ruler), numbers);
    bar.hidden = !view.zoomed;
    bar.max = view.length - view.span;
    bar.value = view.from;
    bar.style.setProperty("--thumb", `${(this.width * view.span) / view.length}px`);
    this.showPosition();
    rows.draw(view);
    this.drawn(view);
  }

  /** Move the playhead and the loop; follow the playhead while it plays. */
  showPosition() {
    const { view } = this;
    if (player.version?.folder !== this.version?.folder) return; // another one will be shown
    const following = player.playing && !this.press && performance.now() > this.followAfter;
    if (following && view.keepShown(player.position)) {
      this.update();
      return;
    }
    const x = (view.share(player.position) * this.width).toFixed(1);
    for (const head of this.heads) head.style.transform = `translateX(${x}px)`; // without layout
    const { start, end } = player.loop ?? { start: 0, end: 0 };
    for (const loop of this.loops) {
      loop.hidden = !player.loop;
      loop.style.left = `${100 * view.share(start)}%`;
      loop.style.width = `${(100 * (end - start)) / view.span}%`;
    }
  }

  zoom(factor, sample = player.position) {
    this.view.zoom(factor, sample);
    this.update();
  }

  /** Show the playhead, and turn the page if need be. */
  follow() {
    if (this.view.keepShown(player.position)) this.update();
  }

  scroll(from) {
    this.followAfter = performance.now() + LOOK_AROUND;
    this.view.show(from);
    this.update();
  }

  // ---- the pointer: a click goes there, a drag makes a loop -----------------------------------

  sampleAt(x) {
    const { left, width } = this.ruler.getBoundingClientRect();
    return this.view.sample((x - left) / width);
  }

  begin({ target, button, pointerId: id, clientX: x }) {
    const surface = target.closest?.(".lane, .ruler");
    if (!surface || button !== 0 || this.press) return;
    surface.setPointerCapture(id);
    this.press = { surface, id, x, looping: false };
  }

  drag({ pointerId, clientX }) {
    const { press } = this;
    if (pointerId !== press?.id) return;
    press.looping ||= Math.abs(clientX - press.x) > DRAG;
    if (press.looping) player.setLoop(this.sampleAt(press.x), this.sampleAt(clientX));
  }

  end({ type, pointerId, clientX }) {
    const { press } = this;
    const { loop, position } = player;
    if (pointerId !== press?.id) return;
    this.press = null;
    if (type === "pointercancel") return;
    const sample = this.sampleAt(clientX);
    const inside = (point) => loop && point >= loop.start && point < loop.end;
    if (!press.looping) {
      if (press.surface === this.ruler && inside(sample)) player.setLoop();
      else player.seek(sample);
    } else if (loop && !inside(position)) player.seek(loop.start);
  }

  /** The wheel scrolls sideways, and zooms with Ctrl, as two fingers on a touchpad do. */
  turn(event) {
    const { deltaX, deltaY, shiftKey, ctrlKey } = event;
    if (!event.target.closest?.(".lane, .ruler")) return;
    const sideways = shiftKey ? deltaY || deltaX : deltaX;
    const scrolls = this.view.zoomed && (shiftKey || Math.abs(deltaX) > Math.abs(deltaY));
    if (!ctrlKey && !scrolls) return;
    event.preventDefault();
    if (ctrlKey) this.zoom(Math.exp(-deltaY / 200), this.sampleAt(event.clientX));
    else this.scroll(this.view.from + (sideways * this.view.span) / this.width);
  }
}

export const timeline = new Timeline();
