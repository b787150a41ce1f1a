import { DESK_KEYS, deskCommands } from "./core/commands.js";
import { enableCommands, listKeys, showMix, showTransport } from "./core/controls.js";
import { find, findAll, make, setText } from "./core/dom.js";
import { hue } from "./core/groups.js";
import { flat, Mix } from "./core/mix.js";
import { bufferOf, player, Run } from "./core/player.js";
import { rows } from "./core/rows.js";
import { timeline } from "./core/timeline.js";

/**
 * The page of a folder: the desk of the studio, with a player of sounds that are in the page, and
 * groups that cannot be changed.
 */

function bytes(base64) {
  const text = atob(base64);
  const array = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) array[i] = text.charCodeAt(i);
  return array;
}

// ---- what is shown -----------------------------------------------------------------------------

const data = JSON.parse(find("#data").textContent);
const { rate } = data;
const n = data.components.length;
const version = {
  folder: "", recording: "", first_sample: 0, start: data.start, seconds: data.seconds,
  sample_rate: rate, length: Math.round(data.seconds * rate),
  components: data.components, groups: data.groups, levels: flat(n),
};
const mix = new Mix(version, update);
const current = () => mix;

/** All sounds as one piece, as soon as they are decoded. */
const sounds = {
  version, whole: null, problem: "", piece: () => sounds.whole, want() {}, close() {},
};

async function decode() {
  const decoder = new OfflineAudioContext(1, 1, rate);
  const channels = [];
  for (const sound of data.sounds) {
    const buffer = await decoder.decodeAudioData(bytes(sound).buffer);
    const sides = Array.from({ length: buffer.numberOfChannels }, (_, side) => (
      bufferOf(buffer.getChannelData(side), rate)));
    channels.push(sides[0], sides.at(-1));
    say(`Loading the sound: ${channels.length / 2} of ${data.sounds.length} …`);
  }
  sounds.whole = { start: 0, count: version.length, channels };
  data.sounds = null;
}

function update() {
  player.updateGains();
  rows.update();
  showMix(document, mix);
}

player.changed = () => {
  document.body.style.setProperty("--at", player.position / version.length);
  showTransport(document.body, player);
  timeline.showPosition();
};

const say = (words) => setText(find(".sound"), words);

/** Link the file of a component or a group in its row, if there is one. */
function addLink(row, words, file) {
  const label = { title: "The whole file", "aria-label": `whole file: ${words}` };
  const link = file ? make("a", { href: file, text: "file", class: "file", ...label })
    : make("span", { class: "file" });
  find(".side", row).append(link);
}

rows.open(mix);
update();
player.open(sounds);
timeline.open(version);
rows.components.forEach((row, i) => {
  addLink(row, `component ${i + 1}`, data.components[i].file);
  if (!data.groups.length) {
    row.style.setProperty("--tone", `oklch(var(--tone-light) .115 ${hue(i)})`);
  }
});
for (const { name, colour, components, file } of data.groups) {
  const row = rows.groups.get(name);
  const own = [row, ...components.map((number) => rows.components[number - 1])];
  addLink(row, name, file);
  for (const each of own) each.classList.toggle("rest", colour === null);
}
rows.setOverview(bytes(data.peaks), data.step * rate);
for (const title of findAll(".title")) Object.assign(title, { readOnly: true, tabIndex: -1 });
enableCommands(deskCommands, DESK_KEYS, (element) => rows.rowOf(element));
listKeys(find(".keys"), DESK_KEYS);
for (const picture of findAll(".timeline")) {
  picture.addEventListener("click", ({ clientX }) => {
    const { left, width } = picture.getBoundingClientRect();
    player.seek(((clientX - left) / width) * version.length);
  });
}

const ready = decode().then(
  () => {
    say("");
    return true;
  },
  () => {
    say("This browser cannot play the previews.");
    return false;
  },
);
if (document.body.classList.contains("fragment")) {
  try { // set the height to that of the content; where the notebook forbids it, the frame scrolls
    const element = window.frameElement;
    new ResizeObserver(() => { element.style.height = `${document.body.offsetHeight}px`; })
      .observe(document.body);
  } catch { /* another origin */ }
}

/** The player, for tests. */
window.phinmfPlayer = Object.freeze({ ready, player, mix, Run });
