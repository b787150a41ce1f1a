import { button, find, make } from "./dom.js";

/**
 * Say something in a sentence, until it is dismissed.
 *
 * @param text the sentence
 * @param options `name`: a notice with the same name is replaced; `kind`: "error" or "info";
 *   `label` and `act`: a button
 */
export function notice(text, { name = text, kind = "error", label, act } = {}) {
  dismiss(name);
  const element = make("div", { class: `notice ${kind}`, "data-notice": name, role: kind === "error" ? "alert" : "status" });
  element.append(make("p", { text }));
  if (label) element.append(button(label, "accept", () => { element.remove(); act(); }));
  element.append(button("×", "dismiss", () => element.remove(), { class: "quiet", "aria-label": "Dismiss" }));
  find(".notices").append(element);
}

export function dismiss(name) {
  for (const element of find(".notices").children) {
    if (element.dataset.notice === name) element.remove();
  }
}
