import { find } from "./dom.js";
import { groupOf } from "./groups.js";

const STEP = 5; // seconds
const SMALL_STEP = 0.5;

/** What each key does with the take that is shown; keys.js says when it does. */
export function deskKeys(desk) {
  const { actions, player, rows, timeline } = desk;
  const shown = (act) => () => { if (desk.current()) act(); };

  /** Do something with the components of the focused row, or with those that are selected. */
  const withRow = (act) => shown(() => {
    const mix = desk.current();
    const row = rows.focused;
    if (row?.original) return;
    const numbers = row ? mix.members(row) : [...mix.selected];
    if (numbers.length) act(numbers, row);
  });

  /** Do something with the group of the focused row. */
  const withGroup = (act) => shown(() => {
    const row = rows.focused;
    const name = row?.group ?? groupOf(desk.current().groups, row?.component)?.name;
    if (name !== undefined) act(name);
  });

  const byNumber = (act) => (number) => {
    if (number <= (desk.current()?.levels.length ?? 0)) act([number]);
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
    digit: byNumber((numbers) => actions.toggleSolo(numbers)),
    shiftDigit: byNumber((numbers) => actions.toggleMute(numbers)),
    s: withRow((numbers) => actions.toggleSolo(numbers)),
    m: withRow((numbers) => actions.toggleMute(numbers)),
    ",": withRow((numbers) => actions.addGain(numbers, -1)),
    ".": withRow((numbers) => actions.addGain(numbers, 1)),
    "<": withRow((numbers) => actions.addPan(numbers, -0.1)),
    ">": withRow((numbers) => actions.addPan(numbers, 0.1)),
    x: withRow((numbers) => {
      const { selected } = desk.current();
      actions.select(numbers, !numbers.every((n) => selected.has(n)));
    }),
    g: shown(() => {
      const mix = desk.current();
      const row = rows.focused;
      desk.grouping.group(mix.selected.size ? [...mix.selected] : row?.component ? [row.component] : []);
    }),
    v: withRow((numbers, row) => {
      const anchor = row?.component ? find(`[data-component="${row.component}"] .handle`) : find("[data-action=move-selected]");
      desk.grouping.moveMenu(anchor, row?.component ? desk.grouping.taken(row.component) : numbers);
    }),
    n: withGroup((name) => rows.editName(name)),
    f: withGroup((name) => { actions.toggleFold(name); rows.focus(rows.groups.get(name)); }),
    u: withGroup((name) => actions.ungroup(name)),
    o: shown(() => actions.toggleOriginal()),
    l: shown(() => desk.toggleLoop()),
    "[": shown(() => desk.loopFrom()),
    "]": shown(() => desk.loopTo()),
    "+": shown(() => timeline.zoom(2)),
    "=": shown(() => timeline.zoom(2)),
    "-": shown(() => timeline.zoom(0.5)),
    a: shown(() => timeline.zoom(0)),
    z: shown(() => actions.undo()),
    Z: shown(() => actions.redo()),
    t: shown(() => desk.takes.next(1)),
    0: shown(() => actions.reset()),
    "?": () => find("dialog.keys").showModal(),
    Escape: shown(() => desk.clear()),
  };
}
