import { grouped, moved, named, nameProblem, recoloured, renamed, ungrouped } from "./groups.js";
import { adjusted, clampGain, flat, groupGain } from "./levels.js";

/** Everything that can be done with the take that is shown; buttons, keys and drags use these. */
export class Actions {
  /**
   * @param current function that returns the TakeMix that is shown
   * @param changed function to call after what is only of this tab changed: solos, selection
   */
  constructor(current, changed) {
    Object.assign(this, { current, changed });
    this.original = false; // whether the original is heard instead of the components
  }

  // ---- listening -----------------------------------------------------------------------------

  toggleOriginal() {
    this.original = !this.original;
    this.changed();
  }

  /** Solo components, or if all of them are soloed, do not. */
  toggleSolo(numbers) {
    const { solos } = this.current();
    const all = numbers.every((n) => solos.has(n));
    for (const n of numbers) all ? solos.delete(n) : solos.add(n);
    this.original = false;
    this.changed();
  }

  /** Hear these components alone. */
  soloOnly(numbers) {
    this.current().solos = new Set(numbers);
    this.original = false;
    this.changed();
  }

  // ---- levels --------------------------------------------------------------------------------

  toggleMute(numbers) {
    const mix = this.current();
    const muted = !numbers.every((n) => mix.levels[n - 1].muted);
    this.original = false;
    mix.change({ levels: adjusted(mix.levels, numbers, () => ({ muted })) });
  }

  /** Move the fader of a component or of a group, whose components keep their differences. */
  setGain(numbers, decibels, gesture) {
    const mix = this.current();
    const { levels } = mix.history.before(gesture); // so that a fader can be moved to an end and back
    const shift = decibels - groupGain(levels, numbers);
    const change = (level) => ({ gain_db: clampGain(level.gain_db + shift) });
    mix.change({ levels: adjusted(levels, numbers, change) }, gesture);
  }

  addGain(numbers, decibels) {
    const mix = this.current();
    this.setGain(numbers, groupGain(mix.levels, numbers) + decibels, `gain keys ${numbers}`);
  }

  setPan(numbers, pan, gesture) {
    const mix = this.current();
    const near = Math.abs(pan) < 0.04 ? 0 : Math.min(1, Math.max(-1, Math.round(100 * pan) / 100));
    mix.change({ levels: adjusted(mix.levels, numbers, () => ({ pan: near })) }, gesture);
  }

  addPan(numbers, change) {
    this.setPan(numbers, this.current().levels[numbers[0] - 1].pan + change, `pan keys ${numbers}`);
  }

  endGesture() {
    this.current()?.history.endGesture();
  }

  /** All faders to 0 dB and the centre, nothing muted, nothing soloed. */
  reset() {
    const mix = this.current();
    mix.solos.clear();
    this.original = false;
    mix.change({ levels: flat(mix.levels.length) });
  }

  // ---- groups --------------------------------------------------------------------------------

  select(numbers, wanted) {
    const { selected } = this.current();
    for (const n of numbers) wanted ? selected.add(n) : selected.delete(n);
    this.changed();
  }

  clearSelection() {
    this.current().selected.clear();
    this.changed();
  }

  /** Put components into a new group; return its name. */
  group(numbers) {
    if (!numbers.length) return undefined;
    const mix = this.current();
    const { groups, name } = grouped(mix.groups, numbers);
    mix.selected.clear();
    mix.change({ groups });
    return name;
  }

  /** Move components to a group, or out of all groups (null). */
  move(numbers, name) {
    const mix = this.current();
    const groups = moved(mix.groups, numbers, name);
    mix.selected.clear();
    if (JSON.stringify(groups) === JSON.stringify(mix.groups)) this.changed();
    else mix.change({ groups });
  }

  /** Rename a group; return what is wrong with the name, or "". */
  rename(name, to) {
    const mix = this.current();
    const problem = nameProblem(mix.groups, name, to);
    if (problem || to.trim() === name) return problem;
    if (mix.folded.delete(name)) mix.folded.add(to.trim());
    mix.change({ groups: renamed(mix.groups, name, to) });
    return "";
  }

  recolour(name, colour) {
    const mix = this.current();
    mix.change({ groups: recoloured(mix.groups, name, colour) });
  }

  ungroup(name) {
    const mix = this.current();
    mix.change({ groups: ungrouped(mix.groups, name) });
  }

  toggleFold(name) {
    const { folded, groups } = this.current();
    if (!named(groups, name)) return;
    if (!folded.delete(name)) folded.add(name);
    this.changed();
  }

  undo() { this.current()?.undo(); }

  redo() { this.current()?.redo(); }
}
