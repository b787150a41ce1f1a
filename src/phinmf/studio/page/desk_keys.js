import { find, make, onClick } from "./dom.js";
import { groupOf } from "./groups.js";
import { enableKeys } from "./keys.js";

const STEP = 5; // seconds
const SMALL_STEP = 0.5;

/** Let keys act on the take that is shown, and list them in a dialog; keys.js says when they act. */
export function enableDeskKeys(desk) {
  const dialog = find("dialog.keys");
  const keys = deskKeys(desk, dialog);
  enableKeys(Object.assign({}, ...keys.map(([, , acts]) => acts)));
  const boxes = (names) => names.split(" ").flatMap((name) => [make("kbd", { text: name }), " "]);
  find("dl", dialog).append(...keys.map(([names, words]) => (
    make("div", {}, make("dt", {}, ...boxes(names)), make("dd", { text: words })))));
  onClick(find("[data-action=keys]"), () => dialog.showModal());
}

/** Names of keys, what they do in words, and the functions by the names that events have. */
function deskKeys(desk, dialog) {
  const { player, rows, timeline } = desk;
  const shown = (act) => () => { if (desk.current()) act(desk.current()); };

  /** Do something with the components of the focused row, or with those that are selected. */
  const withRow = (act) => shown((mix) => {
    const row = rows.focused;
    if (row?.original) return;
    const numbers = row ? mix.members(row) : [...mix.selected];
    if (numbers.length) act(mix, numbers, row);
  });

  /** Do something with the group of the focused row. */
  const withGroup = (act) => shown((mix) => {
    const row = rows.focused;
    const name = row?.group ?? groupOf(mix.groups, row?.component)?.name;
    if (name !== undefined) act(mix, name);
  });

  const byNumber = (act) => (number) => {
    const mix = desk.current();
    if (number <= (mix?.levels.length ?? 0)) act(mix, [number]);
  };

  return [
    ["Space", "play, pause", { " ": shown(() => player.toggle()) }],
    ["← →", "back, on; with Shift in small steps", {
      ArrowLeft: shown(() => desk.seekBy(-STEP)),
      ArrowRight: shown(() => desk.seekBy(STEP)),
      "Shift ArrowLeft": shown(() => desk.seekBy(-SMALL_STEP)),
      "Shift ArrowRight": shown(() => desk.seekBy(SMALL_STEP)),
    }],
    ["Home End", "to the start, to the end", {
      Home: shown(() => desk.seek(0)),
      End: shown(() => desk.seek(player.take.length)),
    }],
    ["1–9", "solo; with Shift mute", {
      digit: byNumber((mix, numbers) => mix.toggleSolo(numbers)),
      shiftDigit: byNumber((mix, numbers) => mix.toggleMute(numbers)),
    }],
    ["↑ ↓", "to another row", {
      ArrowUp: shown(() => rows.moveFocus(-1)),
      ArrowDown: shown(() => rows.moveFocus(1)),
    }],
    ["S M", "solo, mute the row", {
      s: withRow((mix, numbers) => mix.toggleSolo(numbers)),
      m: withRow((mix, numbers) => mix.toggleMute(numbers)),
    }],
    [", .", "softer, louder", {
      ",": withRow((mix, numbers) => mix.addGain(numbers, -1)),
      ".": withRow((mix, numbers) => mix.addGain(numbers, 1)),
    }],
    ["< >", "pan left, right", {
      "<": withRow((mix, numbers) => mix.addPan(numbers, -0.1)),
      ">": withRow((mix, numbers) => mix.addPan(numbers, 0.1)),
    }],
    ["X", "select the row", {
      x: withRow((mix, numbers) => mix.select(numbers, !numbers.every((n) => mix.selected.has(n)))),
    }],
    ["G", "group the selection, or the row", {
      g: shown((mix) => {
        const row = rows.focused;
        desk.grouping.group(mix.selected.size ? [...mix.selected] : row?.component ? [row.component] : []);
      }),
    }],
    ["N F U", "name, fold, ungroup the group", {
      n: withGroup((mix, name) => rows.editName(name)),
      f: withGroup((mix, name) => { mix.toggleFold(name); rows.focus(rows.groups.get(name)); }),
      u: withGroup((mix, name) => mix.ungroup(name)),
    }],
    ["V", "move to another group", {
      v: withRow((mix, numbers, row) => {
        const anchor = row?.component ? find(`[data-component="${row.component}"] .handle`) : find("[data-action=move-selected]");
        desk.grouping.moveMenu(anchor, row?.component ? desk.grouping.movedWith(row.component) : numbers);
      }),
    }],
    ["O", "original, components", { o: shown((mix) => mix.toggleOriginal()) }],
    ["L", "loop on, off", { l: shown(() => desk.toggleLoop()) }],
    ["[ ]", "loop from here, to here", { "[": shown(() => desk.loopFrom()), "]": shown(() => desk.loopTo()) }],
    ["+ − A", "zoom in, out, show all", {
      "+": shown(() => timeline.zoom(2)),
      "=": shown(() => timeline.zoom(2)),
      "-": shown(() => timeline.zoom(0.5)),
      a: shown(() => timeline.zoom(0)),
    }],
    ["Z", "undo; with Shift redo", { z: shown((mix) => mix.undo()), Z: shown((mix) => mix.redo()) }],
    ["T", "the next take, at the same moment", { t: shown(() => desk.takes.next(1)) }],
    ["0", "reset levels", { 0: shown((mix) => mix.reset()) }],
    ["Esc", "end the loop, clear selection and solo", { Escape: shown(() => desk.clear()) }],
    ["?", "this list", { "?": () => dialog.showModal() }],
  ];
}
