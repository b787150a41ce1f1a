import { grouped, groupsOf, moved, named, renamed, ungrouped } from "./groups.js";
import { groupGain, Mix } from "./mix.js";

/** The groups and levels of a version, and what is selected: buttons, keys and drags call it. */
export class GroupedMix extends Mix {
  /**
   * @param version {groups, levels} as they are at first
   * @param changed function to call when anything changes
   * @param listening {original}: whether the original is heard instead of the components
   */
  constructor(version, changed, listening = { original: false }) {
    super({ groups: version.groups, levels: version.levels }, changed, listening);
    this.version = version;
    this.selected = new Set(); // numbers of components
    this.folded = new Set(); // names of groups
  }

  get groups() { return this.value.groups; }

  // ---- levels --------------------------------------------------------------------------------

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
    this.selected.clear();
    this.change({ groups: groupsOf(sets) });
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
    this.change({ groups });
    return to;
  }

  ungroup(name) { this.change({ groups: ungrouped(this.groups, name) }); }

  toggleFold(name) {
    if (!this.folded.delete(name)) this.folded.add(name);
    this.changed();
  }
}
