import { button, find, findAll, make } from "./dom.js";

/** What comes and goes above the page: sentences at its lower edge, and small menus. */

/**
 * Say something in a sentence, until it is dismissed.
 *
 * @param text the sentence
 * @param options `name`: a notice with the same name is replaced; `kind`: "error" or "info";
 *   `label` and `act`: a button
 */
export function notice(text, { name = text, kind = "error", label, act } = {}) {
  dismiss(name);
  const role = kind === "error" ? "alert" : "status";
  const element = make("div", { class: `notice ${kind}`, "data-notice": name, role });
  const close = () => element.remove();
  element.append(make("p", { text }));
  if (label) element.append(button(label, "accept", () => { close(); act(); }));
  element.append(button("×", "dismiss", close, { class: "quiet", "aria-label": "Dismiss" }));
  find(".notices").append(element);
}

export function dismiss(name) {
  for (const element of findAll(".notice")) {
    if (element.dataset.notice === name) element.remove();
  }
}

/**
 * Open a small menu beside an element, which gets the focus back.
 *
 * @param anchor what was clicked
 * @param label what the menu is for
 * @param items {text, act, hue}: what to show, what to do, a colour
 */
export function openMenu(anchor, label, items) {
  const menu = find("#menu");
  menu.ariaLabel = label;
  menu.replaceChildren(...items.map((item) => menuItem(menu, item)));
  anchor.focus({ preventScroll: true });
  menu.showPopover();
  const { left, top, bottom } = anchor.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const below = bottom + 4 + height <= window.innerHeight;
  menu.style.left = `${Math.max(8, Math.min(left, window.innerWidth - width - 8))}px`;
  menu.style.top = `${Math.max(8, below ? bottom + 4 : top - 4 - height)}px`;
  menu.firstElementChild.focus({ preventScroll: true });
}

function menuItem(menu, { text, act, hue }) {
  const dot = make("span", { class: "dot" });
  dot.style.setProperty("--hue", hue);
  dot.hidden = hue === undefined;
  const choose = () => {
    menu.hidePopover();
    act();
  };
  const attributes = { type: "button", role: "menuitem", tabindex: -1, on: { click: choose } };
  return make("button", attributes, dot, make("span", { text }));
}

find("#menu").addEventListener("keydown", (event) => {
  const menu = event.currentTarget;
  const all = [...menu.children];
  const i = all.indexOf(document.activeElement);
  const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to !== undefined) all[(to + all.length) % all.length].focus();
  if (event.key === "Tab") menu.hidePopover();
  if (to !== undefined || event.key === "Tab") event.preventDefault();
});
