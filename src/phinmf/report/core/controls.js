import { find, make, setPressed, setText } from "./dom.js";
import { groupGain, QUIETEST } from "./mix.js";
import { clock, decibels } from "./words.js";

/** What the controls of both pages show, and which commands buttons and keys carry out. */

/** Show whether the version plays, and where. */
export function showTransport(element, { version, playing, position, loop }) {
  element.classList.toggle("playing", playing);
  find(".play", element).setAttribute("aria-label", playing ? "Pause" : "Play");
  setText(find(".now", element), clock(version.start + position / version.sample_rate));
  setText(find(".end", element), `/ ${clock(version.start + version.seconds)}`);
  setPressed(find("[data-action=loop]", element), loop);
}

/** Show what can be undone, and whether the original is heard. */
export function showMix(element, mix) {
  find("[data-action=undo]", element).disabled = !mix.past.length;
  find("[data-action=redo]", element).disabled = !mix.future.length;
  setPressed(find(".transport [data-action=original]", element), mix.original);
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

/**
 * Let the faders of all rows act; a movement is one step to undo, a double click puts one back.
 *
 * @param list of the rows, which come and go
 * @param mixOf function that returns the mix
 * @param numbersOf function of a fader that returns the components that it is for
 */
export function enableFaders(list, mixOf, numbersOf) {
  const on = (type, act) => list.addEventListener(type, ({ target }) => {
    if (target.matches("[type=range]")) act(target);
  });
  const move = (fader) => {
    const [numbers, value, { action }] = [numbersOf(fader), Number(fader.value), fader.dataset];
    const gesture = `${action} ${numbers}`;
    if (action === "pan") mixOf().setPan(numbers, value, gesture);
    else mixOf().setGain(numbers, value, gesture);
  };
  on("input", move);
  on("change", () => mixOf().endGesture());
  on("dblclick", (fader) => {
    fader.value = 0;
    move(fader);
    mixOf().endGesture();
  });
}

// ---- buttons and keys --------------------------------------------------------------------------

const MOVES_ITSELF = /^(Arrow|Home|End|Page)/; // keys that a fader or a list uses
const ONCE = /^((Shift )?digit|[ smgol])$/; // keys that do nothing more while they are held down

/**
 * Let buttons and keys act.
 *
 * @param commands functions by name, called with a row and, if it was one, the button, whose
 *   data-action is that name
 * @param keys a list of [how the keys are called, what they do, names of commands by key]
 * @param rowOf function of an element that returns what its row stands for, {component} or others;
 *   null if no command can be carried out yet
 */
export function enableCommands(commands, keys, rowOf) {
  document.addEventListener("click", ({ target, detail }) => {
    const control = target.closest("[data-action]");
    commands[control?.dataset.action]?.(rowOf(control), control);
    // After a click with the mouse the space bar plays again.
    if (detail) target.closest("button, [type=checkbox]")?.blur();
  });
  const names = Object.assign({}, ...keys.map(([, , names]) => names));
  document.addEventListener("keydown", (event) => {
    const name = nameOf(event);
    const command = commands[names[name]];
    if (!command || event.defaultPrevented || event.altKey || isMeantFor(event)) return;
    const row = name.endsWith("digit") ? { component: digitOf(event) } : rowOf(event.target);
    if (!row) return;
    event.preventDefault();
    if (!(event.repeat && ONCE.test(name))) command(row);
  });
}

/** Fill a list with what the keys do. */
export function listKeys(list, keys) {
  const boxes = (names) => names.split(" ").flatMap((name) => [make("kbd", { text: name }), " "]);
  list.append(...keys.map(([names, words]) => (
    make("div", {}, make("dt", {}, ...boxes(names)), make("dd", { text: words })))));
}

/** Whether a key is meant for the element that has the focus, or for what is open above the page. */
function isMeantFor({ key, target }) {
  const within = (selector) => target.closest?.(selector);
  return find(":popover-open")
    || within("input[type=text], input[type=number], select, textarea")
    || (MOVES_ITSELF.test(key) && within("[type=range]"))
    || ([" ", "Enter"].includes(key) && within("button, a, summary, [type=checkbox]"));
}

const digitOf = ({ code }) => Number(/^(?:Digit|Numpad)([1-9])$/.exec(code)?.[1]);

/** The name of a key: "digit", "ArrowLeft", "Shift ArrowLeft"; of a character without Shift. */
function nameOf(event) {
  const { key, ctrlKey, metaKey, shiftKey } = event;
  const letter = key.length === 1 ? key.toLowerCase() : key;
  const undoes = letter === "z";
  if ((ctrlKey || metaKey) && !undoes) return letter === "y" ? "Shift z" : "";
  const name = digitOf(event) ? "digit" : letter;
  const shifted = shiftKey && (name === "digit" || undoes || MOVES_ITSELF.test(key));
  return shifted ? `Shift ${name}` : name;
}
