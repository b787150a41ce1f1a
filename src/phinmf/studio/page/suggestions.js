import { find, onClick, setPressed, setText } from "./dom.js";
import { groupOf } from "./groups.js";
import { list } from "./words.js";

/** Components that come and go together: one suggestion at a time, to be taken or refused. */
export class Suggestions {
  /**
   * @param actions what can be done with a take
   * @param taken function to call with the name of a group that was made
   */
  constructor(actions, taken) {
    this.element = find(".suggestion");
    this.actions = actions;
    this.numbers = [];
    onClick(find("[data-action=listen]", this.element), () => actions.toggleSolo(this.numbers));
    onClick(find("[data-action=accept-suggestion]", this.element), () => taken(actions.group(this.numbers)));
    onClick(find("[data-action=refuse-suggestion]", this.element), () => this.refuse());
  }

  update(mix) {
    const open = (mix.take.suggestions ?? []).filter((numbers) => this.isOpen(mix, numbers));
    [this.numbers] = [open[0] ?? []];
    this.element.hidden = !open.length;
    if (!open.length) return;
    setText(find("p", this.element), `Components ${list(this.numbers)} come and go together.`);
    setText(find("small", this.element), open.length > 1 ? `and ${open.length - 1} more` : "");
    const heard = this.numbers.every((n) => mix.solos.has(n)) && mix.solos.size === this.numbers.length;
    setPressed(find("[data-action=listen]", this.element), heard);
  }

  /** Whether it was neither refused nor is true already. */
  isOpen(mix, numbers) {
    const group = groupOf(mix.groups, numbers[0]);
    const together = group && numbers.every((n) => group.components.includes(n));
    return !together && !localStorage.getItem(key(mix.take, numbers));
  }

  refuse() {
    const mix = this.actions.current();
    localStorage.setItem(key(mix.take, this.numbers), "no");
    for (const n of this.numbers) mix.solos.delete(n);
    this.actions.changed();
  }
}

const key = (take, numbers) => `phinmf refused ${take.key} ${numbers}`;
