import { find, findAll, make } from "./dom.js";

let close = () => {}; // the menu that is open

/**
 * Open a small menu beside an element.
 *
 * @param anchor what was clicked; it gets the focus back
 * @param label what the menu is for
 * @param items {text, act, hue, current}: what to show, what to do, a colour, whether it is chosen
 */
export function openMenu(anchor, label, items) {
  close();
  const menu = make("div", { class: "menu", role: "menu", "aria-label": label });
  close = () => {
    menu.remove();
    document.removeEventListener("pointerdown", outside, true);
    close = () => {};
  };
  const outside = (event) => { if (!menu.contains(event.target)) close(); };
  const choose = (act) => { close(); anchor.focus({ preventScroll: true }); act(); };
  for (const { text, act, hue, current } of items) {
    const item = make("button", {
      type: "button", role: current === undefined ? "menuitem" : "menuitemradio", "aria-checked": current, tabindex: -1,
    });
    const dot = make("span", { class: "dot" });
    if (hue !== undefined) dot.style.setProperty("--hue", hue);
    item.append(dot, make("span", { text }));
    dot.hidden = hue === undefined;
    item.addEventListener("click", () => choose(act));
    menu.append(item);
  }
  menu.addEventListener("keydown", (event) => {
    const all = findAll("button", menu);
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) all[(to + all.length) % all.length].focus();
    if (event.key === "Escape" || event.key === "Tab") { close(); anchor.focus(); }
    event.stopPropagation(); // the keys of the player are not meant
    if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
  });
  document.body.append(menu);
  place(menu, anchor.getBoundingClientRect());
  document.addEventListener("pointerdown", outside, true);
  (find("[aria-checked=true]", menu) ?? find("button", menu)).focus({ preventScroll: true });
}

/** Below the anchor, or above where there is no room. */
function place(menu, { left, top, bottom }) {
  const { width, height } = menu.getBoundingClientRect();
  const down = bottom + 4 + height <= window.innerHeight;
  menu.style.left = `${Math.max(8, Math.min(left, window.innerWidth - width - 8))}px`;
  menu.style.top = `${Math.max(8, down ? bottom + 4 : top - 4 - height)}px`;
}
