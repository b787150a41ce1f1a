import { enableDragging } from "./dragging.js";
import { COLOURS, groupOf, hue, named } from "./groups.js";
import { openMenu } from "./menu.js";
import { notice } from "./notices.js";
import { count } from "./words.js";

/** How components are put together on the desk: selected, dragged, moved by menus, named. */
export class Grouping {
  /** @param desk whose rows and actions these are */
  constructor(desk) {
    this.desk = desk;
    this.lastPicked = null; // the component that was selected last
  }

  enableDragging(list) {
    enableDragging(list, (number) => this.movedWith(number), (numbers, target) => this.drop(numbers, target));
  }

  /** What the controls of a row do. */
  rowActs(row) {
    const mix = () => this.desk.current();
    const members = () => mix().members(row);
    const id = JSON.stringify(row);
    return {
      solo: () => mix().toggleSolo(members()),
      mute: () => mix().toggleMute(members()),
      gain: (decibels) => mix().setGain(members(), decibels, `gain ${id}`),
      pan: (pan) => mix().setPan(members(), pan, `pan ${id}`),
      ended: () => mix().history.endGesture(),
      menu: (event) => this.moveMenu(event.currentTarget, this.movedWith(row.component)),
      select: (selected, range) => this.pick(row.component, selected, range),
      fold: () => mix().toggleFold(row.group),
      colour: (event) => this.colourMenu(event.currentTarget, row.group),
      ungroup: () => mix().ungroup(row.group),
      rename: (input) => this.rename(row.group, input),
      leaveName: (input) => this.leaveName(row.group, input),
    };
  }

  /** Select a component, or with Shift all rows from the one that was selected before. */
  pick(number, selected, range) {
    const rows = this.desk.rows.all.map((row) => Number(row.dataset.component)).filter(Boolean);
    const [a, b] = [rows.indexOf(this.lastPicked), rows.indexOf(number)].sort((x, y) => x - y);
    this.desk.current().select(range && a >= 0 ? rows.slice(a, b + 1) : [number], selected);
    this.lastPicked = number;
  }

  /** The components that move together: those that are selected, if this one is. */
  movedWith(number) {
    const { selected } = this.desk.current();
    return selected.has(number) ? [...selected] : [number];
  }

  group(numbers = [...this.desk.current().selected]) {
    const name = this.desk.current().group(numbers);
    if (name) this.desk.rows.editName(name);
  }

  drop(numbers, { group, drop, component }) {
    if (group !== undefined) this.desk.current().move(numbers, group);
    else if (drop === "new") this.group(numbers);
    else if (drop === "rest") this.desk.current().move(numbers, null);
    else this.dropOn(numbers, Number(component));
  }

  /** On a component of a group: into that group. On another one: a new group of both. */
  dropOn(numbers, component) {
    const group = groupOf(this.desk.current().groups, component);
    if (group) this.desk.current().move(numbers, group.name);
    else this.group([...numbers, component]);
  }

  moveMenu(anchor, numbers) {
    if (!numbers.length) return;
    const { groups } = this.desk.current();
    const what = numbers.length > 1 ? count(numbers.length, "component") : `component ${numbers[0]}`;
    openMenu(anchor, `Move ${what}`, [
      ...groups.map(({ name, colour }) => ({ text: name, hue: hue(colour), act: () => this.desk.current().move(numbers, name) })),
      { text: "New group", act: () => this.group(numbers) },
      ...(groups.length ? [{ text: "No group", act: () => this.desk.current().move(numbers, null) }] : []),
    ]);
  }

  colourMenu(anchor, name) {
    const { colour } = named(this.desk.current().groups, name);
    openMenu(anchor, `Colour of group ${name}`, COLOURS.map((text, i) => (
      { text, hue: hue(i), current: i === colour, act: () => this.desk.current().recolour(name, i) }
    )));
  }

  /** Take a name from its field; return whether it is one. */
  rename(name, input) {
    if (!named(this.desk.current().groups, name)) return true; // it was renamed or undone meanwhile
    const to = input.value.trim();
    const problem = this.desk.current().rename(name, input.value);
    input.setCustomValidity(problem);
    if (problem) input.reportValidity();
    else if (to !== name) this.desk.rows.focus(this.desk.rows.groups.get(to));
    return !problem;
  }

  /** Show the name that is stored instead of one that was refused. */
  leaveName(name, input) {
    if (input.validity.valid) return;
    notice(`${input.validationMessage} The group is still called “${name}”.`, { name: "name" });
    input.value = name;
    input.setCustomValidity("");
  }
}
