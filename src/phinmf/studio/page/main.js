import { Desk } from "./desk.js";
import { find, reveal, setText } from "./dom.js";
import { Recordings, Uploads } from "./library.js";
import { Player } from "./player.js";
import { dismiss, notice } from "./popups.js";
import { follow } from "./server.js";
import { VersionMix } from "./version_mix.js";
import { clause } from "./words.js";

/** The whole page: what the server says, which version is shown, and who is told. */

const state = {
  recordings: [], // as the server describes them
  versions: new Map(), // of all recordings, by key: their folder
  home: "",
  gone: false, // whether the server does not answer
  shown: null, // key of a version
  before: null, // value of its mix when it was shown: whether anybody is busy with it
  looked: new Set(), // keys of versions that were shown or offered
  expected: null, // id of a recording that was dropped and cannot be heard yet
};
const mixes = new Map(); // VersionMix by key of the version
const listening = { original: false };

const current = () => (state.shown ? mixOf(state.shown) : null);

function mixOf(key) {
  if (!mixes.has(key)) {
    mixes.set(key, new VersionMix(state.versions.get(key), listening, changed));
  }
  return mixes.get(key);
}

const player = new Player(({ key }) => mixOf(key).gains, () => desk.showTransport());
const desk = new Desk({ player, current, show });
const recordings = new Recordings((id) => (
  show(state.recordings.find((recording) => recording.id === id).versions.at(-1).key)));
const uploads = new Uploads((id) => {
  state.expected ??= id; // of several files the first
  state.before = current()?.value;
  choose();
});

const recordingOf = (key) =>
  state.recordings.find(({ versions }) => versions.some((version) => version.key === key));

/** Groups, levels, solos or the selection changed. */
function changed() {
  if (!current()) return;
  player.updateGains();
  desk.update(recordingOf(state.shown), ({ key, groups }) => mixes.get(key)?.groups ?? groups);
  showStatus();
}

// ---- the server --------------------------------------------------------------------------------

function hear({ recordings: described, home }) {
  state.gone = false;
  state.home = home;
  state.recordings = described.map((recording) => ({
    ...recording,
    versions: recording.versions.map((version) => (
      { ...version, key: version.folder, recording: recording.id })),
  }));
  const versions = state.recordings.flatMap((recording) => recording.versions);
  state.versions = new Map(versions.map((version) => [version.key, version]));
  for (const version of versions) {
    mixes.get(version.key)?.hear(version);
    player.refresh(version);
  }
  for (const key of mixes.keys()) if (!state.versions.has(key)) mixes.delete(key);
  choose();
  showLibrary();
  changed();
}

function lost() {
  state.gone = true;
  showStatus();
}

function showLibrary() {
  recordings.update(state.recordings, state.shown);
  const home = find(".home");
  home.hidden = !state.home;
  setText(find("bdi", home), state.home);
  document.body.classList.toggle("empty", !state.versions.size);
}

function showStatus() {
  const all = [...mixes.values()].map(({ saving }) => saving);
  const having = (status) => all.find((saving) => saving.status === status);
  const worst = having("not saved") ?? having("saving");
  const status = find(".status");
  status.dataset.status = worst?.status ?? "saved";
  let words = worst ? "saving …" : "saved";
  if (worst?.reason) words = `not saved: ${clause(worst.reason)}`;
  setText(status, state.shown ? words : "");
  const banner = find(".banner");
  banner.hidden = !state.gone;
  const where = state.home || "its folder";
  setText(banner, state.gone
    ? `The studio has stopped. Start it again with phinmf studio; what you saved is in ${where}.`
    : "");
}

// ---- which version is shown --------------------------------------------------------------------

/** The end of the address that names a version; a name that is not text is shown, not refused. */
const hashOf = (key) => `#${encodeURIComponent(key.toWellFormed())}`;

function show(key) {
  if (!state.versions.has(key)) return;
  dismiss("ready");
  const recording = recordingOf(key);
  const mix = mixOf(key);
  Object.assign(state, { shown: key, before: mix.value });
  for (const version of recording.versions) state.looked.add(version.key);
  if (state.expected === recording.id) state.expected = null;
  history.replaceState(null, "", hashOf(key));
  desk.open(mix, recording);
  showLibrary();
  changed();
  reveal(find(".recordings"), find(".recording.shown")); // on a phone they are in one line
  reveal(find(".versions-line"), find(".versions [aria-selected=true]"));
}

/** Show something new by itself, if nobody is busy with what is shown; or offer it. */
function choose() {
  const versions = [...state.versions.values()];
  if (!versions.length) {
    if (state.shown) desk.close();
    state.shown = null;
    return;
  }
  const shown = state.versions.get(state.shown);
  if (!shown) {
    const named = versions.find(({ key }) => hashOf(key) === location.hash);
    const beside = versions.find(({ recording }) => recording === player.version?.recording);
    show((named ?? beside ?? versions.at(-1)).key);
    return;
  }
  const related = [shown.recording, state.expected];
  const fresh = versions.findLast(({ key, recording }) => (
    related.includes(recording) && !state.looked.has(key)));
  if (!fresh) return;
  state.looked.add(fresh.key);
  if (!player.playing && current().value === state.before) {
    show(fresh.key);
    return;
  }
  const { title } = recordingOf(fresh.key);
  const name = fresh.recording === shown.recording ? fresh.name : title;
  const offer = { name: "ready", kind: "info", label: "Show it", act: () => show(fresh.key) };
  notice(`${name} is ready.`, offer);
}

// ---- begin -------------------------------------------------------------------------------------

window.addEventListener("beforeunload", (event) => {
  const unsaved = [...mixes.values()].some(({ saving }) => saving.status !== "saved");
  if (unsaved || uploads.waiting) event.preventDefault();
});

follow(hear, lost);

/** The page, for tests. */
window.phinmfStudio = Object.freeze({
  state, player, desk,
  get mix() { return current(); },
  get position() { return player.position; },
  get playing() { return player.playing; },
  get waiting() { return player.waiting; },
});
