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

let closeMenu = () => {}; // the one that is open

/**
 * Open a small menu beside an element.
 *
 * @param anchor what was clicked; it gets the focus back
 * @param label what the menu is for
 * @param items {text, act, hue}: what to show, what to do, a colour
 */
export function openMenu(anchor, label, items) {
  closeMenu();
  const menu = make("div", { class: "menu", role: "menu", "aria-label": label });
  const outside = (event) => { if (!menu.contains(event.target)) closeMenu(); };
  closeMenu = () => {
    menu.remove();
    document.removeEventListener("pointerdown", outside, true);
    closeMenu = () => {};
  };
  const leave = () => {
    closeMenu();
    anchor.focus({ preventScroll: true });
  };
  for (const { text, act, hue } of items) {
    const dot = make("span", { class: "dot" });
    if (hue !== undefined) dot.style.setProperty("--hue", hue);
    dot.hidden = hue === undefined;
    const choose = () => { leave(); act(); };
    const attributes = { type: "button", role: "menuitem", tabindex: -1, on: { click: choose } };
    menu.append(make("button", attributes, dot, make("span", { text })));
  }
  menu.addEventListener("keydown", (event) => {
    const all = findAll("button", menu);
    const i = all.indexOf(document.activeElement);
    const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) all[(to + all.length) % all.length].focus();
    if (event.key === "Escape" || event.key === "Tab") leave();
    event.stopPropagation(); // the keys of the player are not meant
    if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
  });
  document.body.append(menu);
  place(menu, anchor.getBoundingClientRect());
  document.addEventListener("pointerdown", outside, true);
  find("button", menu).focus({ preventScroll: true });
}

/** Below the anchor, or above where there is no room. */
function place(menu, { left, top, bottom }) {
  const { width, height } = menu.getBoundingClientRect();
  const down = bottom + 4 + height <= window.innerHeight;
  menu.style.left = `${Math.max(8, Math.min(left, window.innerWidth - width - 8))}px`;
  menu.style.top = `${Math.max(8, down ? bottom + 4 : top - 4 - height)}px`;
}
