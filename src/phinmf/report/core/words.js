/** Numbers in words. */

/** 3:07.5; with `digits` 0 no tenths. */
export function clock(seconds, digits = 1) {
  const unit = 10 ** digits;
  const rounded = Math.round(seconds * unit) / unit;
  const minutes = Math.floor(rounded / 60);
  const rest = (rounded - 60 * minutes).toFixed(digits).padStart(digits ? 3 + digits : 2, "0");
  return `${minutes}:${rest}`;
}

/** With a capital letter and a full stop. */
export const sentence = (words) =>
  (words ? `${words[0].toUpperCase()}${words.slice(1).replace(/\.$/, "")}.` : "");

export const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

/** A gain to the nearest half; `quietest` is the end of the fader. */
export function decibels(value, quietest) {
  if (value <= quietest) return "silent";
  const rounded = Math.round(2 * value) / 2;
  return `${rounded > 0 ? "+" : ""}${rounded}`.replace("-", "−");
}

export function panWords(pan) {
  if (pan === 0) return "centre";
  return `${Math.round(100 * Math.abs(pan))} % ${pan < 0 ? "left" : "right"}`;
}

export function hertz(value) {
  if (value === null || value === undefined) return "silence";
  if (value < 1000) return `${Math.round(value)} Hz`;
  return `${(value / 1000).toFixed(value < 10000 ? 1 : 0)} kHz`;
}

export function percent(share) {
  const value = 100 * share;
  return value > 0 && value < 1 ? "< 1 %" : `${Math.round(value)} %`;
}
