import { showMix, showTransport } from "./controls.js";
import { find, reveal, setText } from "./dom.js";
import { player } from "./player.js";
import { notice } from "./popups.js";
import { rows } from "./rows.js";
import { overview } from "./server.js";
import { Stretches } from "./stretches.js";
import { current, recordingOf, store } from "./store.js";
import { timeline } from "./timeline.js";
import { updateExports, updateVersions } from "./versions.js";
import { sentence } from "./words.js";

/** The version that is shown: its rows, timeline, transport and sound. */

const desk = find(".desk");
let shown = null; // folder of the version

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
  showMix(desk, mix);
}

async function open(mix) {
  const { version } = mix;
  const { title, about } = recordingOf(version.folder);
  shown = version.folder;
  desk.hidden = false;
  setText(find("#title bdi"), title);
  setText(find(".heading-line .about"), about);
  setText(find(".sum"), `${sentence(version.adds_up)} The files are in ${shown}.`);
  player.open(new Stretches(version, () => player.advance()));
  rows.open(mix);
  timeline.open(version);
  try {
    const peaks = await overview(version.id);
    if (rows.mix === mix) rows.setOverview(peaks);
  } catch (error) {
    notice(`The waveforms cannot be shown: ${error.message}`, { name: "overview" });
  }
}

player.changed = () => {
  if (!player.version) return;
  showTransport(desk, player);
  const problem = player.problem || player.sounds.problem;
  setText(find(".sound"), problem || (player.waiting ? "Waiting for sound" : ""));
  timeline.showPosition();
};
