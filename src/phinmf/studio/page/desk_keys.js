import { find } from "./dom.js";
import { groupOf } from "./groups.js";

const STEP = 5; // seconds
const SMALL_STEP = 0.5;

/** What each key does with the take that is shown; keys.js says when it does. */
export function deskKeys(desk) {
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

  return {
    " ": shown(() => player.toggle()),
    ArrowLeft: shown(() => desk.seekBy(-STEP)),
    ArrowRight: shown(() => desk.seekBy(STEP)),
    "Shift ArrowLeft": shown(() => desk.seekBy(-SMALL_STEP)),
    "Shift ArrowRight": shown(() => desk.seekBy(SMALL_STEP)),
    Home: shown(() => desk.seek(0)),
    End: shown(() => desk.seek(player.take.length)),
    ArrowUp: shown(() => rows.moveFocus(-1)),
    ArrowDown: shown(() => rows.moveFocus(1)),
    digit: byNumber((mix, numbers) => mix.toggleSolo(numbers)),
    shiftDigit: byNumber((mix, numbers) => mix.toggleMute(numbers)),
    s: withRow((mix, numbers) => mix.toggleSolo(numbers)),
    m: withRow((mix, numbers) => mix.toggleMute(numbers)),
    ",": withRow((mix, numbers) => mix.addGain(numbers, -1)),
    ".": withRow((mix, numbers) => mix.addGain(numbers, 1)),
    "<": withRow((mix, numbers) => mix.addPan(numbers, -0.1)),
    ">": withRow((mix, numbers) => mix.addPan(numbers, 0.1)),
    x: withRow((mix, numbers) => mix.select(numbers, !numbers.every((n) => mix.selected.has(n)))),
    g: shown((mix) => {
      const row = rows.focused;
      desk.grouping.group(mix.selected.size ? [...mix.selected] : row?.component ? [row.component] : []);
    }),
    v: withRow((mix, numbers, row) => {
      const anchor = row?.component ? find(`[data-component="${row.component}"] .handle`) : find("[data-action=move-selected]");
      desk.grouping.moveMenu(anchor, row?.component ? desk.grouping.movedWith(row.component) : numbers);
    }),
    n: withGroup((mix, name) => rows.editName(name)),
    f: withGroup((mix, name) => { mix.toggleFold(name); rows.focus(rows.groups.get(name)); }),
    u: withGroup((mix, name) => mix.ungroup(name)),
    o: shown((mix) => mix.toggleOriginal()),
    l: shown(() => desk.toggleLoop()),
    "[": shown(() => desk.loopFrom()),
    "]": shown(() => desk.loopTo()),
    "+": shown(() => timeline.zoom(2)),
    "=": shown(() => timeline.zoom(2)),
    "-": shown(() => timeline.zoom(0.5)),
    a: shown(() => timeline.zoom(0)),
    z: shown((mix) => mix.undo()),
    Z: shown((mix) => mix.redo()),
    t: shown(() => desk.takes.next(1)),
    0: shown((mix) => mix.reset()),
    "?": () => find("dialog.keys").showModal(),
    Escape: shown(() => desk.clear()),
  };
}
