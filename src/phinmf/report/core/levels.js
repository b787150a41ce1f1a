/** What is heard of each component: pure functions on levels, mutes and solos. */

export const QUIETEST = -60; // decibels: the lowest end of a fader is silence
export const LOUDEST = 12;

/** Gain as a factor. */
export function factor(decibels) {
  return decibels <= QUIETEST ? 0 : 10 ** (decibels / 20);
}

/** Factors of the left and the right channel: equal power, and exactly the gain in the centre. */
export function panned(gain, pan) {
  if (pan === 0) return [gain, gain];
  const angle = ((1 + pan) * Math.PI) / 4;
  return [gain * Math.SQRT2 * Math.cos(angle), gain * Math.SQRT2 * Math.sin(angle)];
}

/** Whether a component sounds. `solos` is a set of numbers; where it is empty, all sound. */
export function sounds(number, levels, solos) {
  return !levels[number - 1].muted && (solos.size === 0 || solos.has(number));
}

/** Left and right factors of the original, then of each component. */
export function gains(levels, solos, original) {
  const factors = [original ? 1 : 0, original ? 1 : 0];
  levels.forEach((level, i) => {
    const heard = !original && sounds(i + 1, levels, solos);
    factors.push(...panned(heard ? factor(level.gain_db) : 0, level.pan));
  });
  return factors;
}

/** The levels with solos as mutes: what is written when the mix is exported. */
export function resolved(levels, solos) {
  return levels.map((level, i) => ({ ...level, muted: !sounds(i + 1, levels, solos) }));
}

/** Solos after a click on the button of some components: all of them, or if all were, none. */
export function toggledSolos(solos, numbers) {
  const others = [...solos].filter((number) => !numbers.includes(number));
  return new Set(numbers.every((number) => solos.has(number)) ? others : [...others, ...numbers]);
}

/** Levels after a click on the button that mutes some components. */
export function toggledMutes(levels, numbers) {
  const muted = !numbers.every((number) => levels[number - 1].muted);
  return adjusted(levels, numbers, () => ({ muted }));
}

/** Change the levels of some components. */
export function adjusted(levels, numbers, change) {
  return levels.map((level, i) => (numbers.includes(i + 1) ? { ...level, ...change(level) } : level));
}

/** The gain that a group shows: the mean of its components. */
export function groupGain(levels, numbers) {
  return numbers.reduce((sum, number) => sum + levels[number - 1].gain_db, 0) / numbers.length;
}

export function clampGain(decibels) {
  return Math.min(LOUDEST, Math.max(QUIETEST, Math.round(2 * decibels) / 2));
}

export const flat = (count) => Array.from({ length: count }, () => ({ gain_db: 0, pan: 0, muted: false }));
