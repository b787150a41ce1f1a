import { find, setText } from "./dom.js";
import { groupGain, QUIETEST } from "./mix.js";
import { clock, decibels } from "./words.js";

/** What the controls of both pages show, and which key does what. */

/** Show whether it plays, and where. */
export function showTransport(element, playing, seconds) {
  element.classList.toggle("playing", playing);
  find(".play", element).setAttribute("aria-label", playing ? "Pause" : "Play");
  setText(find(".now", element), clock(seconds));
}

/** Show a component or a group: its buttons are pressed if they are for all of it. */
export function showControls(row, numbers, mix) {
  row.classList.toggle("silent", mix.original || !numbers.some((number) => mix.sounds(number)));
  const show = (name, test) => {
    const pressed = numbers.filter(test).length;
    const state = pressed === numbers.length || (pressed > 0 && "mixed");
    find(`[data-action=${name}]`, row).setAttribute("aria-pressed", state);
  };
  show("solo", (number) => mix.solos.has(number));
  show("mute", (number) => mix.levels[number - 1].muted);
  const fader = find("[data-action=gain]", row);
  if (!fader) return;
  fader.value = groupGain(mix.levels, numbers);
  const words = decibels(Number(fader.value), QUIETEST);
  fader.setAttribute("aria-valuetext", `${words} dB`);
  setText(find("output", row), words);
}

const MOVES_ITSELF = /^(Arrow|Home|End|Page)/; // keys that a fader or a list uses

/**
 * @param acts functions by the name of a key; `digit` and `shiftDigit` are called with 1 to 9
 */
export function enableKeys(acts) {
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.defaultPrevented || event.altKey || find("dialog[open]")) return;
    const within = (selector) => target.closest?.(selector);
    if (within("input[type=text], input[type=number], select, textarea")) return;
    if (MOVES_ITSELF.test(key) && within("[type=range], [type=radio]")) return;
    if ([" ", "Enter"].includes(key) && within("button, a, summary, [type=checkbox]")) return;
    const act = actOf(event, acts);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function actOf({ key, code, ctrlKey, metaKey, shiftKey, repeat }, acts) {
  const letter = key.length === 1 ? key.toLowerCase() : key;
  if (letter === "z") return shiftKey ? acts.Z : acts.z;
  if (ctrlKey || metaKey) return letter === "y" ? acts.Z : undefined;
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(code)?.[1];
  const act = digit
    ? () => (shiftKey ? acts.shiftDigit : acts.digit)(Number(digit))
    : acts[shiftKey && MOVES_ITSELF.test(key) ? `Shift ${key}` : letter];
  const once = digit || [" ", "s", "m", "g", "o", "l"].includes(letter); // while it is held down
  return repeat && once ? () => {} : act;
}
