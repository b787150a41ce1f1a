import { enableDesk } from "./commands.js";
import { showTransport } from "./controls.js";
import { find, setPressed, setText } from "./dom.js";
import { Grouping } from "./grouping.js";
import { notice } from "./popups.js";
import { Rows } from "./rows.js";
import { overview } from "./server.js";
import { Timeline, View } from "./timeline.js";
import { Exports, Versions } from "./versions.js";
import { clock, sentence } from "./words.js";

/** The version that is shown: rows, timeline, transport, and what is done with them. */
export class Desk {
  /**
   * @param player plays the version
   * @param current function that returns the mix of the version
   * @param show function of a key that shows another version
   */
  constructor({ player, current, show }) {
    Object.assign(this, { player, current });
    this.element = find(".desk");
    this.views = new Map(); // by key of the version
    this.lastLoop = null; // {key, start, end}
    this.rows = new Rows(find(".rows"));
    this.grouping = new Grouping(this.rows, current);
    const redraw = () => this.rows.draw(this.timeline.view);
    this.timeline = new Timeline(find(".tracks"), player, redraw);
    this.versions = new Versions(show);
    this.exports = new Exports(current);
    enableDesk(this);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  }

  // ---- the version ---------------------------------------------------------------------------

  async open(mix, recording) {
    const { version } = mix;
    const { key, length, sample_rate: rate } = version;
    this.element.hidden = false;
    setText(find("#title bdi"), recording.title);
    setText(find(".heading-line .about"), recording.about);
    setText(find(".sum"), `${sentence(version.adds_up)} The files are in ${version.folder}.`);
    this.player.open(version);
    this.rows.open(mix);
    if (!this.views.has(key)) this.views.set(key, new View(length, rate));
    const view = this.views.get(key);
    const { version: before, view: viewBefore } = this.timeline;
    if (before?.recording === version.recording) {
      view.showAs(viewBefore, before.first_sample - version.first_sample);
    }
    this.timeline.open(view, version);
    try {
      const peaks = await overview(version.id);
      if (this.rows.mix !== mix) return;
      this.rows.setOverview(peaks);
      this.rows.draw(view);
    } catch (error) {
      notice(`The waveforms cannot be shown: ${error.message}`, { name: "overview" });
    }
  }

  close() {
    this.player.leave();
    this.element.hidden = true;
  }

  /** Groups, levels, solos or the selection changed. */
  update(recording, groupsOf) {
    const mix = this.current();
    this.rows.update();
    const shape = JSON.stringify([mix.groups, [...mix.folded]]);
    if (shape !== this.shape) this.rows.draw(this.timeline.view); // levels change no waveform
    this.shape = shape;
    this.exports.update();
    this.versions.update(recording, mix.version, groupsOf);
    const chosen = mix.selected.size;
    setText(find(".chosen"), chosen ? `${chosen} selected` : "");
    find(".tools [data-action=group]").disabled = !chosen;
    find(".tools [data-action=move]").disabled = !chosen;
    find("[data-action=alike]").disabled = !mix.version.alike.length;
    find("[data-action=undo]").disabled = !mix.past.length;
    find("[data-action=redo]").disabled = !mix.future.length;
    setPressed(find(".transport [data-action=original]"), mix.original);
  }

  // ---- transport -----------------------------------------------------------------------------

  showTransport() {
    const { player } = this;
    const { version, playing, position, loop, problem, waiting } = player;
    if (!version) return;
    showTransport(this.element, playing, version.start + position / version.sample_rate);
    setText(find(".end"), `/ ${clock(version.start + version.seconds)}`);
    setPressed(find("[data-action=loop]"), loop);
    setText(find(".sound"), problem || (waiting ? "Waiting for sound" : ""));
    this.timeline.showPosition();
  }

  /** Go to a sample, and show it. */
  seek(sample) {
    this.player.seek(sample);
    if (this.timeline.view.keepShown(this.player.position)) this.timeline.update();
  }

  /** End the loop; or loop as last time, or what is shown. */
  toggleLoop() {
    const { player, timeline: { view } } = this;
    const { key } = player.version;
    if (player.loop) {
      this.lastLoop = { key, ...player.loop };
      player.setLoop();
    } else if (this.lastLoop?.key === key) player.setLoop(this.lastLoop.start, this.lastLoop.end);
    else player.setLoop(view.from, view.to);
  }

  /** Let the loop begin or end where the playhead is. */
  loopFrom() {
    const { player: { loop, position, version }, player } = this;
    player.setLoop(position, loop && loop.end > position ? loop.end : version.length);
  }

  loopTo() {
    const { player: { loop, position }, player } = this;
    player.setLoop(loop && loop.start < position ? loop.start : 0, position);
  }

  /** Esc: end the loop, then clear the selection, then the solos. */
  clear() {
    const mix = this.current();
    if (this.player.loop) this.toggleLoop();
    else if (mix.selected.size) mix.clearSelection();
    else mix.soloOnly([]);
  }
}
