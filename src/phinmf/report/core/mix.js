/** What is heard of each component: levels, mutes and solos. Components are counted from 1. */

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
 * The levels of all components, what they were before, and which components are heard: buttons,
 * keys and faders call it.
 */
export class Mix {
  /**
   * @param value {levels}: replaced as a whole at each change, so that it can be undone
   * @param changed function to call when anything changes
   * @param listening {original}: whether the original is heard instead of the components
   */
  constructor(value, changed, listening) {
    Object.assign(this, { value, changed, listening, solos: new Set() });
    this.past = []; // values that undo brings back
    this.future = []; // and redo
    this.gesture = null; // changes with the same name are one step, until something else happens
  }

  get levels() { return this.value.levels; }

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

  /** All faders to 0 dB and the centre, nothing muted, nothing soloed. */
  reset() {
    this.solos.clear();
    this.listening.original = false;
    this.change({ levels: flat(this.levels.length) });
  }
}
