import { enableFaders, showControls } from "./controls.js";
import { arrange, elementsOf, find, findAll, setText } from "./dom.js";
import { groupOf, hue } from "./groups.js";
import { hertz, panWords, percent } from "./words.js";

/** The rows of a version: the original, groups with their components, components in no group. */
class Rows {
  constructor() {
    const list = find(".rows"); // holds the rows that are always there
    Object.assign(this, { list, mix: null, overview: null, view: null, top: 1, shape: "" });
    this.original = find(".original", list);
    this.target = find(".target", list);
    this.rest = find(".heading", list);
    this.components = []; // rows by number, from 0
    this.groups = new Map(); // rows by name
    this.enableFields();
  }

  /** Let the faders and the names of all rows act; some of them do not exist yet. */
  enableFields() {
    const numbersOf = (fader) => this.mix.members(this.rowOf(fader));
    enableFaders(this.list, () => this.mix, numbersOf);
    const onTitle = (type, act) => this.list.addEventListener(type, (event) => {
      const title = event.target;
      if (title.matches(".title")) act(title, this.rowOf(title).group, event);
    });
    onTitle("focusin", (title) => title.select());
    onTitle("change", (title, group) => this.rename(group, title));
    onTitle("keydown", (title, group, event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.stopPropagation();
      if (event.key === "Escape") title.value = group;
      this.focus(this.groups.get(this.rename(group, title)));
    });
  }

  /** Give a group the name in its field; return the name that it has now. */
  rename(group, title) {
    const name = this.mix.rename(group, title.value);
    title.value = name;
    if (name !== group) this.focus(this.groups.get(name));
    return name;
  }

  /** Show another version. */
  open(mix) {
    Object.assign(this, { mix, overview: null, view: null });
    this.groups.clear();
    this.components = mix.version.components.map(({ number, hertz: frequency, share }) => {
      const row = fromTemplate("component", number);
      setText(find(".number", row), String(number));
      setText(find(".hertz", row), hertz(frequency));
      setText(find(".share", row), percent(share));
      row.ariaLabel = `Component ${number}, ${hertz(frequency)}, ${percent(share)}`;
      return row;
    });
  }

  /**
   * @param peaks of the stretches of each source, 255 times the root of the amplitude
   * @param step samples of a stretch
   */
  setOverview(peaks, step) {
    this.overview = { peaks, step, bins: peaks.length / (1 + this.components.length) };
    this.top = peaks.reduce((most, peak) => Math.max(most, peak), 1);
    this.draw(this.view);
  }

  /** The rows as they stand, from top to bottom. */
  get all() { return findAll(".row", this.list); }

  // ---- what the mix says ---------------------------------------------------------------------

  update() {
    const { mix } = this;
    const names = mix.groups.map(({ name }) => [name, name]);
    elementsOf(this.groups, names, createGroup);
    arrange(this.list, this.order());
    for (const group of mix.groups) this.updateGroup(group);
    mix.version.components.forEach(({ number }) => this.updateComponent(number));
    this.original.classList.toggle("silent", !mix.original);
    if (!find(".row[tabindex='0']", this.list)) this.original.tabIndex = 0;
    const shape = JSON.stringify([mix.groups, [...mix.folded]]);
    if (shape !== this.shape) this.draw(this.view); // levels change no waveform
    this.shape = shape;
  }

  order() {
    const { groups, folded } = this.mix;
    const inGroups = groups.flatMap(({ name, components }) => {
      const rows = folded.has(name) ? [] : components.map((number) => this.components[number - 1]);
      return [this.groups.get(name), ...rows];
    });
    const others = this.components.filter((_, i) => !groupOf(groups, i + 1));
    this.target.classList.toggle("first", !groups.length);
    if (!groups.length) return [this.original, this.target, ...others];
    return [this.original, ...inGroups, this.target, this.rest, ...others];
  }

  updateGroup({ name, colour, components }) {
    const row = this.groups.get(name);
    row.style.setProperty("--hue", hue(colour));
    find(".fold", row).setAttribute("aria-expanded", !this.mix.folded.has(name));
    showControls(row, components, this.mix);
  }

  updateComponent(number) {
    const row = this.components[number - 1];
    const { groups, selected, levels } = this.mix;
    const group = groupOf(groups, number);
    row.classList.toggle("grouped", Boolean(group));
    if (group) row.style.setProperty("--hue", hue(group.colour));
    row.classList.toggle("selected", selected.has(number));
    find("[data-action=select]", row).checked = selected.has(number);
    const pan = find(".pan", row);
    const { pan: place } = levels[number - 1];
    pan.value = place;
    pan.setAttribute("aria-valuetext", panWords(place));
    pan.title = `Pan: ${panWords(place)}`;
    showControls(row, [number], this.mix);
  }

  /** Draw the part of the waveforms of all rows that a view shows. */
  draw(view) {
    const { overview, top } = this;
    this.view = view;
    if (!view || !overview?.bins) return;
    const draw = (row, sources) => {
      drawWave(find("canvas", row), peaksOf(overview, sources), overview.step, view, top);
    };
    draw(this.original, [0]);
    for (const { name, components } of this.mix.groups) draw(this.groups.get(name), components);
    this.components.forEach((row, i) => draw(row, [i + 1]));
  }

  // ---- the focused row -----------------------------------------------------------------------

  /** What the row of an element stands for: {component}, {group}, or neither. */
  rowOf(element) {
    const { component, group } = element?.closest(".row")?.dataset ?? {};
    return component ? { component: Number(component) } : { group };
  }

  /** Move the focus to the row above or below. */
  moveFocus(step) {
    const rows = this.all.filter((row) => row.hasAttribute("tabindex"));
    const now = rows.indexOf(document.activeElement?.closest?.(".row"));
    const first = rows.findIndex((row) => row.tabIndex === 0);
    this.focus(rows[Math.min(rows.length - 1, Math.max(0, now < 0 ? first : now + step))]);
  }

  focus(row) {
    if (!row) return;
    for (const other of this.all) if (other.hasAttribute("tabindex")) other.tabIndex = -1;
    row.tabIndex = 0;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  /** Let the name of a group be written. */
  editName(name) {
    if (name !== undefined) find(".title", this.groups.get(name)).focus();
  }
}

export const rows = new Rows();

/** A row of which the page holds a template; labels end with what the row stands for. */
function fromTemplate(kind, name) {
  const row = find(`#${kind}-row`).content.firstElementChild.cloneNode(true);
  row.dataset[kind] = name;
  for (const control of findAll("[aria-label]", row)) control.ariaLabel += ` ${kind} ${name}`;
  return row;
}

function createGroup(name) {
  const row = fromTemplate("group", name);
  row.ariaLabel = `Group ${name}`;
  find(".title", row).value = name;
  return row;
}

// ---- waveforms, from peaks of short stretches ---------------------------------------------------

/** The peaks of several sources together: the highest of them at each moment. */
function peaksOf({ peaks, bins }, sources) {
  const rows = sources.map((source) => peaks.subarray(source * bins, (source + 1) * bins));
  return rows.reduce((highest, row) => highest.map((peak, i) => Math.max(peak, row[i])));
}

/**
 * Draw the part of a waveform that a view shows.
 *
 * @param canvas fills its parent; its colour is the colour of the text there
 * @param peaks of each stretch of `step` samples
 * @param top the peak that fills the height
 */
function drawWave(canvas, peaks, step, view, top) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  if (!width || !height) return; // it is folded
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const pen = canvas.getContext("2d");
  pen.clearRect(0, 0, width, height);
  pen.fillStyle = getComputedStyle(canvas).color;
  const perPixel = view.span / width / step; // stretches
  const first = view.from / step;
  for (let x = 0; x < width; x++) {
    const from = Math.floor(first + x * perPixel);
    const to = Math.max(from + 1, Math.floor(first + (x + 1) * perPixel));
    let peak = 0;
    for (let i = from; i < to && i < peaks.length; i++) peak = Math.max(peak, peaks[i]);
    const tall = Math.max(1, (peak / top) * height * 0.94);
    pen.fillRect(x, (height - tall) / 2, 1, tall);
  }
}
