import { arrange, button, elementsOf, find, findAll, make, setText } from "./dom.js";
import { dismiss, notice } from "./popups.js";
import { removeVersion, unmixAgain, writeExport } from "./server.js";
import { current, groupsOf, recordingOf, show, store } from "./store.js";
import { clock, count, sentence } from "./words.js";

/** The versions of a recording side by side, the form that asks for another one, and exports. */

const NO_GROUPS = "There are no groups yet: put components together first";
const AGAIN = "Unmix the whole recording in another way";
const NO_RECORDING = "The recording itself is not open: start phinmf studio with its file, too";

const tabs = new Map(); // elements by folder of the version
const form = find("#again");
const again = find("[popovertarget=again]");
const exports = findAll("[data-export]");
let writing = null; // the button whose files are being written

export function updateVersions() {
  const recording = recordingOf(store.shown);
  const versions = recording.versions.map((version) => [version.folder, version]);
  arrange(find(".versions"), elementsOf(tabs, versions, createTab));
  for (const version of recording.versions) showTab(version);
  again.disabled = !recording.again;
  again.title = recording.again ? AGAIN : NO_RECORDING;
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

export function updateExports() {
  for (const element of exports) {
    const unused = element.dataset.export === "groups" && !current().groups.length;
    element.disabled = Boolean(writing) || unused;
    element.classList.toggle("busy", element === writing);
    element.title = unused ? NO_GROUPS : element.dataset.about;
  }
}

/** Let the server write files, and download them. */
async function take(element) {
  const mix = current();
  writing = element;
  updateExports();
  dismiss("export");
  try {
    await mix.saving.send(); // the groups that are written are those that are shown
    const levels = mix.levels.map((level, i) => ({ ...level, muted: !mix.sounds(i + 1) }));
    const kind = element.dataset.export;
    const { address, name, message } = await writeExport(mix.version.id, kind, levels);
    make("a", { href: address, download: name }).click();
    notice(`${name}: ${sentence(message)}`, { name: "export", kind: "info" });
  } catch (error) {
    notice(error.message, { name: "export" });
  }
  writing = null;
  if (current()) updateExports();
}

for (const element of exports) element.addEventListener("click", () => take(element));
