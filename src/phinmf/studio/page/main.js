import "./editing.js";
import { updateDesk } from "./desk.js";
import { find, setText } from "./dom.js";
import { isSending, updateLibrary } from "./library.js";
import { player, Run } from "./player.js";
import { pointing } from "./pointing.js";
import { rows } from "./rows.js";
import { follow } from "./server.js";
import { changed, current, hear, onChange, show, store, unsaved } from "./store.js";
import { timeline } from "./timeline.js";

/** The whole page: it follows the server, and shows everything again when anything changes. */

onChange(() => {
  updateLibrary();
  updateDesk();
  document.body.classList.toggle("empty", !store.versions.size);
  showStatus();
});

function showStatus() {
  const mix = unsaved();
  const status = find(".status");
  status.dataset.status = mix?.status ?? "saved";
  let words = mix ? "saving …" : "saved";
  if (mix?.reason) words = `not saved. ${mix.reason}`;
  setText(status, store.shown ? words : "");
  const banner = find(".banner");
  banner.hidden = !store.gone;
  const where = store.home || "its folder";
  setText(banner, store.gone
    ? `The studio has stopped. Start it again with phinmf studio; what you saved is in ${where}.`
    : "");
}

function lost() {
  store.gone = true;
  changed();
}

window.addEventListener("beforeunload", (event) => {
  if (isSending() || unsaved()) event.preventDefault();
});

follow((state) => {
  hear(state, player.playing);
  const { sounds } = player; // after a restart of the server the version may have another id
  if (sounds) sounds.version = store.versions.get(sounds.version.folder) ?? sounds.version;
}, lost);

/** The page, for tests. */
window.phinmfStudio = Object.freeze({
  store, player, Run, rows, timeline, pointing, show,
  get mix() { return current(); },
  get position() { return player.position; },
  get playing() { return player.playing; },
  get waiting() { return player.waiting; },
});
