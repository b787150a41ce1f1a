import { showTransport } from "./controls.js";
import { find, reveal, setPressed, setText } from "./dom.js";
import { player } from "./player.js";
import { notice } from "./popups.js";
import { rows } from "./rows.js";
import { overview } from "./server.js";
import { current, recordingOf, store } from "./store.js";
import { timeline } from "./timeline.js";
import { updateExports, updateVersions } from "./versions.js";
import { clock, sentence } from "./words.js";

/** The version that is shown: its rows, timeline and transport. */

const desk = find(".desk");
let shown = null; // folder of the version
let shape = ""; // what the waveforms depend on

/** Groups, levels, solos, the selection, or the version that is shown are others. */
export function updateDesk() {
  if (!store.shown) {
    if (shown) player.leave();
    shown = null;
    desk.hidden = true;
    return;
  }
  const mix = current();
  const isNew = shown !== store.shown;
  if (isNew) open(mix);
  rows.update();
  player.updateGains();
  const shapeNow = JSON.stringify([mix.groups, [...mix.folded]]);
  if (shapeNow !== shape) rows.draw(timeline.view); // levels change no waveform
  shape = shapeNow;
  updateVersions();
  updateExports();
  if (isNew) { // on a phone they are in one line
    reveal(find(".recordings"), find(".recording.shown"));
    reveal(find(".versions-line"), find(".versions [aria-selected=true]"));
  }
  const chosen = mix.selected.size;
  setText(find(".chosen"), chosen ? `${chosen} selected` : "");
  find(".tools [data-action=group]").disabled = !chosen;
  find(".tools [data-action=move]").disabled = !chosen;
  find("[data-action=alike]").disabled = !mix.version.alike.length;
  find("[data-action=undo]").disabled = !mix.past.length;
  find("[data-action=redo]").disabled = !mix.future.length;
  setPressed(find(".transport [data-action=original]"), mix.original);
}

async function open(mix) {
  const { version } = mix;
  const { title, about } = recordingOf(version.folder);
  shown = version.folder;
  desk.hidden = false;
  setText(find("#title bdi"), title);
  setText(find(".heading-line .about"), about);
  setText(find(".sum"), `${sentence(version.adds_up)} The files are in ${shown}.`);
  player.open(version);
  rows.open(mix);
  timeline.open(version);
  try {
    const peaks = await overview(version.id);
    if (rows.mix !== mix) return;
    rows.setOverview(peaks);
    rows.draw(timeline.view);
  } catch (error) {
    notice(`The waveforms cannot be shown: ${error.message}`, { name: "overview" });
  }
}

player.changed = () => {
  const { version, playing, position, loop, problem, waiting } = player;
  if (!version) return;
  showTransport(desk, playing, version.start + position / version.sample_rate);
  setText(find(".end"), `/ ${clock(version.start + version.seconds)}`);
  setPressed(find("[data-action=loop]"), loop);
  setText(find(".sound"), problem || (waiting ? "Waiting for sound" : ""));
  timeline.showPosition();
};
