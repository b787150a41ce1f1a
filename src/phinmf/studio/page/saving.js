import { newNames } from "./groups.js";
import { Mix } from "./mix.js";
import { notice } from "./popups.js";
import { saveMix } from "./server.js";

const SOON = 300; // milliseconds after the last change
const AGAIN = 2000; // milliseconds until what was not saved is tried again
const OVERRULED =
  "Another tab changed this version meanwhile; its groups are shown. Undo brings yours back.";

/**
 * The groups and levels of a version in this tab: saved soon after each change, and `status` says
 * truly whether they are.
 *
 * Invariant: the server refuses a change of an old revision. Then what is saved is shown, as one
 * more step, and undo brings back what this tab had.
 */
export class VersionMix extends Mix {
  constructor(version, ...more) {
    super(version, ...more);
    this.folded = new Set(version.groups.map(({ name }) => name)); // groups first
    this.revision = version.revision; // of what is saved
    this.dirty = false; // whether something changed since it was last sent
    this.sending = false;
    this.reason = ""; // why it is not saved
    this.timer = 0;
  }

  /** "saved", "saving" or "not saved". */
  get status() {
    if (this.reason) return "not saved";
    return this.dirty || this.sending ? "saving" : "saved";
  }

  edited() {
    this.dirty = true;
    this.saveIn(SOON);
    this.changed();
  }

  saveIn(milliseconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), milliseconds);
  }

  /** Save now, if there is something to save. */
  async save() {
    clearTimeout(this.timer);
    if (!this.dirty || this.sending) return;
    Object.assign(this, { dirty: false, sending: true });
    try {
      const { groups, marks } = this;
      const mix = { revision: this.revision, ...this.value };
      mix.marks = { ...this.version.marks, marks, new: newNames(groups, marks) };
      const { revision } = await saveMix(this.version.id, mix);
      Object.assign(this, { revision, reason: "" });
    } catch (error) {
      if (error.status === 409 && error.answer?.groups) {
        Object.assign(this, { dirty: false, reason: "" });
        this.adopt(error.answer);
        notice(OVERRULED, { name: "overruled", kind: "info" });
      } else {
        Object.assign(this, { dirty: true, reason: error.message });
        if (!error.status || error.status >= 500) this.saveIn(AGAIN);
      }
    }
    this.sending = false;
    if (this.dirty && !this.reason) this.saveIn(SOON);
    this.hear(this.version);
    this.changed();
  }

  /** The server described the version: another tab may have changed it. */
  hear(version) {
    this.version = version;
    if (!this.dirty && !this.sending && version.revision > this.revision) this.adopt(version);
  }

  adopt({ revision, groups, levels, marks: { marks } }) {
    this.revision = revision;
    this.record({ groups, levels, marks });
  }
}
