import { groupOf } from "./groups.js";
import { player } from "./player.js";
import { rows } from "./rows.js";
import { current } from "./store.js";
import { timeline } from "./timeline.js";

/** What can be done on the desk of both pages: buttons and keys name a command. */

/** Keys, what they do in words, and names of commands by key. */
export const DESK_KEYS = [
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
  ["F", "fold the group", { f: "fold" }],
  ["O", "original, components", { o: "original" }],
  ["L", "loop what is shown, or as last time", { l: "loop" }],
  ["+ − A", "zoom in, out, show all", {
    "+": "zoom-in", "=": "zoom-in", "-": "zoom-out", a: "zoom-all",
  }],
  ["Z", "undo; with Shift redo", { z: "undo", "Shift z": "redo" }],
  ["0", "reset levels", { 0: "reset" }],
  ["Esc", "end the loop, clear selection and solo", { Escape: "clear" }],
];

// A command gets what a row stands for: {component}, {group}, or neither: then what is selected is
// meant; and the button, if it was one.

export const numbersOf = (row) => {
  const numbers = (row.component ?? row.group) === undefined
    ? current().selected : current().members(row);
  return [...numbers].filter((number) => number <= current().levels.length);
};

/** A command for components; without any it does nothing. */
export const components = (act) => (row) => {
  const numbers = numbersOf(row);
  if (numbers.length) act(current(), numbers);
};

/** A command for a group: that of the row, or of the component in it. */
export const ofGroup = (act) => ({ component, group: own }, button) => {
  const name = own ?? groupOf(current().groups, component)?.name;
  if (name !== undefined) act(current(), name, button);
};

const seek = (sample) => {
  player.seek(sample);
  timeline.follow();
};

const seekBy = (seconds) => () => seek(player.position + seconds * player.version.sample_rate);

let lastLoop = null; // with the version that it belongs to

/** End the loop; or loop as last time, or what is shown. */
function toggleLoop() {
  const { loop, version } = player;
  if (loop) {
    lastLoop = { ...loop, folder: version.folder };
    player.setLoop();
  } else if (lastLoop?.folder === version.folder) player.setLoop(lastLoop.start, lastLoop.end);
  else player.setLoop(timeline.view.from, timeline.view.to);
}

export const deskCommands = {
  play: () => player.toggle(),
  original: () => current().hearOriginal(),
  back: seekBy(-5),
  on: seekBy(5),
  "back-little": seekBy(-0.5),
  "on-little": seekBy(0.5),
  start: () => seek(0),
  end: () => seek(player.version.length),
  loop: toggleLoop,
  "zoom-in": () => timeline.zoom(2),
  "zoom-out": () => timeline.zoom(0.5),
  "zoom-all": () => timeline.zoom(0),

  "row-above": () => rows.moveFocus(-1),
  "row-below": () => rows.moveFocus(1),
  solo: components((mix, numbers) => mix.toggleSolo(numbers)),
  mute: components((mix, numbers) => mix.toggleMute(numbers)),
  softer: components((mix, numbers) => mix.addGain(numbers, -1)),
  louder: components((mix, numbers) => mix.addGain(numbers, 1)),
  reset: () => current().reset(),
  undo: () => current().undo(),
  redo: () => current().redo(),
  clear: () => {
    if (player.loop) toggleLoop();
    else if (current().selected.size) current().clearSelection();
    else current().soloOnly([]);
  },

  fold: ofGroup((mix, name, button) => {
    mix.toggleFold(name);
    if (!button) rows.focus(rows.groups.get(name)); // the row with the focus may be gone
  }),
};
