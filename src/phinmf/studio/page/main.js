import { Desk } from "./desk.js";
import { find, reveal, setText } from "./dom.js";
import { gains } from "./levels.js";
import { dismiss, notice } from "./notices.js";
import { Player } from "./player.js";
import { Recordings } from "./recordings.js";
import { dismissJob, follow } from "./server.js";
import { TakeMix } from "./take_mix.js";
import { Uploads } from "./uploads.js";
import { clause } from "./words.js";

/** The whole page: what the server says, which take is shown, and who is told. */

const state = { recordings: [], takes: new Map(), home: "", gone: false, shown: null, expected: null };
const mixes = new Map(); // TakeMix by key of the take
const listening = { original: false };

const current = () => (state.shown ? mixOf(state.shown) : null);

function mixOf(key) {
  if (!mixes.has(key)) {
    const overruled = () => notice(
      "Another tab changed this take meanwhile; its version is shown. Undo brings yours back.",
      { name: "overruled", kind: "info" },
    );
    mixes.set(key, new TakeMix(state.takes.get(key), listening, changed, overruled));
  }
  return mixes.get(key);
}

const player = new Player(
  ({ key }) => { const { levels, solos } = mixOf(key); return gains(levels, solos, listening.original); },
  () => desk.showTransport(),
);
const desk = new Desk({ player, current, show });
const recordings = new Recordings(find(".recordings"), {
  open: (id) => show(state.recordings.find((recording) => recording.id === id).takes.at(-1).key),
  dismiss: (id) => dismissJob(id).catch((error) => notice(error.message, { name: `job ${id}` })),
});
const uploads = new Uploads((id) => {
  state.expected ??= { id, before: current()?.history.value }; // of several files the first
  choose();
});

/** Groups, levels, solos or the selection changed. */
function changed() {
  if (!current()) return;
  player.updateGains();
  desk.update(recordingOf(state.shown), groupsOf);
  showStatus();
}

const groupsOf = (take) => mixes.get(take.key)?.groups ?? take.groups;

const recordingOf = (key) => state.recordings.find(({ takes }) => takes.some((take) => take.key === key));

// ---- the server --------------------------------------------------------------------------------

function hear({ recordings: described, home }) {
  state.gone = false;
  state.home = home;
  state.recordings = described.map((recording) => ({
    ...recording,
    takes: recording.takes.map((take) => ({ ...take, key: take.folder, recording: recording.id })),
  }));
  const takes = state.recordings.flatMap((recording) => recording.takes);
  state.takes = new Map(takes.map((take) => [take.key, take]));
  for (const take of takes) {
    mixes.get(take.key)?.hear(take);
    player.refresh(take);
  }
  for (const key of mixes.keys()) if (!state.takes.has(key)) mixes.delete(key);
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
  document.body.classList.toggle("empty", !state.takes.size);
}

function showStatus() {
  const all = [...mixes.values()].map(({ saving }) => saving);
  const worst = all.find(({ status }) => status === "not saved") ?? all.find(({ status }) => status === "saving");
  const status = find(".status");
  status.dataset.status = worst?.status ?? "saved";
  let words = worst ? "saving …" : "saved";
  if (worst?.reason) words = `not saved: ${clause(worst.reason)}`;
  setText(status, state.shown ? words : "");
  const banner = find(".banner");
  banner.hidden = !state.gone;
  setText(banner, state.gone
    ? `The studio has stopped. Start it again with phinmf studio; what you saved is in ${state.home || "its folder"}.` : "");
}

// ---- which take is shown -----------------------------------------------------------------------

/** The end of the address that names a take; a name that is not text is shown, not refused. */
const hashOf = (key) => `#${encodeURIComponent(key.toWellFormed())}`;

function show(key) {
  if (!state.takes.has(key)) return;
  dismiss("whole");
  dismiss("ready");
  state.shown = key;
  look();
  history.replaceState(null, "", hashOf(key));
  desk.open(mixOf(key), recordingOf(key));
  showLibrary();
  changed();
  reveal(find(".recordings"), find(".recording.shown")); // on a phone they are in one line
  reveal(find(".takes-line"), find(".takes [aria-selected=true]"));
}

/** Decide by itself what to show: something new, if nobody is busy with what is shown. */
function choose() {
  const takes = [...state.takes.values()];
  if (!takes.length) {
    if (state.shown) { state.shown = null; desk.close(); }
    return;
  }
  const expected = takes.findLast(({ recording }) => recording === state.expected?.id);
  if (expected) { showExpected(expected); return; }
  if (!state.takes.has(state.shown)) {
    const named = takes.find(({ key }) => hashOf(key) === location.hash);
    const again = takes.find(({ recording }) => recording === player.take?.recording);
    show((named ?? again ?? takes.at(-1)).key);
    return;
  }
  offerNew();
}

/** A recording that was dropped can be heard: show it, unless someone went on with another one. */
function showExpected({ key, recording }) {
  const idle = !player.playing && state.expected.before === current()?.history.value;
  const { title } = state.recordings.find(({ id }) => id === recording);
  state.expected = null;
  if (idle) show(key);
  else offer(`${title} is ready.`, "ready", key);
}

const looked = new Set(); // keys of takes that existed when their recording was last looked at

function look() {
  for (const { key } of recordingOf(state.shown).takes) looked.add(key);
}

/** Another take of the recording is ready: the whole one replaces an untouched preview by itself. */
function offerNew() {
  const fresh = recordingOf(state.shown).takes.findLast(({ key }) => !looked.has(key));
  look();
  if (!fresh) return;
  const preview = state.takes.get(state.shown).kind === "preview" && fresh.kind === "whole";
  if (preview && !player.playing && current().untouched) show(fresh.key);
  else if (preview) offer("The whole recording is ready.", "whole", fresh.key);
  else offer(`${fresh.name} is ready.`, "ready", fresh.key);
}

function offer(text, name, key) {
  notice(text, { name, kind: "info", label: "Show it", act: () => show(key) });
}

// ---- begin -------------------------------------------------------------------------------------

window.addEventListener("beforeunload", (event) => {
  const unsaved = [...mixes.values()].some(({ saving }) => saving.status !== "saved");
  if (unsaved || uploads.busy) event.preventDefault();
});

follow(hear, lost);

/** The page, for tests. */
window.phinmfStudio = Object.freeze({
  state, player, desk,
  get mix() { return current(); },
  get position() { return player.position; },
  get playing() { return player.playing; },
  get waiting() { return player.waiting; },
  get gains() { return current() ? gains(current().levels, current().solos, listening.original) : []; },
});
