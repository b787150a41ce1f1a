import { showMix, showTransport } from "./controls.js";
import { arrange, button, elementsOf, find, findAll, make, reveal, setText } from "./dom.js";
import { player } from "./player.js";
import { pointing } from "./pointing.js";
import { dismiss, notice } from "./popups.js";
import { rows } from "./rows.js";
import { overview, removeVersion, unmixAgain, writeExport } from "./server.js";
import { current, groupsOf, recordingOf, show, store } from "./store.js";
import { Stretches } from "./stretches.js";
import { timeline } from "./timeline.js";
import { clock, count, sentence } from "./words.js";

/** The version that is shown, those beside it and the form that asks for another, and exports. */

const tabs = new Map(); // elements by folder of the version
const form = find("#again");
const again = find("[popovertarget=again]");
const exports = findAll("[data-export]");
let writing = null; // the button whose files are being written
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
  for (const offer of findAll("[data-action=alike]")) offer.disabled = !mix.version.alike.length;
  showMix(desk, mix);
  pointing.update();
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
  pointing.open(mix);
  timeline.open(version);
  try {
    const peaks = await overview(version.id);
    if (rows.mix === mix) rows.setOverview(peaks, version.step);
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

// ---- the versions of a recording ---------------------------------------------------------------

function updateVersions() {
  const recording = recordingOf(store.shown);
  const versions = recording.versions.map((version) => [version.folder, version]);
  arrange(find(".versions"), elementsOf(tabs, versions, createTab));
  for (const version of recording.versions) showTab(version);
  again.disabled = !recording.again;
  find("[data-action=remove-version]").hidden = versions.length < 2;
}

function createTab({ folder }) {
  const attributes = { role: "tab", "aria-controls": "tracks" };
  const tab = button("", "version", () => show(folder), attributes);
  tab.append(make("b"), make("small"));
  return tab;
}

function showTab(version) {
  const { folder, name, kind, start, seconds, components, window: length, seed } = version;
  const tab = tabs.get(folder);
  const groups = groupsOf(version).length;
  const parts = [
    kind === "whole" ? "" : `${clock(start, 0)} – ${clock(start + seconds, 0)}`,
    count(components.length, "component"),
    groups ? count(groups, "group") : "",
    length.replace(/(\d)(\D)/, "$1 $2"),
    seed === null ? "" : `seed ${seed}`,
  ];
  setText(find("b", tab), name);
  setText(find("small", tab), parts.filter(Boolean).join(" · "));
  tab.setAttribute("aria-selected", folder === store.shown);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { n_components: number, window: length, seed } = form.elements;
  const problem = find(".problem", form);
  problem.hidden = true;
  try {
    await unmixAgain(recordingOf(store.shown).id, {
      n_components: number.value ? Number(number.value) : "auto",
      window: length.value, seed: Number(seed.value),
    });
    form.hidePopover();
    seed.value = Number(seed.value) + 1;
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }
});

find("[data-action=remove-version]").addEventListener("click", async () => {
  const { name, folder, id } = current().version;
  const files = `The files that the studio wrote to ${folder} are deleted.`;
  if (!window.confirm(`Remove “${name}”? ${files}`)) return;
  try {
    await removeVersion(id);
  } catch (error) {
    notice(error.message, { name: "remove" });
  }
});

// ---- what is taken away ------------------------------------------------------------------------

function updateExports() {
  for (const element of exports) {
    const unused = element.dataset.export === "groups" && !current().groups.length;
    element.disabled = Boolean(writing) || unused;
    element.classList.toggle("busy", element === writing);
  }
}

/** Let the server write files, and download them; with a name, all but this group. */
export async function take(element, kind = element.dataset.export, without = []) {
  const mix = current();
  writing = element;
  updateExports();
  dismiss("export");
  try {
    await mix.save(); // the groups that are written are those that are shown
    const levels = mix.levels.map((level, i) => ({ ...level, muted: !mix.sounds(i + 1) }));
    const { address, name, message } = await writeExport(mix.version.id, kind, levels, without);
    make("a", { href: address, download: name }).click();
    notice(`${name}: ${sentence(message)}`, { name: "export", kind: "info" });
  } catch (error) {
    notice(error.message, { name: "export" });
  }
  writing = null;
  if (current()) updateExports();
}

for (const element of exports) element.addEventListener("click", () => take(element));
