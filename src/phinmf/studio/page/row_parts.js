import { button, make } from "./dom.js";
import { LOUDEST, QUIETEST } from "./levels.js";

/** The elements of a row; what they do is given as functions. */

/** A fader; a double click sets it to its middle. */
function fader(action, label, attributes, moved, ended) {
  const input = make("input", { type: "range", "data-action": action, "aria-label": label, value: 0, ...attributes });
  input.addEventListener("input", () => moved(Number(input.value)));
  input.addEventListener("change", ended);
  input.addEventListener("dblclick", () => { moved(0); ended(); });
  return input;
}

/** Solo, mute, gain, and for a component pan: what a component and a group have in common. */
export function controls(what, acts, withPan) {
  const solo = button("S", "solo", acts.solo, { "aria-label": `Solo ${what}`, title: "Solo", "aria-pressed": false });
  const mute = button("M", "mute", acts.mute, { "aria-label": `Mute ${what}`, title: "Mute", "aria-pressed": false });
  const range = { min: QUIETEST, max: LOUDEST, step: 0.5 };
  const gain = fader("gain", `Gain of ${what}`, { ...range, title: "Gain" }, acts.gain, acts.ended);
  const output = make("output", { class: "decibels" });
  const parts = [solo, mute, gain, output];
  if (withPan) {
    const pan = fader("pan", `Pan of ${what}`, { min: -1, max: 1, step: 0.05, title: "Pan" }, acts.pan, acts.ended);
    pan.className = "pan";
    parts.push(pan);
  }
  return parts;
}

export const meter = () => make("span", { class: "meter", "aria-hidden": "true" }, make("i"));

export const lane = () => make("div", { class: "lane" }, make("canvas", { "aria-hidden": "true" }));

function row(attributes, side) {
  return make(
    "li", { tabindex: -1, ...attributes },
    make("div", { class: "side" }, ...side, meter()), lane(),
  );
}

export function originalRow(listen) {
  return row({ class: "row original", "data-original": "", "aria-label": "The original" }, [
    make("span", { class: "name", text: "Original" }),
    button("Listen", "original", listen, { "aria-pressed": false, title: "The recording instead of its components (O)" }),
  ]);
}

export function componentRow(number, facts, acts) {
  const what = `component ${number}`;
  const handle = button("", "move", acts.menu, {
    class: "handle", "aria-label": `Move ${what} to a group`, "aria-haspopup": "menu", title: "Drag to a group",
  });
  const check = make("input", { type: "checkbox", "data-action": "select", "aria-label": `Select ${what}` });
  check.addEventListener("click", (event) => { acts.select(check.checked, event.shiftKey); if (event.detail) check.blur(); });
  const about = make("span", { class: "facts" }, ...facts.map((text) => make("span", { text })));
  return row({ class: "row", "data-component": number, "aria-label": `Component ${number}, ${facts.join(", ")}` }, [
    handle, make("label", { class: "pick" }, check, make("span", { class: "number", text: number }), about),
    ...controls(what, acts, true),
  ]);
}

export function groupRow(name, acts) {
  const what = `group ${name}`;
  const fold = button("", "fold", acts.fold, { class: "fold", "aria-label": `Show the components of ${what}` });
  const swatch = button("", "colour", acts.colour, {
    class: "swatch", "aria-label": `Colour of ${what}`, "aria-haspopup": "menu", title: "Colour",
  });
  const title = make("input", {
    type: "text", class: "title", "data-action": "name", "aria-label": "Name of the group", value: name,
    spellcheck: "false", autocomplete: "off", maxlength: 80,
  });
  const rename = () => acts.rename(title);
  title.addEventListener("change", rename);
  title.addEventListener("blur", () => acts.leaveName(title));
  title.addEventListener("focus", () => title.select());
  title.addEventListener("keydown", (event) => {
    if (event.key === "Escape") title.value = name;
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.stopPropagation();
    if (acts.rename(title)) title.closest(".row").focus();
  });
  return row({ class: "row group", "data-group": name, "aria-label": `Group ${name}` }, [
    fold, swatch, title, ...controls(what, acts, false),
    button("", "ungroup", acts.ungroup, { class: "ungroup", "aria-label": `Ungroup ${name}`, title: "Ungroup (U)" }),
  ]);
}

/** The place to drop components to make a group of them. */
export function newGroupRow(make_) {
  return make("li", { class: "row target", "data-drop": "new" },
    button("New group", "new-group", make_, { title: "Of the selected components (G)" }),
    make("span", { class: "hint", text: "Drag components here by their handles, or select some and press G." }));
}

/** The heading of components that are in no group, and the place to take them out of one. */
export function restRow() {
  return make("li", { class: "row heading", "data-drop": "rest" }, make("span", { text: "In no group" }));
}
