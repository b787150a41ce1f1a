import { arrange, find, findAll, make } from "./dom.js";
import { clock } from "./words.js";

const DRAG = 4; // pixels after which a press is a drag
const SURFACES = ".lane, .ruler";

/** Ruler, playhead, loop and scroll bar: where things are in time, and the pointer on them. */
export class Timeline {
  /**
   * @param element has the ruler, the scroll bar and the lanes in it
   * @param player whose position and loop are shown and set
   * @param redraw function to call when another part is shown
   */
  constructor(element, player, redraw) {
    Object.assign(this, { element, player, redraw, view: null, take: null, followAfter: 0 });
    this.ruler = find(".ruler", element);
    this.bar = find(".scrollbar", element);
    this.thumb = find("i", this.bar);
    this.heads = findAll(".head", element); // on the ruler and over the lanes
    this.loops = findAll(".loop", element);
    this.width = 0; // of the ruler and the lanes, in pixels
    this.pointers = new Map(); // those that are down: one drags a loop, two pinch
    element.addEventListener("pointerdown", (event) => this.press(event));
    element.addEventListener("pointermove", (event) => this.dragged(event));
    for (const type of ["pointerup", "pointercancel"]) element.addEventListener(type, (event) => this.release(event));
    element.addEventListener("wheel", (event) => this.turn(event), { passive: false });
    this.bar.addEventListener("pointerdown", (event) => this.dragBar(event));
    new ResizeObserver(() => this.update()).observe(this.ruler);
  }

  open(view, take) {
    Object.assign(this, { view, take });
    this.update();
  }

  // ---- what is shown -------------------------------------------------------------------------

  /** Another part is shown: draw everything again. */
  update() {
    if (!this.view) return;
    const { view, ruler, bar, thumb } = this;
    this.width = ruler.clientWidth;
    const { step, seconds } = view.ticks(this.width, this.take.start);
    const digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
    const numbers = seconds.map((second) => {
      const tick = make("span", { text: clock(second, digits) });
      tick.style.left = `${100 * view.share((second - this.take.start) * view.rate)}%`;
      return tick;
    });
    arrange(find(".ticks", ruler), numbers);
    bar.classList.toggle("needed", view.zoomed);
    bar.setAttribute("aria-valuenow", Math.round((100 * view.from) / Math.max(1, view.length - view.span)));
    thumb.style.left = `${(100 * view.from) / view.length}%`;
    thumb.style.width = `${(100 * view.span) / view.length}%`;
    this.showPosition();
    this.redraw();
  }

  /** Move the playhead and the loop; follow the playhead while it plays. */
  showPosition() {
    const { view, player } = this;
    if (!view || player.take?.key !== this.take.key) return; // another take is about to be shown
    if (player.playing && !this.pointers.size && performance.now() > this.followAfter && view.keepShown(player.position)) {
      this.update();
      return;
    }
    const at = `translateX(${(view.share(player.position) * this.width).toFixed(1)}px)`; // moves without layout
    for (const head of this.heads) head.style.transform = at;
    const { start, end } = player.loop ?? { start: 0, end: 0 };
    for (const loop of this.loops) {
      loop.hidden = !player.loop;
      loop.style.left = `${100 * view.share(start)}%`;
      loop.style.width = `${(100 * (end - start)) / view.span}%`;
    }
  }

  zoom(factor, at = this.player.position) {
    this.view.zoom(factor, at >= this.view.from && at <= this.view.to ? at : undefined);
    this.update();
  }

  scroll(samples) {
    if (!this.view.zoomed) return;
    this.followAfter = performance.now() + 2000; // leave the playhead alone while someone looks around
    this.view.scroll(samples);
    this.update();
  }

  // ---- the pointer ---------------------------------------------------------------------------

  sampleAt(x) {
    const { left, width } = this.ruler.getBoundingClientRect();
    return this.view.sample((x - left) / width);
  }

  press(event) {
    const surface = event.target.closest?.(SURFACES);
    if (!surface || event.button !== 0 || !this.view) return;
    surface.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { surface, x: event.clientX, first: event.clientX, looping: false });
  }

  dragged({ pointerId, clientX }) {
    const pointer = this.pointers.get(pointerId);
    if (!pointer) return;
    const before = [...this.pointers.values()].map(({ x }) => x);
    pointer.x = clientX;
    const now = [...this.pointers.values()].map(({ x }) => x);
    if (now.length === 2) this.pinch(before, now);
    else if (pointer.pinched) return;
    else if (pointer.looping || Math.abs(clientX - pointer.first) > DRAG) {
      pointer.looping = true;
      this.player.setLoop(this.sampleAt(pointer.first), this.sampleAt(clientX));
    }
  }

  /** Two fingers: their distance zooms, their middle scrolls. */
  pinch([a, b], [c, d]) {
    for (const pointer of this.pointers.values()) pointer.pinched = true;
    const at = this.sampleAt((a + b) / 2);
    this.view.zoom(Math.max(20, Math.abs(c - d)) / Math.max(20, Math.abs(a - b)), at);
    this.scroll((((a + b - c - d) / 2) * this.view.span) / this.width);
    this.update();
  }

  release({ type, pointerId, clientX }) {
    const pointer = this.pointers.get(pointerId);
    this.pointers.delete(pointerId);
    if (!pointer || type === "pointercancel" || pointer.pinched) return;
    const { player } = this;
    const at = this.sampleAt(clientX);
    if (pointer.looping) {
      if (player.loop && (player.position < player.loop.start || player.position >= player.loop.end)) {
        player.seek(player.loop.start);
      }
    } else if (player.loop && pointer.surface === this.ruler && at >= player.loop.start && at < player.loop.end) {
      player.setLoop();
    } else player.seek(at);
  }

  turn(event) {
    if (!this.view || !event.target.closest?.(SURFACES)) return;
    if (event.ctrlKey) {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 200), this.sampleAt(event.clientX));
      return;
    }
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (!this.view.zoomed || Math.abs(sideways) < Math.abs(event.shiftKey ? 0 : event.deltaY)) return;
    event.preventDefault();
    this.scroll((sideways * this.view.span) / this.width);
  }

  dragBar({ pointerId, clientX }) {
    const { bar, view } = this;
    const { left, width } = bar.getBoundingClientRect();
    const at = ((clientX - left) / width) * view.length;
    if (at < view.from || at > view.to) this.scroll(at - (view.from + view.to) / 2);
    let x = clientX;
    bar.setPointerCapture(pointerId);
    bar.onpointermove = (event) => {
      this.scroll(((event.clientX - x) / width) * view.length);
      x = event.clientX;
    };
    bar.onpointerup = () => { bar.onpointermove = null; };
    bar.onpointercancel = bar.onpointerup;
  }
}
