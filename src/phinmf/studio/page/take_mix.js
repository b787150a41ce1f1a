import { History } from "./history.js";
import { named } from "./groups.js";
import { Saving } from "./saving.js";
import { saveMix } from "./server.js";

/** The groups and levels of a take in this tab, with what was before and what is listened to. */
export class TakeMix {
  /**
   * @param take of the server's state
   * @param changed function to call when anything changes
   * @param overruled function to call when another tab's version replaced the one of this tab
   */
  constructor(take, changed, overruled) {
    Object.assign(this, { take, changed });
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
}
