import { grouped, moved, named, nameProblem, recoloured, renamed, ungrouped } from "./groups.js";
import { History } from "./history.js";
import { adjusted, clampGain, flat, groupGain, toggledMutes, toggledSolos } from "./levels.js";
import { Saving } from "./saving.js";
import { saveMix } from "./server.js";

/**
 * The groups and levels of a take in this tab, with what was before and what is listened to:
 * everything that can be done with it. Buttons, keys and drags call these functions.
 */
export class TakeMix {
  /**
   * @param take of the server's state
   * @param listening {original}: whether the original is heard instead of the components of any take
   * @param changed function to call when anything changes
   * @param overruled function to call when another tab's version replaced the one of this tab
   */
  constructor(take, listening, changed, overruled) {
    Object.assign(this, { take, listening, changed });
    this.history = new History({ groups: take.groups, levels: take.levels });
    this.solos = new Set(); // numbers of components
    this.selected = new Set();
    this.folded = new Set(); // names of groups
    this.saving = new Saving(take.revision, {
      save: (mix) => saveMix(this.take.id, mix),
      mix: () => this.history.value,
      adopt: (mix, conflict) => {
        this.history.record(mix); // undo brings back what this tab had
        if (conflict) overruled();
        changed();
      },
      changed,
    });
  }

  get groups() { return this.history.value.groups; }

  get levels() { return this.history.value.levels; }

  /** Whether nothing was changed since the take was made. */
  get untouched() {
    return !this.groups.length && this.levels.every((l) => !l.gain_db && !l.pan && !l.muted);
  }

  /** Change groups or levels; changes with the name of one gesture are one step to undo. */
  change(change, gesture = null) {
    this.history.record({ ...this.history.value, ...change }, gesture);
    this.saving.edit();
  }

  undo() { if (this.history.undo()) this.saving.edit(); }

  redo() { if (this.history.redo()) this.saving.edit(); }

  /** The server described the take again. */
  hear(take) {
    this.take = take;
    this.saving.hear(take);
  }

  /** The components that a row stands for: one, or those of a group. */
  members(row) {
    return row.group === undefined ? [row.component] : named(this.groups, row.group)?.components ?? [];
  }

  // ---- listening -----------------------------------------------------------------------------

  toggleOriginal() {
    this.listening.original = !this.listening.original;
    this.changed();
  }

  toggleSolo(numbers) {
    this.soloOnly(toggledSolos(this.solos, numbers));
  }

  /** Hear these components alone; all of them, if there are none. */
  soloOnly(numbers) {
    this.solos = new Set(numbers);
    this.listening.original = false;
    this.changed();
  }

  // ---- levels --------------------------------------------------------------------------------

  toggleMute(numbers) {
    this.listening.original = false;
    this.change({ levels: toggledMutes(this.levels, numbers) });
  }

  /** Move the fader of a component or of a group, whose components keep their differences. */
  setGain(numbers, decibels, gesture) {
    const { levels } = this.history.before(gesture); // so that a fader can be moved to an end and back
    const shift = decibels - groupGain(levels, numbers);
    const change = (level) => ({ gain_db: clampGain(level.gain_db + shift) });
    this.change({ levels: adjusted(levels, numbers, change) }, gesture);
  }

  addGain(numbers, decibels) {
    this.setGain(numbers, groupGain(this.levels, numbers) + decibels, `gain keys ${numbers}`);
  }

  setPan(numbers, pan, gesture) {
    const near = Math.abs(pan) < 0.04 ? 0 : Math.min(1, Math.max(-1, Math.round(100 * pan) / 100));
    this.change({ levels: adjusted(this.levels, numbers, () => ({ pan: near })) }, gesture);
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

  select(numbers, selected) {
    for (const n of numbers) selected ? this.selected.add(n) : this.selected.delete(n);
    this.changed();
  }

  clearSelection() {
    this.selected.clear();
    this.changed();
  }

  /** Put components into a new group; return its name. */
  group(numbers) {
    if (!numbers.length) return undefined;
    const { groups, name } = grouped(this.groups, numbers);
    this.selected.clear();
    this.change({ groups });
    return name;
  }

  /** Move components to a group, or out of all groups (null). */
  move(numbers, name) {
    const groups = moved(this.groups, numbers, name);
    this.selected.clear();
    if (JSON.stringify(groups) === JSON.stringify(this.groups)) this.changed();
    else this.change({ groups });
  }

  /** Rename a group; return what is wrong with the name, or "". */
  rename(name, to) {
    const problem = nameProblem(this.groups, name, to);
    if (problem || to.trim() === name) return problem;
    if (this.folded.delete(name)) this.folded.add(to.trim());
    this.change({ groups: renamed(this.groups, name, to) });
    return "";
  }

  recolour(name, colour) { this.change({ groups: recoloured(this.groups, name, colour) }); }

  ungroup(name) { this.change({ groups: ungrouped(this.groups, name) }); }

  toggleFold(name) {
    if (!named(this.groups, name)) return;
    if (!this.folded.delete(name)) this.folded.add(name);
    this.changed();
  }
}
