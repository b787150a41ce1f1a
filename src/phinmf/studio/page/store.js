import { notice, dismiss } from "./popups.js";
import { VersionMix } from "./saving.js";

/**
 * What the page knows: recordings and versions as the server describes them, a mix of each version
 * in this tab, and which version is shown. Whoever changes something here calls `changed`.
 */

export const store = {
  recordings: [],
  versions: new Map(), // of all recordings, by their folders
  home: "",
  gone: false, // whether the server does not answer
  shown: null, // folder of a version
};
const mixes = new Map(); // VersionMix by folder of the version
const listening = { original: false }; // shared by all versions
const looked = new Set(); // folders of versions that were shown or offered
let recordingShown = null; // its id
let render = () => {};

/** Let a function be called whenever anything changes. */
export function onChange(act) { render = act; }

export const changed = () => render();

export function mixOf(folder) {
  if (!mixes.has(folder)) {
    mixes.set(folder, new VersionMix(store.versions.get(folder), changed, listening));
  }
  return mixes.get(folder);
}

/** The mix of the version that is shown. */
export const current = () => (store.shown ? mixOf(store.shown) : null);

/** A version that is not saved, or else one that is being saved. */
export const unsaved = () => {
  const having = (status) => [...mixes.values()].find((mix) => mix.status === status);
  return having("not saved") ?? having("saving");
};

export const recordingOf = (folder) =>
  store.recordings.find(({ versions }) => versions.some((version) => version.folder === folder));

/** The groups of a version as they are in this tab. */
export const groupsOf = ({ folder, groups }) => mixes.get(folder)?.groups ?? groups;

/** The server described everything; `busy` says whether a version is being listened to. */
export function hear({ recordings, home }, busy) {
  const versions = recordings.flatMap((recording) => recording.versions);
  const byFolder = new Map(versions.map((version) => [version.folder, version]));
  Object.assign(store, { recordings, versions: byFolder, home, gone: false });
  for (const [folder, mix] of mixes) {
    if (byFolder.has(folder)) mix.hear(byFolder.get(folder));
    else mixes.delete(folder);
  }
  choose(versions, busy);
  changed();
}

// ---- which version is shown --------------------------------------------------------------------

/** The end of the address that names a version; a name that is not text is shown, not refused. */
const hashOf = (folder) => `#${encodeURIComponent(folder.toWellFormed())}`;

export function show(folder) {
  if (!store.versions.has(folder)) return;
  dismiss("ready");
  const { id } = recordingOf(folder);
  store.shown = folder;
  recordingShown = id;
  history.replaceState(null, "", hashOf(folder));
  changed();
}

/** Offer what is new; another version of the same recording is shown if nobody is busy with it. */
function choose(versions, busy) {
  if (!store.versions.has(store.shown)) {
    const shown = versions.find(({ folder }) => hashOf(folder) === location.hash)
      ?? versions.findLast(({ recording }) => recording === recordingShown)
      ?? versions.at(-1);
    store.shown = null;
    for (const { folder } of versions) looked.add(folder);
    if (shown) show(shown.folder);
    return;
  }
  const fresh = versions.findLast(({ folder }) => !looked.has(folder));
  if (!fresh) return;
  for (const { folder } of versions) looked.add(folder);
  const another = fresh.recording !== recordingShown;
  if (!another && !busy && !current().past.length) {
    show(fresh.folder);
    return;
  }
  const name = another ? recordingOf(fresh.folder).title : fresh.name;
  const act = () => show(fresh.folder);
  notice(`${name} is ready.`, { name: "ready", kind: "info", label: "Show it", act });
}
