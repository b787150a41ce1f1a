import { components, DESK_KEYS, deskCommands, numbersOf, ofGroup } from "./commands.js";
import { enableCommands, listKeys } from "./controls.js";
import { find } from "./dom.js";
import { alikeMenu, group, moveMenu } from "./grouping.js";
import { rows } from "./rows.js";
import { current, recordingOf, show, store } from "./store.js";

/** What only the studio can do: groups, places between left and right, versions. */

const KEYS = [
  ...DESK_KEYS,
  ["< >", "pan left, right", { "<": "left", ">": "right" }],
  ["X", "select the row", { x: "select" }],
  ["G", "group the selection, or the row", { g: "group" }],
  ["N U", "name, ungroup the group", { n: "name", u: "ungroup" }],
  ["V", "move to another group", { v: "move" }],
  ["K", "group all that are alike", { k: "alike" }],
  ["T", "the next version, at the same moment", { t: "next-version" }],
  ["?", "this list", { "?": "keys" }],
];

const commands = {
  ...deskCommands,
  keys: () => find("#keys").showPopover(),
  "next-version": () => {
    const { versions } = recordingOf(store.shown);
    const i = versions.findIndex(({ folder }) => folder === store.shown);
    show(versions[(i + 1) % versions.length].folder);
  },
  left: components((mix, numbers) => mix.addPan(numbers, -0.1)),
  right: components((mix, numbers) => mix.addPan(numbers, 0.1)),
  select: components((mix, numbers) => mix.toggleSelected(numbers)),
  group: ({ component }) => {
    const { selected } = current();
    group(selected.size || !component ? [...selected] : [component]);
  },
  move: (row, button) => {
    const { component } = row;
    const numbers = component ? current().movedWith(component) : numbersOf(row);
    const handle = find(`[data-component="${component}"] .handle`);
    moveMenu(button ?? handle ?? find(".tools [data-action=move]"), numbers);
  },
  alike: (row, button) => alikeMenu(button ?? find("[data-action=alike]")),
  name: ofGroup((mix, name) => rows.editName(name)),
  ungroup: ofGroup((mix, name) => mix.ungroup(name)),
};

enableCommands(commands, KEYS, (element) => current() && rows.rowOf(element));
listKeys(find("#keys dl"), KEYS);
