import { Mix } from "./mix.js";
import { notice } from "./popups.js";
import { saveMix } from "./server.js";

const SOON = 300; // milliseconds after the last change
const AGAIN = 2000; // milliseconds until what was not saved is tried again

/** Saves groups and levels of a version, and says truly whether they are saved. */
class Saving {
  /** @param mix VersionMix whose value is saved; it is told what someone else saved */
  constructor(mix) {
    this.mix = mix;
    this.revision = mix.version.revision; // of what the server has
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

  /** Something changed: save it soon. */
  edit() {
    this.dirty = true;
    this.wait(SOON);
    this.mix.changed();
  }

  wait(milliseconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), milliseconds);
  }

  /** Save now, if there is something to save. */
  async send() {
    clearTimeout(this.timer);
    if (!this.dirty || this.sending) return;
    Object.assign(this, { dirty: false, sending: true });
    try {
      const { version, value } = this.mix;
      const { revision } = await saveMix(version.id, { revision: this.revision, ...value });
      Object.assign(this, { revision, reason: "" });
    } catch (error) {
      if (error.status === 409 && error.answer?.groups) this.giveWay(error.answer);
      else this.fail(error);
    }
    this.sending = false;
    if (this.dirty && !this.reason) this.wait(SOON);
    this.hear();
    this.mix.changed();
  }

  /** Someone else saved meanwhile: theirs is shown. */
  giveWay({ revision, groups, levels }) {
    Object.assign(this, { revision, dirty: false, reason: "" });
    this.mix.adopt({ groups, levels });
    notice(
      "Another tab changed this version meanwhile; its groups are shown. Undo brings yours back.",
      { name: "overruled", kind: "info" },
    );
  }

  fail(error) {
    this.dirty = true;
    this.reason = error.message;
    if (!error.status || error.status >= 500) this.wait(AGAIN);
  }

  /** What the server says about the version: another tab may have changed it. */
  hear() {
    const { revision, groups, levels } = this.mix.version;
    if (this.dirty || this.sending || revision <= this.revision) return;
    this.revision = revision;
    this.mix.adopt({ groups, levels });
  }
}

/** The groups and levels of a version in this tab, which are saved at once. */
export class VersionMix extends Mix {
  constructor(...of) {
    super(...of);
    this.saving = new Saving(this);
  }

  edited() { this.saving.edit(); }

  /** Someone else saved other groups or levels; undo brings back what this tab had. */
  adopt(value) {
    this.record(value);
    this.changed();
  }
}
