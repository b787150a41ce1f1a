/** Small helpers to make and find elements. Text from files is set as text, never as HTML. */

export const find = (selector, within = document) => within.querySelector(selector);

export const findAll = (selector, within = document) => [...within.querySelectorAll(selector)];

/**
 * Make an element.
 *
 * @param tag name of the element
 * @param attributes `text` is its text, `on` an object of listeners, the others are attributes
 * @param children elements
 */
export function make(tag, { text, on = {}, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value);
  }
  if (text !== undefined) element.textContent = text;
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  element.append(...children);
  return element;
}

export function button(text, action, act, attributes = {}) {
  const on = { click: act };
  return make("button", { type: "button", text, "data-action": action, on, ...attributes });
}

/** Set the text only if it is another one, so that screen readers are not disturbed. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setPressed(element, pressed) {
  element.setAttribute("aria-pressed", Boolean(pressed));
}

/** Scroll a line of elements so that one of them is in its middle. */
export function reveal(scroller, element) {
  if (!element) return;
  const [line, box] = [scroller.getBoundingClientRect(), element.getBoundingClientRect()];
  scroller.scrollLeft += box.left + box.width / 2 - line.left - line.width / 2;
}

/** Give an element these children in this order; what has the focus keeps it. */
export function arrange(parent, children) {
  const focused = document.activeElement;
  children.forEach((child, i) => {
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
  const lost = focused !== document.activeElement && parent.contains(focused);
  if (lost) focused.focus({ preventScroll: true });
}

/**
 * The element of each item: those that are in the map already stay, with their focus.
 *
 * @param elements Map by key; what is no longer needed is removed from it
 * @param items iterable of [key, item]
 * @param create function that returns the element of an item
 */
export function elementsOf(elements, items, create) {
  const byKey = new Map(items);
  for (const key of elements.keys()) if (!byKey.has(key)) elements.delete(key);
  for (const [key, item] of byKey) if (!elements.has(key)) elements.set(key, create(item));
  return [...byKey.keys()].map((key) => elements.get(key));
}
