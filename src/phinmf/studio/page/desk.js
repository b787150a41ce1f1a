import { find, onClick, setPressed, setText } from "./dom.js";
import { enableExports } from "./exports.js";
import { Grouping } from "./grouping.js";
import { enableDeskKeys } from "./desk_keys.js";
import { notice } from "./notices.js";
import { Rows } from "./rows.js";
import { overview } from "./server.js";
import { Suggestions } from "./suggestions.js";
import { Takes } from "./takes.js";
import { Timeline } from "./timeline.js";
import { View } from "./view.js";
import { clock, sentence } from "./words.js";

/** The take that is shown: rows, timeline, transport, and what is done with them. */
export class Desk {
  constructor({ player, current, show }) {
    Object.assign(this, { player, current });
    this.element = find(".desk");
    this.views = new Map(); // by key of the take
    this.grouping = new Grouping(this);
    this.rows = new Rows(find(".rows"), {
      original: () => current().toggleOriginal(),
      group: () => this.grouping.group(),
      of: (row) => this.grouping.rowActs(row),
    });
    this.timeline = new Timeline(find(".tracks"), player, () => this.rows.mix && this.rows.draw(this.timeline.view));
    this.takes = new Takes(show);
    this.suggestions = new Suggestions(current, (name) => this.rows.editName(name));
    this.updateExports = enableExports(current);
    this.grouping.enableDragging(find(".rows"));
    enableDeskKeys(this);
    this.enableButtons();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.timeline.update());
    const frame = () => { this.showFrame(); requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
  }

  enableButtons() {
    const { player, timeline, current } = this;
    const acts = {
      play: () => player.toggle(), "listen-original": () => current().toggleOriginal(), loop: () => this.toggleLoop(),
      "zoom-in": () => timeline.zoom(2), "zoom-out": () => timeline.zoom(0.5), "zoom-all": () => timeline.zoom(0),
      group: () => this.grouping.group(), undo: () => current().undo(), redo: () => current().redo(), reset: () => current().reset(),
      "move-selected": (event) => this.grouping.moveMenu(event.currentTarget, [...current().selected]),
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
    this.rows.update();
    this.grouping.lastPicked = null;
    if (!this.views.has(take.key)) this.views.set(take.key, new View(take.length, take.sample_rate));
    const view = this.views.get(take.key);
    const before = this.timeline.take;
    if (before?.recording === take.recording) view.showAs(this.timeline.view, before.first_sample - take.first_sample);
    this.timeline.open(view, take);
    try {
      const peaks = await overview(take.id);
      if (this.rows.mix !== mix) return;
      this.rows.setOverview(peaks);
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
    this.rows.update();
    const shape = JSON.stringify([mix.groups, [...mix.folded]]);
    if (shape !== this.shape) this.rows.draw(this.timeline.view); // levels change no waveform
    this.shape = shape;
    this.suggestions.update(mix);
    this.updateExports();
    this.takes.update(recording, mix.take, groupsOf);
    const chosen = mix.selected.size;
    setText(find(".chosen"), chosen ? `${chosen} selected` : "");
    find("[data-action=group]").disabled = !chosen;
    find("[data-action=move-selected]").disabled = !chosen;
    find("[data-action=undo]").disabled = !mix.history.canUndo;
    find("[data-action=redo]").disabled = !mix.history.canRedo;
    setPressed(find("[data-action=listen-original]"), mix.listening.original);
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

  /** Esc: end the loop, clear the selection, solo nothing. */
  clear() {
    const mix = this.current();
    if (this.player.loop) this.toggleLoop();
    else if (mix.selected.size) mix.clearSelection();
    else mix.soloOnly([]);
  }
}
