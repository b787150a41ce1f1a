import { grouped, groupsOf, moved, named, renamed, ungrouped } from "./groups.js";

/** What is heard: levels, mutes and solos of components, counted from 1, and the region of a loop. */

export const QUIETEST = -60; // decibels: the lowest end of a fader is silence
const LOUDEST = 12;
const SHORTEST = 0.05; // seconds of a loop
const MOST = 200; // steps that can be undone

export const flat = (count) =>
  Array.from({ length: count }, () => ({ gain_db: 0, pan: 0, muted: false }));

/** The region between two samples, in any order; null if it is too short to be a loop. */
export function regionOf({ length, sample_rate: rate }, from, to) {
  const start = Math.max(0, Math.round(Math.min(from, to)));
  const end = Math.min(length, Math.round(Math.max(from, to)));
  return end - start >= SHORTEST * rate ? { start, end } : null;
}

/** The gain that a group shows: the mean of its components. */
export const groupGain = (levels, numbers) =>
  numbers.reduce((sum, number) => sum + levels[number - 1].gain_db, 0) / numbers.length;

/** Factors of the left and the right channel: equal power, and exactly the gain in the centre. */
function factors({ gain_db: decibels, pan }) {
  const gain = decibels <= QUIETEST ? 0 : 10 ** (decibels / 20);
  if (pan === 0) return [gain, gain];
  const angle = ((1 + pan) * Math.PI) / 4;
  return [gain * Math.SQRT2 * Math.cos(angle), gain * Math.SQRT2 * Math.sin(angle)];
}

/**
 * The levels and groups of a version, what they were before, what is heard and what is selected:
 * buttons, keys and drags call it.
 */
export class Mix {
  /**
   * @param version {groups, levels} as they are at first
   * @param changed function to call when anything changes
   * @param listening {original}: whether the original is heard instead of the components
   */
  constructor(version, changed, listening = { original: false }) {
    Object.assign(this, { version, changed, listening });
    // replaced as a whole at each change, so that it can be undone
    this.value = {
      groups: version.groups, levels: version.levels, marks: version.marks?.marks ?? [],
    };
    this.past = []; // values that undo brings back
    this.future = []; // and redo
    this.gesture = null; // changes with the same name are one step, until something else happens
    this.solos = new Set(); // numbers of components
    this.selected = new Set(); // numbers of components
    this.folded = new Set(); // names of groups
  }

  get groups() { return this.value.groups; }

  get levels() { return this.value.levels; }

  /** Marks of times and frequencies, each about a group. */
  get marks() { return this.value.marks; }

  get original() { return this.listening.original; }

  /** Whether a component sounds, where the components are heard. */
  sounds(number) {
    const soloed = this.solos.size === 0 || this.solos.has(number);
    return soloed && !this.levels[number - 1].muted;
  }

  /** Left and right factors of the original, then of each component. */
  get gains() {
    const components = this.levels.map((level, i) => (
      this.sounds(i + 1) && !this.original ? factors(level) : [0, 0]));
    return [Number(this.original), Number(this.original), ...components.flat()];
  }

  // ---- changes, one step at a time -----------------------------------------------------------

  /** The value is another one. */
  edited() { this.changed(); }

  /** Replace parts of the value. */
  change(parts, gesture = null) {
    this.record({ ...this.value, ...parts }, gesture);
    this.edited();
  }

  record(value, gesture = null) {
    if (gesture === null || gesture !== this.gesture) {
      this.past = [...this.past, this.value].slice(-MOST);
    }
    Object.assign(this, { value, gesture, future: [] });
  }

  /** A movement is over: the next one is a step of its own. */
  endGesture() { this.gesture = null; }

  undo() { this.step(this.past, this.future); }

  redo() { this.step(this.future, this.past); }

  step(from, to) {
    if (!from.length) return;
    to.push(this.value);
    this.value = from.pop();
    this.gesture = null;
    this.edited();
  }

  // ---- levels --------------------------------------------------------------------------------

  /** Change the levels of some components, by a function of a level and its index. */
  adjust(numbers, change, gesture) {
    const levels = this.levels.map((level, i) => (
      numbers.includes(i + 1) ? { ...level, ...change(level, i) } : level));
    this.change({ levels }, gesture);
  }

  hearOriginal(original = !this.original) {
    this.listening.original = original;
    this.changed();
  }

  /** Hear these components alone; all of them, if there are none. */
  soloOnly(numbers) {
    this.solos = new Set(numbers);
    this.hearOriginal(false);
  }

  /** Solo these components as well; if all of them are soloed already, none of them. */
  toggleSolo(numbers) {
    const others = [...this.solos].filter((number) => !numbers.includes(number));
    const all = numbers.every((number) => this.solos.has(number));
    this.soloOnly(all ? others : [...others, ...numbers]);
  }

  /** Mute these components; if all of them are muted already, none of them. */
  toggleMute(numbers) {
    const muted = !numbers.every((number) => this.levels[number - 1].muted);
    this.listening.original = false;
    this.adjust(numbers, () => ({ muted }));
  }

  /** Move the fader of a component, or of a group, whose components keep their differences. */
  setGain(numbers, decibels, gesture = null) {
    const moving = gesture !== null && gesture === this.gesture;
    const { levels } = moving ? this.past.at(-1) : this.value; // to an end and back loses nothing
    const shift = decibels - groupGain(levels, numbers);
    const rounded = (i) => Math.round(2 * (levels[i].gain_db + shift)) / 2;
    const limited = (gain) => Math.min(LOUDEST, Math.max(QUIETEST, gain));
    this.adjust(numbers, (_, i) => ({ gain_db: limited(rounded(i)) }), gesture);
  }

  addGain(numbers, decibels) {
    this.setGain(numbers, groupGain(this.levels, numbers) + decibels, `gain keys ${numbers}`);
  }

  setPan(numbers, pan, gesture) {
    const limited = Math.min(1, Math.max(-1, Math.round(100 * pan) / 100));
    this.adjust(numbers, () => ({ pan: Math.abs(pan) < 0.04 ? 0 : limited }), gesture);
  }

  addPan(numbers, change) {
    this.setPan(numbers, this.levels[numbers[0] - 1].pan + change, `pan keys ${numbers}`);
  }

  /** All faders to 0 dB and the centre, nothing muted, nothing soloed. */
  reset() {
    this.solos.clear();
    this.listening.original = false;
    this.change({ levels: flat(this.levels.length) });
  }

  // ---- groups --------------------------------------------------------------------------------

  /** The components that a row stands for: one, or those of a group. */
  members({ component, group }) {
    return group === undefined ? [component] : named(this.groups, group)?.components ?? [];
  }

  /** Select components; if all of them are selected already, none of them. */
  toggleSelected(numbers) {
    const all = numbers.every((number) => this.selected.has(number));
    for (const number of numbers) {
      if (all) this.selected.delete(number);
      else this.selected.add(number);
    }
    this.changed();
  }

  clearSelection() {
    this.selected.clear();
    this.changed();
  }

  /** The components that move together: those that are selected, if this one is. */
  movedWith(number) {
    return this.selected.has(number) ? [...this.selected] : [number];
  }

  /** Put components into a new group; return its name. */
  group(numbers) {
    if (!numbers.length) return undefined;
    const { groups, name } = grouped(this.groups, numbers);
    this.selected.clear();
    this.change({ groups });
    return name;
  }

  /** Put all components into new groups. */
  groupAll(sets) {
    const groups = groupsOf(sets);
    this.selected.clear();
    this.folded = new Set(groups.map(({ name }) => name));
    this.change({ groups });
  }

  /** Move components to a group, or out of all groups (null). */
  move(numbers, name) {
    const groups = moved(this.groups, numbers, name);
    this.selected.clear();
    if (JSON.stringify(groups) === JSON.stringify(this.groups)) this.changed();
    else this.change({ groups });
  }

  /** Rename a group; return the name that it has now. */
  rename(name, typed) {
    const { groups, name: to } = renamed(this.groups, name, typed);
    if (to === name || !named(this.groups, name)) return name; // it was renamed already
    if (this.folded.delete(name)) this.folded.add(to);
    const marks = this.marks.map((mark) => (mark.group === name ? { ...mark, group: to } : mark));
    this.change({ groups, marks });
    return to;
  }

  ungroup(name) { this.change({ groups: ungrouped(this.groups, name) }); }

  toggleFold(name) {
    if (!this.folded.delete(name)) this.folded.add(name);
    this.changed();
  }
}
