import { find, setText } from "./dom.js";
import { hue, NO_GROUP } from "./groups.js";
import { player } from "./player.js";
import { timeline } from "./timeline.js";
import { clock, hertz } from "./words.js";

const DRAG = 4; // pixels after which a press is a drag
const BRUSH = 26; // pixels of the brush
const APART = 4; // pixels between points of a stroke
const OCTAVE = 20; // Hz: below it all frequencies are as wide for a brush
const LETTER = 7.5; // pixels of a label, about

const make = (name, attributes = {}) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

/** The marks on the spectrogram: drawn, made with the pointer, selected and removed. */
class Drawing {
  constructor() {
    this.surface = find(".drawing");
    this.pointing = null;
    this.selected = null; // a mark
    this.press = null; // {id, x, y, mark, shape}
    this.shown = ""; // what is drawn
  }

  enable(pointing) {
    const { surface } = this;
    this.pointing = pointing;
    surface.addEventListener("pointerdown", (event) => this.begin(event));
    surface.addEventListener("pointermove", (event) => this.move(event));
    for (const type of ["pointerup", "pointercancel"]) {
      surface.addEventListener(type, (event) => this.end(event));
    }
    surface.parentElement.addEventListener("focusin", ({ target }) => { // which makes an SVG focusable
      this.select(this.markOf(target));
    });
  }

  // ---- places: seconds of the recording and Hz, and pixels -------------------------------------

  get rate() { return this.pointing.mix.version.sample_rate; }

  get first() { return this.pointing.mix.version.first_sample; }

  x(seconds) {
    return timeline.view.share(seconds * this.rate - this.first) * this.surface.clientWidth;
  }

  y(frequency) { return this.pointing.spectrogram.height(frequency) * this.surface.clientHeight; }

  /** Seconds and Hz of a place in the window, within the recording. */
  place({ clientX, clientY }) {
    const { top, height } = this.surface.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (clientY - top) / height));
    const seconds = (this.first + timeline.sampleAt(clientX)) / this.rate;
    const frequency = share >= 1 ? 0 : this.pointing.spectrogram.frequency(share);
    return [round(seconds), Math.min(this.rate / 2, round(frequency))];
  }

  // ---- the pointer -----------------------------------------------------------------------------

  begin(event) {
    if (event.button !== 0 || this.press) return;
    event.stopPropagation(); // the timeline would seek
    const { pointerId: id, clientX: x, clientY: y, target } = event;
    this.surface.setPointerCapture(id);
    this.press = { id, x, y, mark: this.markOf(target), shape: null, start: this.place(event) };
  }

  move(event) {
    const { press } = this;
    if (event.pointerId !== press?.id) return;
    event.stopPropagation();
    const far = Math.hypot(event.clientX - press.x, event.clientY - press.y) > DRAG;
    if (!far && !press.shape) return;
    press.shape = this.shape(press, this.place(event));
    this.draw();
  }

  end(event) {
    const { press } = this;
    if (event.pointerId !== press?.id) return;
    event.stopPropagation();
    this.press = null;
    if (event.type === "pointercancel") this.draw();
    else if (press.shape) this.pointing.mark(press.shape);
    else if (press.mark) this.elementOf(press.mark)?.focus();
    else if (this.pointing.tool === "brush") this.pointing.mark(this.shape(press, press.start));
    else {
      this.select(null);
      player.seek(timeline.sampleAt(event.clientX));
    }
  }

  /** The mark that a press to here makes. */
  shape({ start: [t0, f0], shape }, [t, f]) {
    const { tool } = this.pointing;
    if (tool === "brush") {
      const { view } = timeline;
      const { clientWidth, clientHeight } = this.surface;
      const { octaves } = this.pointing.spectrogram;
      const size = {
        seconds: (BRUSH / clientWidth) * (view.span / this.rate),
        octaves: (BRUSH / clientHeight) * octaves,
      };
      const points = shape?.points ?? [[t0, Math.max(f0, OCTAVE)]];
      const [before] = points.slice(-1);
      const apart = Math.hypot(this.x(t) - this.x(before[0]), this.y(f) - this.y(before[1]));
      return { ...size, ...shape, points: apart < APART ? points : [...points, [t, f]] };
    }
    const [start, end] = [Math.min(t0, t), Math.max(t0, t, Math.min(t0, t) + 0.001)];
    if (tool === "time") return { start, end };
    const [low, high] = [Math.min(f0, f), Math.max(f0, f)];
    const top = high >= 0.98 * (this.rate / 2) ? {} : { high: Math.max(high, low + 1) };
    return { start, end, low: low < this.pointing.mix.version.lowest * 1.02 ? 0 : low, ...top };
  }

  // ---- what is drawn ---------------------------------------------------------------------------

  draw() {
    const { surface, pointing: { mix, group, says }, press } = this;
    const { view } = timeline;
    const { clientWidth: width, clientHeight: height } = surface;
    if (!view || !width || view.length !== mix.version.length) return;
    const { marks } = mix;
    if (!marks.includes(this.selected)) this.selected = null;
    const drawn = press?.shape ? [...marks, { group, silent: Boolean(says), ...press.shape }] : marks;
    const focused = document.activeElement?.closest?.(".mark")?.dataset.number;
    surface.setAttribute("viewBox", `0 0 ${width} ${height}`);
    surface.replaceChildren(...drawn.map((mark, i) => this.element(mark, i, width, height)));
    if (focused !== undefined) surface.children[focused]?.focus({ preventScroll: true });
  }

  element(mark, number, width, height) {
    const { group, silent } = mark;
    const colour = this.pointing.colourOf(group);
    const name = group === NO_GROUP ? "everything else" : group;
    const words = silent ? `no ${name}` : name;
    const [shape, x, y, room] = mark.points ? this.stroke(mark) : this.box(mark, width, height);
    const label = make("text", { x: Math.max(x, 0) + 5, y: Math.min(height - 6, Math.max(y, 0) + 15) });
    const fits = room > LETTER * words.length + 6;
    setText(label, fits ? words : "");
    const says = silent ? "is silent" : "belongs";
    const element = make("g", {
      class: "mark", tabindex: 0, role: "button", "data-number": number,
      "aria-label": `${name} ${says}: ${this.where(mark)}`, "aria-pressed": mark === this.selected,
    });
    element.classList.toggle("none", Boolean(silent));
    element.classList.toggle("coloured", colour !== null);
    element.style.setProperty("--hue", hue(colour ?? 0));
    const title = make("title"); // of those that have no room for a label
    setText(title, words);
    element.append(title, shape, label);
    return element;
  }

  box({ start = 0, end, low = 0, high }, width, height) {
    const [x, right] = [this.x(start), end === undefined ? width : this.x(end)];
    const y = high === undefined ? 0 : this.y(high);
    const bottom = low <= this.pointing.mix.version.lowest ? height : this.y(low);
    const size = { width: Math.max(1, right - x), height: Math.max(1, bottom - y) };
    return [make("rect", { x, y, rx: 3, ...size }), x, y, size.width];
  }

  /** A line as thick as the brush: drawn in units of the brush, in which it is round. */
  stroke({ points, seconds, octaves }) {
    const { surface, pointing: { spectrogram: { octaves: all } } } = this;
    const across = (seconds * this.rate * surface.clientWidth) / timeline.view.span;
    const down = (octaves * surface.clientHeight) / all;
    const places = points.map(([t, f]) => [this.x(t) / across, this.y(f) / down]);
    const [[x, y]] = places;
    const line = places.slice(1).map((place) => place.map((v) => v.toFixed(4)).join()).join(" L");
    const path = `M${x},${y} L${line || `${x},${y}`}`;
    const left = Math.min(...places.map(([a]) => a)) * across;
    const top = Math.min(...places.map(([, b]) => b)) * down - down / 2 - 18;
    return [make("path", { d: path, transform: `scale(${across} ${down})` }), left, top, Infinity];
  }

  /** Times and frequencies of a mark in words. */
  where({ points, start = 0, end, low = 0, high }) {
    const times = points?.map(([t]) => t) ?? [start, end ?? this.pointing.mix.version.marks.length / this.rate];
    const tones = points?.map(([, f]) => f) ?? [low, high ?? this.rate / 2];
    const [from, to] = [Math.min(...times), Math.max(...times)].map((t) => clock(t));
    return `${from} to ${to}, ${hertz(Math.min(...tones))} to ${hertz(Math.max(...tones))}`;
  }

  // ---- the selection ---------------------------------------------------------------------------

  markOf(element) {
    const number = element.closest(".mark")?.dataset.number;
    return number === undefined ? null : this.pointing.mix.marks[number] ?? null;
  }

  elementOf(mark) { return this.surface.children[this.pointing.mix.marks.indexOf(mark)]; }

  select(mark) {
    if (mark === this.selected) return;
    this.selected = mark;
    for (const element of this.surface.children) {
      element.setAttribute("aria-pressed", this.markOf(element) === mark && mark !== null);
    }
  }
}

/** To a thousandth of a second, or of a Hz. */
const round = (value) => Math.round(1000 * value) / 1000;

export const drawing = new Drawing();
