import { findAll, make } from "./dom.js";

const STARTS = 5; // pixels after which a press is a drag
const EDGE = 40; // pixels from the edge of the window where it scrolls
const TARGETS = "[data-group], [data-drop], [data-component]";

/**
 * Let components be dragged by their handles to groups, with mouse, pen or finger.
 *
 * @param list the element with the rows
 * @param movedWith function of a component's number that returns the numbers that move with it
 * @param dropped function of the numbers and the dataset of the row on which they were dropped
 */
export function enableDragging(list, movedWith, dropped) {
  list.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest(".handle");
    if (!handle || event.button !== 0) return;
    follow(handle, event, movedWith(Number(handle.closest(".row").dataset.component)), dropped);
  });
}

function follow(handle, { pointerId, clientX, clientY }, numbers, dropped) {
  let ghost = null;
  let target = null;
  let scrolling = 0;
  handle.setPointerCapture(pointerId);

  const begin = () => {
    ghost = make("div", { class: "ghost", text: numbers.length > 1 ? `${numbers.length} components` : `Component ${numbers[0]}` });
    document.body.append(ghost);
    document.body.classList.add("dragging");
  };
  const point = (x, y) => {
    const row = document.elementFromPoint(x, y)?.closest?.(".row");
    const next = row?.matches(TARGETS) && !numbers.includes(Number(row.dataset.component)) ? row : null;
    if (next === target) return;
    target?.classList.remove("over");
    target = next;
    target?.classList.add("over");
  };
  const scroll = (x, y) => {
    cancelAnimationFrame(scrolling);
    const by = y < EDGE ? y - EDGE : Math.max(0, y - window.innerHeight + EDGE);
    if (!by || !ghost) return;
    window.scrollBy(0, by / 6);
    point(x, y);
    scrolling = requestAnimationFrame(() => scroll(x, y));
  };
  const move = ({ clientX: x, clientY: y }) => {
    if (!ghost && Math.hypot(x - clientX, y - clientY) > STARTS) begin();
    if (!ghost) return;
    ghost.style.transform = `translate(${x + 12}px, ${y + 8}px)`;
    point(x, y);
    scroll(x, y);
  };
  const end = (event) => {
    cancelAnimationFrame(scrolling);
    handle.removeEventListener("pointermove", move);
    for (const type of ["pointerup", "pointercancel"]) handle.removeEventListener(type, end);
    document.removeEventListener("keydown", stop, true);
    document.body.classList.remove("dragging");
    for (const row of findAll(".row.over")) row.classList.remove("over");
    if (!ghost) return;
    ghost.remove();
    handle.addEventListener("click", swallow, { capture: true, once: true }); // the drag was no click
    setTimeout(() => handle.removeEventListener("click", swallow, { capture: true }), 0);
    if (event.type === "pointerup" && target) dropped(numbers, { ...target.dataset });
  };
  const stop = (event) => { if (event.key === "Escape") { event.stopPropagation(); target = null; end(event); } };
  handle.addEventListener("pointermove", move);
  for (const type of ["pointerup", "pointercancel"]) handle.addEventListener(type, end);
  document.addEventListener("keydown", stop, true);
}

function swallow(event) {
  event.stopImmediatePropagation();
  event.preventDefault();
}
