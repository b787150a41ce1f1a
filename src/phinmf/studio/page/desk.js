import { find, findAll, onClick, setPressed, setText } from "./dom.js";
import { enableDragging } from "./dragging.js";
import { enableExports } from "./exports.js";
import { COLOURS, hue, named } from "./groups.js";
import { deskKeys } from "./desk_keys.js";
import { enableKeys } from "./keys.js";
import { openMenu } from "./menu.js";
import { notice } from "./notices.js";
import { Rows } from "./rows.js";
import { overview } from "./server.js";
import { Suggestions } from "./suggestions.js";
import { Takes } from "./takes.js";
import { Timeline } from "./timeline.js";
import { View } from "./view.js";
import { clock, count } from "./words.js";

/** The take that is shown: rows, timeline, transport, and what is done with them. */
export class Desk {
  constructor({ actions, player, current, show }) {
    Object.assign(this, { actions, player, current });
    this.element = find(".desk");
    this.views = new Map(); // by key of the take
    this.lastPicked = null;
    this.rows = new Rows(find(".rows"), {
      original: () => actions.toggleOriginal(),
      group: () => this.groupSelected(),
      of: (row) => this.rowActs(row),
    });
    this.timeline = new Timeline(find(".tracks"), player, () => this.rows.mix && this.rows.draw(this.timeline.view));
    this.takes = new Takes(show);
    this.suggestions = new Suggestions(actions, (name) => this.rows.editName(name));
    enableExports(current);
    enableDragging(find(".rows"), (number) => this.taken(number), (numbers, target) => this.drop(numbers, target));
    enableKeys(deskKeys(this));
    this.enableButtons();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.timeline.update());
    const frame = () => { this.showFrame(); requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
  }

  enableButtons() {
    const { actions, player, timeline } = this;
    const acts = {
      play: () => player.toggle(), "listen-original": () => actions.toggleOriginal(), loop: () => this.toggleLoop(),
      "zoom-in": () => timeline.zoom(2), "zoom-out": () => timeline.zoom(0.5), "zoom-all": () => timeline.zoom(0),
      group: () => this.groupSelected(), undo: () => actions.undo(), redo: () => actions.redo(), reset: () => actions.reset(),
      "move-selected": (event) => this.moveMenu(event.currentTarget, [...this.current().selected]),
    };
    for (const [name, act] of Object.entries(acts)) onClick(find(`.tracks [data-action=${name}]`), act);
  }

  // ---- the take ------------------------------------------------------------------------------

  async open(mix, recording) {
    const { take } = mix;
    this.element.hidden = false;
    setText(find("#title bdi"), recording.title);
    setText(find(".heading-line .about"), recording.about);
    setText(find(".sum"), `${sentence(take.adds_up)} The files are in ${take.folder}.`);
    this.player.open(take);
    this.rows.open(mix);
    this.rows.update(this.actions.original);
    this.lastPicked = null;
    if (!this.views.has(take.key)) this.views.set(take.key, new View(take.length, take.sample_rate));
    this.timeline.open(this.views.get(take.key), take);
    try {
      const found = await overview(take.id);
      if (this.rows.mix !== mix) return;
      this.rows.setOverview(found);
      this.rows.draw(this.timeline.view);
    } catch (error) {
      notice(`The waveforms cannot be shown: ${error.message}`, { name: "overview" });
    }
  }

  close() {
    this.player.leave();
    this.player.take = null;
    this.element.hidden = true;
  }

  /** Groups, levels, solos or the selection changed. */
  update(recording, groupsOf) {
    const mix = this.current();
    this.rows.update(this.actions.original);
    const shape = JSON.stringify([mix.groups, [...mix.folded]]);
    if (shape !== this.shape) this.rows.draw(this.timeline.view); // levels change no waveform
    this.shape = shape;
    this.suggestions.update(mix);
    this.takes.update(recording, mix.take, groupsOf);
    const chosen = mix.selected.size;
    setText(find(".chosen"), chosen ? `${chosen} selected` : "");
    find("[data-action=group]").disabled = !chosen;
    find("[data-action=move-selected]").disabled = !chosen;
    find("[data-action=undo]").disabled = !mix.history.canUndo;
    find("[data-action=redo]").disabled = !mix.history.canRedo;
    setPressed(find("[data-action=listen-original]"), this.actions.original);
    this.element.classList.toggle("hears-original", this.actions.original);
  }

  // ---- transport -----------------------------------------------------------------------------

  showTransport() {
    const { player, element } = this;
    if (!player.take) return;
    const { take, playing, loop } = player;
    setText(find(".now"), clock(take.start + player.position / take.sample_rate));
    setText(find(".end"), `/ ${clock(take.start + take.seconds)}`);
    element.classList.toggle("playing", playing);
    find(".play").setAttribute("aria-label", playing ? "Pause" : "Play");
    setPressed(find("[data-action=loop]"), loop);
    setText(find(".sound"), player.problem || (player.waiting ? "Waiting for sound" : ""));
    this.timeline.showPosition();
  }

  showFrame() {
    if (this.rows.mix) this.rows.showLevels(this.player.playing ? this.player.levels : []);
  }

  /** Go to a sample, and show it. */
  seek(sample) {
    this.player.seek(sample);
    if (this.timeline.view.keepShown(this.player.position)) this.timeline.update();
  }

  seekBy(seconds) {
    this.seek(this.player.position + seconds * this.player.take.sample_rate);
  }

  /** End the loop; or loop as last time, or what is shown, or the next seconds. */
  toggleLoop() {
    const { player, timeline: { view } } = this;
    if (player.loop) {
      this.lastLoop = { key: player.take.key, ...player.loop };
      player.setLoop();
    } else if (this.lastLoop?.key === player.take.key) player.setLoop(this.lastLoop.start, this.lastLoop.end);
    else if (view.zoomed) player.setLoop(view.from, view.to);
    else player.setLoop(player.position, player.position + 4 * view.rate);
  }

  /** Let the loop begin or end where the playhead is. */
  loopFrom() {
    const { player } = this;
    const end = player.loop && player.loop.end > player.position ? player.loop.end : player.take.length;
    player.setLoop(player.position, end);
  }

  loopTo() {
    const { player } = this;
    const start = player.loop && player.loop.start < player.position ? player.loop.start : 0;
    player.setLoop(start, player.position);
  }

  // ---- groups --------------------------------------------------------------------------------

  /** What the controls of a row do. */
  rowActs(row) {
    const { actions } = this;
    const members = () => this.current().members(row);
    const id = JSON.stringify(row);
    return {
      solo: () => actions.toggleSolo(members()),
      mute: () => actions.toggleMute(members()),
      gain: (decibels) => actions.setGain(members(), decibels, `gain ${id}`),
      pan: (pan) => actions.setPan(members(), pan, `pan ${id}`),
      ended: () => actions.endGesture(),
      menu: (event) => this.moveMenu(event.currentTarget, this.taken(row.component)),
      select: (wanted, range) => this.pick(row.component, wanted, range),
      fold: () => actions.toggleFold(row.group),
      colour: (event) => this.colourMenu(event.currentTarget, row.group),
      ungroup: () => actions.ungroup(row.group),
      rename: (input) => this.rename(row.group, input),
    };
  }

  /** Select a component, or with Shift all rows from the one that was selected before. */
  pick(number, wanted, range) {
    const rows = this.rows.all.map((row) => Number(row.dataset.component)).filter(Boolean);
    const [a, b] = [rows.indexOf(this.lastPicked), rows.indexOf(number)].sort((x, y) => x - y);
    this.actions.select(range && a >= 0 ? rows.slice(a, b + 1) : [number], wanted);
    this.lastPicked = number;
  }

  /** The components that move together: those that are selected, if this one is. */
  taken(number) {
    const { selected } = this.current();
    return selected.has(number) ? [...selected] : [number];
  }

  groupSelected(numbers = [...this.current().selected]) {
    const name = this.actions.group(numbers);
    if (name) this.rows.editName(name);
  }

  drop(numbers, { group, drop, component }) {
    if (group !== undefined) this.actions.move(numbers, group);
    else if (drop === "new") this.groupSelected(numbers);
    else if (drop === "rest") this.actions.move(numbers, null);
    else this.dropOn(numbers, Number(component));
  }

  /** On a component of a group: into that group. On another one: a new group of both. */
  dropOn(numbers, component) {
    const group = this.current().groups.find(({ components }) => components.includes(component));
    if (group) this.actions.move(numbers, group.name);
    else this.groupSelected([...numbers, component]);
  }

  moveMenu(anchor, numbers) {
    if (!numbers.length) return;
    const { groups } = this.current();
    const what = numbers.length > 1 ? count(numbers.length, "component") : `component ${numbers[0]}`;
    openMenu(anchor, `Move ${what}`, [
      ...groups.map(({ name, colour }) => ({ text: name, hue: hue(colour), act: () => this.actions.move(numbers, name) })),
      { text: "New group", act: () => this.groupSelected(numbers) },
      ...(groups.length ? [{ text: "No group", act: () => this.actions.move(numbers, null) }] : []),
    ]);
  }

  colourMenu(anchor, name) {
    const { colour } = named(this.current().groups, name);
    openMenu(anchor, `Colour of group ${name}`, COLOURS.map((text, i) => (
      { text, hue: hue(i), current: i === colour, act: () => this.actions.recolour(name, i) }
    )));
  }

  /** Take a name from its field; return whether it is one. */
  rename(name, input) {
    if (!named(this.current().groups, name)) return true; // it was renamed or undone meanwhile
    const to = input.value.trim();
    const problem = this.actions.rename(name, input.value);
    input.setCustomValidity(problem);
    if (problem) input.reportValidity();
    else if (to !== name) this.rows.focus(this.rows.groups.get(to));
    return !problem;
  }

  /** Esc: end the loop, clear the selection, solo nothing. */
  clear() {
    const mix = this.current();
    if (this.player.loop) this.toggleLoop();
    else if (mix.selected.size) this.actions.clearSelection();
    else this.actions.soloOnly([]);
    for (const form of findAll(".again-form")) if (form.contains(document.activeElement)) this.takes.toggleForm(false);
  }
}

const sentence = (words) => (words ? `${words[0].toUpperCase()}${words.slice(1).replace(/\.$/, "")}.` : "");
