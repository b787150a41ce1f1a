const MOST = 200; // steps

/** Values one after another, of which one is the present: undo and redo. */
export class History {
  constructor(value) {
    this.past = [];
    this.value = value;
    this.future = [];
    this.gesture = null; // changes with the same name are one step, until something else happens
  }

  /**
   * Go on to another value.
   *
   * @param value what is now
   * @param gesture name of a movement, such as a fader's: many small changes are one step
   */
  record(value, gesture = null) {
    if (gesture === null || gesture !== this.gesture) this.past = [...this.past, this.value].slice(-MOST);
    Object.assign(this, { value, gesture, future: [] });
  }

  /** The value from which a movement began. */
  before(gesture) {
    return gesture !== null && gesture === this.gesture ? this.past.at(-1) : this.value;
  }

  /** A movement is over: the next one is a step of its own. */
  endGesture() {
    this.gesture = null;
  }

  get canUndo() { return this.past.length > 0; }

  get canRedo() { return this.future.length > 0; }

  undo() {
    if (!this.canUndo) return false;
    this.future.push(this.value);
    this.value = this.past.pop();
    this.gesture = null;
    return true;
  }

  redo() {
    if (!this.canRedo) return false;
    this.past.push(this.value);
    this.value = this.future.pop();
    this.gesture = null;
    return true;
  }
}
