const SOON = 300; // milliseconds after the last change
const AGAIN = 2000; // milliseconds until what was not saved is tried again

/** Saves groups and levels of a version, and says truly whether they are saved. */
export class Saving {
  /**
   * @param save function of {revision, groups, levels} that returns a promise of {revision}
   * @param mix function that returns {groups, levels} as they are now
   * @param adopt function to call with {groups, levels} that someone else saved
   * @param changed function to call when the status is another one
   */
  constructor(revision, { save, mix, adopt, changed }) {
    Object.assign(this, { revision, save, mix, adopt, changed });
    this.dirty = false; // whether something changed since it was last sent
    this.sending = false;
    this.reason = ""; // why it is not saved
    this.latest = null; // what the server said last
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
    this.changed();
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
      const answer = await this.save({ revision: this.revision, ...this.mix() });
      Object.assign(this, { revision: answer.revision, reason: "" });
    } catch (error) {
      if (error.status === 409 && error.answer?.groups) this.giveWay(error.answer);
      else this.fail(error);
    }
    this.sending = false;
    if (this.dirty && !this.reason) this.wait(SOON);
    if (this.latest) this.hear(this.latest);
    this.changed();
  }

  /** Someone else saved meanwhile: theirs is shown. */
  giveWay({ revision, groups, levels }) {
    // the answer is newer than what was heard last
    Object.assign(this, { revision, dirty: false, reason: "", latest: null });
    this.adopt({ groups, levels }, true);
  }

  fail(error) {
    this.dirty = true;
    this.reason = error.message;
    if (!error.status || error.status >= 500) this.wait(AGAIN);
  }

  /** What the server says about the version: another tab may have changed it. */
  hear(version) {
    this.latest = version;
    if (this.dirty || this.sending || version.revision <= this.revision) return;
    this.revision = version.revision;
    this.adopt({ groups: version.groups, levels: version.levels }, false);
  }
}
