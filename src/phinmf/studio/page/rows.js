import { arrange, elementsOf, find, findAll, setPressed, setText } from "./dom.js";
import { drawWave, highest, peaksOf } from "./drawing.js";
import { groupOf, hue } from "./groups.js";
import { groupGain, QUIETEST, sounds } from "./levels.js";
import { componentRow, groupRow, newGroupRow, originalRow, restRow } from "./row_parts.js";
import { decibels, hertz, panWords, percent } from "./words.js";

const FLOOR = -48; // decibels: the lower end of the meters
const STEPS = 26; // of a meter: what cannot be seen is not drawn
const shownLevels = new WeakMap(); // steps by row

/** A meter rises at once and falls slowly. */
function showLevel(row, peak = 0) {
  const height = peak > 0 ? Math.min(1, Math.max(0, 1 - (20 * Math.log10(peak)) / FLOOR)) : 0;
  const before = shownLevels.get(row) ?? 0;
  const steps = Math.max(Math.round(STEPS * height), before - 1);
  if (steps === before || steps < 0) return;
  shownLevels.set(row, steps);
  const bar = find(".meter i", row);
  bar.style.transform = `scaleY(${steps / STEPS})`;
  bar.classList.toggle("over", peak > 1);
}

/** The rows of a take: the original, groups with their components, components in no group. */
export class Rows {
  /**
   * @param element the list
   * @param acts functions: of(numbers, name) gives those of a row, `original`, `group`
   */
  constructor(element, acts) {
    Object.assign(this, { element, acts, mix: null, overview: null });
    this.original = originalRow(acts.original);
    this.target = newGroupRow(acts.group);
    this.rest = restRow();
    this.components = [];
    this.groups = new Map(); // rows by name
  }

  /** Show another take. */
  open(mix) {
    Object.assign(this, { mix, overview: null });
    this.groups.clear();
    this.components = mix.take.components.map(({ number, hertz: frequency, share }) => {
      const facts = [hertz(frequency), percent(share)];
      return componentRow(number, facts, this.acts.of({ component: number }));
    });
  }

  setOverview(overview) {
    this.overview = overview;
    this.top = highest(overview);
  }

  /** The rows as they stand, from top to bottom. */
  get all() {
    return findAll(".row", this.element);
  }

  // ---- what the mix says ---------------------------------------------------------------------

  update() {
    const { mix } = this;
    const { original } = mix.listening;
    elementsOf(this.groups, mix.groups.map(({ name }) => [name, name]), (name) => groupRow(name, this.acts.of({ group: name })));
    arrange(this.element, this.order());
    for (const group of mix.groups) this.updateGroup(group, original);
    mix.take.components.forEach(({ number }) => this.updateComponent(number, original));
    setPressed(find("[data-action=original]", this.original), original);
    this.original.classList.toggle("silent", !original);
    this.target.classList.toggle("ready", mix.selected.size > 0);
    if (!find(".row[tabindex='0']", this.element)) this.original.tabIndex = 0;
  }

  order() {
    const { groups, folded } = this.mix;
    const inGroups = groups.flatMap(({ name, components }) => [
      this.groups.get(name), ...(folded.has(name) ? [] : components.map((n) => this.components[n - 1])),
    ]);
    const loose = this.components.filter((_, i) => !groupOf(groups, i + 1));
    return [this.original, ...inGroups, ...(groups.length ? [this.target, this.rest] : []),
      ...loose, ...(groups.length ? [] : [this.target])];
  }

  updateGroup({ name, colour, components }, original) {
    const row = this.groups.get(name);
    const { levels, solos, folded } = this.mix;
    const heard = !original && components.some((n) => sounds(n, levels, solos));
    row.style.setProperty("--hue", hue(colour));
    find(".fold", row).setAttribute("aria-expanded", !folded.has(name));
    this.updateControls(row, components, groupGain(levels, components), heard);
  }

  updateComponent(number, original) {
    const row = this.components[number - 1];
    const { levels, solos, groups, selected } = this.mix;
    const group = groupOf(groups, number);
    row.classList.toggle("grouped", Boolean(group));
    if (group) row.style.setProperty("--hue", hue(group.colour));
    else row.style.removeProperty("--hue");
    row.classList.toggle("selected", selected.has(number));
    find("[data-action=select]", row).checked = selected.has(number);
    const { gain_db: gain, pan } = levels[number - 1];
    const slider = find(".pan", row);
    slider.value = pan;
    slider.setAttribute("aria-valuetext", panWords(pan));
    slider.title = `Pan: ${panWords(pan)}`;
    this.updateControls(row, [number], gain, !original && sounds(number, levels, solos));
  }

  updateControls(row, numbers, gain, heard) {
    const { levels, solos } = this.mix;
    const slider = find("[data-action=gain]", row);
    const words = decibels(gain, QUIETEST);
    slider.value = gain;
    slider.setAttribute("aria-valuetext", `${words} dB`);
    setText(find(".decibels", row), words);
    setPressed(find("[data-action=solo]", row), numbers.every((n) => solos.has(n)));
    setPressed(find("[data-action=mute]", row), numbers.every((n) => levels[n - 1].muted));
    row.classList.toggle("silent", !heard);
  }

  // ---- what is drawn -------------------------------------------------------------------------

  draw(view) {
    if (!this.overview) return;
    const { bins, step } = this.overview;
    if (!bins) return;
    const wave = (row, sources) => drawWave(find("canvas", row), peaksOf(this.overview, sources), step, view, this.top);
    wave(this.original, [0]);
    for (const { name, components } of this.mix.groups) wave(this.groups.get(name), components);
    this.components.forEach((row, i) => { if (row.isConnected) wave(row, [i + 1]); });
  }

  /** Let the meters show peaks of all sources; groups show the highest of their components. */
  showLevels(peaks) {
    showLevel(this.original, peaks[0]);
    this.components.forEach((row, i) => showLevel(row, peaks[i + 1]));
    for (const { name, components } of this.mix.groups) {
      showLevel(this.groups.get(name), Math.max(...components.map((n) => peaks[n] ?? 0)));
    }
  }

  // ---- the focused row -----------------------------------------------------------------------

  /** What the focused row stands for: {component}, {group} or {original}; null if none has the focus. */
  get focused() {
    const row = document.activeElement?.closest?.(".rows .row");
    if (!row) return null;
    const { component, group, original } = row.dataset;
    if (component) return { component: Number(component) };
    if (group !== undefined) return { group };
    return original === undefined ? null : { original: true };
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
    find(".title", this.groups.get(name))?.focus();
  }
}
