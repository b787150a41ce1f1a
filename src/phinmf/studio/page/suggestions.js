import { find, onClick, setPressed, setText } from "./dom.js";
import { groupOf } from "./groups.js";
import { list } from "./words.js";

/** Components that come and go together: one suggestion at a time, to be taken or refused. */
export class Suggestions {
  /**
   * @param current function that returns the TakeMix that is shown
   * @param grouped function to call with the name of a group that was made
   */
  constructor(current, grouped) {
    this.element = find(".suggestion");
    this.current = current;
    this.numbers = [];
    onClick(find("[data-action=listen]", this.element), () => this.listen());
    onClick(find("[data-action=accept-suggestion]", this.element), () => grouped(current().group(this.numbers)));
    onClick(find("[data-action=refuse-suggestion]", this.element), () => this.refuse());
  }

  update(mix) {
    const open = (mix.take.suggestions ?? []).filter((numbers) => this.isOpen(mix, numbers));
    this.numbers = open[0] ?? [];
    this.element.hidden = !open.length;
    if (!open.length) return;
    setText(find("p", this.element), `Components ${list(this.numbers)} come and go together.`);
    setText(find("small", this.element), open.length > 1 ? `and ${open.length - 1} more` : "");
    setPressed(find("[data-action=listen]", this.element), this.heard(mix));
  }

  /** Whether it was neither refused nor decided by groups: all in one, or in several. */
  isOpen(mix, numbers) {
    const groups = numbers.map((n) => groupOf(mix.groups, n));
    const decided = groups.every(Boolean) || new Set(groups.filter(Boolean)).size > 1;
    return !decided && !isRefused(key(mix.take, numbers));
  }

  /** Hear these components alone, or all again. */
  listen() {
    this.current().soloOnly(this.heard(this.current()) ? [] : this.numbers);
  }

  heard({ solos }) {
    return this.numbers.every((n) => solos.has(n)) && solos.size === this.numbers.length;
  }

  refuse() {
    const mix = this.current();
    remember(key(mix.take, this.numbers));
    if (this.heard(mix)) this.listen();
    else mix.changed();
  }
}

const key = (take, numbers) => `phinmf refused ${take.key} ${numbers}`;

const refused = new Set(); // in this tab, where the browser keeps nothing

function remember(name) {
  refused.add(name);
  try { localStorage.setItem(name, "no"); } catch { /* storage is switched off */ }
}

function isRefused(name) {
  try { return refused.has(name) || localStorage.getItem(name) !== null; } catch { return false; }
}
