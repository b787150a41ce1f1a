import { components, DESK_KEYS, deskCommands, numbersOf, ofGroup } from "./commands.js";
import { enableCommands, listKeys } from "./controls.js";
import { take } from "./desk.js";
import { find, findAll, make } from "./dom.js";
import { groupOf, hue } from "./groups.js";
import { pointing } from "./pointing.js";
import { openMenu } from "./popups.js";
import { rows } from "./rows.js";
import { current, recordingOf, show, store } from "./store.js";
import { count } from "./words.js";

/** What only the studio can do: groups, dragged or from a menu, places, versions. */

const STARTS = 5; // pixels after which a press is a drag
const TARGETS = "[data-group], [data-drop], [data-component]";

// ---- groups --------------------------------------------------------------------------------------

/** Make a group, whose name is written next. */
const group = (numbers) => rows.editName(current().group(numbers));

function moveMenu(anchor, numbers) {
  if (!numbers.length) return;
  const { groups } = current();
  const move = (name) => current().move(numbers, name);
  const [number] = numbers;
  const what = numbers.length > 1 ? count(numbers.length, "component") : `component ${number}`;
  const item = ({ name, colour }) => ({ text: name, hue: hue(colour), act: () => move(name) });
  openMenu(anchor, `Move ${what}`, [
    ...groups.map(item),
    { text: "New group", act: () => group(numbers) },
    ...(groups.length ? [{ text: "No group", act: () => move(null) }] : []),
  ]);
}

/** Put all components into as many groups of similar ones as are chosen. */
function alikeMenu(anchor) {
  const mix = current();
  openMenu(anchor, "Group what is alike", mix.version.alike.map((sets) => (
    { text: `${sets.length} groups`, act: () => mix.groupAll(sets) })));
}

// ---- dragging ----------------------------------------------------------------------------------

rows.list.addEventListener("pointerdown", (event) => {
  const handle = event.target.closest(".handle");
  if (!handle || event.button !== 0) return;
  const numbers = current().movedWith(rows.rowOf(handle).component);
  follow(handle, event, numbers, (target) => drop(numbers, target));
});

/** Put components where they were dropped: on a component in no group, both become one. */
function drop(numbers, target) {
  const mix = current();
  const component = Number(target.component);
  const name = target.group ?? groupOf(mix.groups, component)?.name;
  if (name !== undefined) mix.move(numbers, name);
  else if (target.drop === "rest") mix.move(numbers, null);
  else group(component ? [...numbers, component] : numbers);
}

/**
 * Follow a mouse, a pen or a finger that drags components.
 *
 * @param handle where it began
 * @param numbers of the components
 * @param dropped function of the dataset of the row on which they are dropped
 */
function follow(handle, { pointerId, clientX, clientY }, numbers, dropped) {
  const text = numbers.length > 1 ? `${numbers.length} components` : `Component ${numbers[0]}`;
  const ghost = make("div", { class: "ghost", text });
  const ended = new AbortController();
  let target = null;
  handle.setPointerCapture(pointerId);

  const point = (x, y) => {
    const row = document.elementFromPoint(x, y)?.closest?.(".row");
    const own = numbers.includes(Number(row?.dataset.component));
    target?.classList.remove("over");
    target = row?.matches(TARGETS) && !own ? row : null;
    target?.classList.add("over");
  };
  const move = ({ clientX: x, clientY: y }) => {
    if (!ghost.isConnected) {
      if (Math.hypot(x - clientX, y - clientY) <= STARTS) return;
      document.body.append(ghost);
      document.body.classList.add("dragging");
    }
    ghost.style.transform = `translate(${x + 12}px, ${y + 8}px)`;
    point(x, y);
  };
  const end = ({ type }) => {
    ended.abort();
    document.body.classList.remove("dragging");
    for (const row of findAll(".row.over")) row.classList.remove("over");
    if (!ghost.isConnected) return;
    ghost.remove();
    handle.addEventListener("click", swallow, { capture: true, once: true }); // it was no click
    setTimeout(() => handle.removeEventListener("click", swallow, { capture: true }), 0);
    if (type === "pointerup" && target) dropped({ ...target.dataset });
  };
  const { signal } = ended;
  handle.addEventListener("pointermove", move, { signal });
  for (const type of ["pointerup", "pointercancel"]) handle.addEventListener(type, end, { signal });
}

function swallow(event) {
  event.stopImmediatePropagation();
  event.preventDefault();
}

// ---- commands and their keys ---------------------------------------------------------------------

const KEYS = [
  ...DESK_KEYS,
  ["< >", "pan left, right", { "<": "left", ">": "right" }],
  ["X", "select the row", { x: "select" }],
  ["G", "group the selection, or the row", { g: "group" }],
  ["N U", "name, ungroup the group", { n: "name", u: "ungroup" }],
  ["V", "move to another group", { v: "move" }],
  ["K", "group all that are alike", { k: "alike" }],
  ["T", "the next version, at the same moment", { t: "next-version" }],
  ["H B", "hear what marks change; as it was before", { h: "hear", b: "before" }],
  ["Delete", "remove the mark", { Delete: "remove-mark", Backspace: "remove-mark" }],
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
    const handle = find(`[data-component="${component ?? numbers[0]}"] .handle`);
    moveMenu(button ?? handle ?? find(".tools [data-action=group]"), numbers);
  },
  alike: (row, button) => current().version.alike.length && alikeMenu(button ?? find("[data-action=alike]")),
  name: ofGroup((mix, name) => rows.editName(name)),
  ungroup: ofGroup((mix, name) => mix.ungroup(name)),
  "all-but": ofGroup((mix, name, button) => take(button, "groups", [name])),
  ...pointing.commands,
};

enableCommands(commands, KEYS, (element) => current() && rows.rowOf(element));
listKeys(find("#keys dl"), KEYS);
