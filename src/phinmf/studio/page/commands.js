import { enableCommands, listKeys } from "./controls.js";
import { find } from "./dom.js";
import { groupOf } from "./groups.js";

/** All that can be done with the version that is shown: buttons and keys name a command. */

/** Keys, what they do in words, and names of commands by key. */
const KEYS = [
  ["Space", "play, pause", { " ": "play" }],
  ["← →", "back, on; with Shift in small steps", {
    ArrowLeft: "back", ArrowRight: "on", "Shift ArrowLeft": "back-little",
    "Shift ArrowRight": "on-little",
  }],
  ["Home End", "to the start, to the end", { Home: "start", End: "end" }],
  ["1–9", "solo; with Shift mute", { digit: "solo", "Shift digit": "mute" }],
  ["↑ ↓", "to another row", { ArrowUp: "row-above", ArrowDown: "row-below" }],
  ["S M", "solo, mute the row", { s: "solo", m: "mute" }],
  [", .", "softer, louder", { ",": "softer", ".": "louder" }],
  ["< >", "pan left, right", { "<": "left", ">": "right" }],
  ["X", "select the row", { x: "select" }],
  ["G", "group the selection, or the row", { g: "group" }],
  ["N F U", "name, fold, ungroup the group", { n: "name", f: "fold", u: "ungroup" }],
  ["V", "move to another group", { v: "move" }],
  ["K", "group all that are alike", { k: "alike" }],
  ["O", "original, components", { o: "original" }],
  ["L", "loop on, off", { l: "loop" }],
  ["[ ]", "loop from here, to here", { "[": "loop-from", "]": "loop-to" }],
  ["+ − A", "zoom in, out, show all", {
    "+": "zoom-in", "=": "zoom-in", "-": "zoom-out", a: "zoom-all",
  }],
  ["Z", "undo; with Shift redo", { z: "undo", "Shift z": "redo" }],
  ["T", "the next version, at the same moment", { t: "next-version" }],
  ["0", "reset levels", { 0: "reset" }],
  ["Esc", "end the loop, clear selection and solo", { Escape: "clear" }],
  ["?", "this list", { "?": "keys" }],
];

/**
 * Let buttons and keys act on the version that is shown.
 *
 * A command gets what a row stands for: {component}, {group}, or neither: then what is selected is
 * meant.
 */
export function enableDesk(desk) {
  const { rows, current } = desk;
  enableCommands(commandsOf(desk), KEYS, (element) => current() && rows.rowOf(element));
  listKeys(find("#keys dl"), KEYS);
}

function commandsOf(desk) {
  const { player, rows, timeline, grouping, versions, current } = desk;

  const numbersOf = (row) => {
    const { selected } = current();
    const numbers = (row.component ?? row.group) === undefined ? selected : current().members(row);
    return [...numbers].filter((number) => number <= current().levels.length);
  };
  const components = (act) => (row) => {
    const numbers = numbersOf(row);
    if (numbers.length) act(current(), numbers);
  };
  const group = (act) => ({ component, group: own }, button) => {
    const name = own ?? groupOf(current().groups, component)?.name;
    if (name !== undefined) act(current(), name, button);
  };
  const seekBy = (seconds) => () => {
    desk.seek(player.position + seconds * player.version.sample_rate);
  };

  return {
    keys: () => find("#keys").showPopover(),
    "next-version": () => versions.next(),

    play: () => player.toggle(),
    original: () => current().hearOriginal(),
    back: seekBy(-5),
    on: seekBy(5),
    "back-little": seekBy(-0.5),
    "on-little": seekBy(0.5),
    start: () => desk.seek(0),
    end: () => desk.seek(player.version.length),
    loop: () => desk.toggleLoop(),
    "loop-from": () => desk.loopFrom(),
    "loop-to": () => desk.loopTo(),
    "zoom-in": () => timeline.zoom(2),
    "zoom-out": () => timeline.zoom(0.5),
    "zoom-all": () => timeline.zoom(0),

    "row-above": () => rows.moveFocus(-1),
    "row-below": () => rows.moveFocus(1),
    solo: components((mix, numbers) => mix.toggleSolo(numbers)),
    mute: components((mix, numbers) => mix.toggleMute(numbers)),
    softer: components((mix, numbers) => mix.addGain(numbers, -1)),
    louder: components((mix, numbers) => mix.addGain(numbers, 1)),
    left: components((mix, numbers) => mix.addPan(numbers, -0.1)),
    right: components((mix, numbers) => mix.addPan(numbers, 0.1)),
    reset: () => current().reset(),
    undo: () => current().undo(),
    redo: () => current().redo(),
    clear: () => desk.clear(),

    select: components((mix, numbers) => mix.toggleSelected(numbers)),
    group: ({ component }) => {
      const { selected } = current();
      grouping.group(selected.size || !component ? [...selected] : [component]);
    },
    move: (row, button) => {
      const { component } = row;
      const numbers = component ? current().movedWith(component) : numbersOf(row);
      const handle = find(`[data-component="${component}"] .handle`);
      grouping.moveMenu(button ?? handle ?? find(".tools [data-action=move]"), numbers);
    },
    name: group((mix, name) => rows.editName(name)),
    fold: group((mix, name, button) => {
      mix.toggleFold(name);
      if (!button) rows.focus(rows.groups.get(name)); // the row with the focus may be gone
    }),
    ungroup: group((mix, name) => mix.ungroup(name)),
    alike: (row, button) => grouping.alikeMenu(button ?? find("[data-action=alike]")),
  };
}
