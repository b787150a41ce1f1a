import { DESK_KEYS, deskCommands } from "./core/commands.js";
import { enableCommands, listKeys, showMix, showTransport } from "./core/controls.js";
import { find, findAll, make, setText } from "./core/dom.js";
import { hue } from "./core/groups.js";
import { flat, Mix, regionOf } from "./core/mix.js";
import { rows } from "./core/rows.js";
import { timeline } from "./core/timeline.js";

/**
 * The page of a folder: the desk of the studio, with a player of sounds that are in the page, and
 * groups that cannot be changed.
 */

const LEAD = 0.03; // seconds: sounds are scheduled in the future, so that all start in time
const FADE = 0.008; // seconds: gains change gradually, so that nothing clicks

/** Plays sounds that are in memory: all sources start at the same time of one clock. */
class Player {
  /** @param version what is played; `gains` is a function that returns the gain of each source */
  constructor(version, gains) {
    Object.assign(this, { version, gains });
    this.changed = () => {}; // called when it starts, stops or moves
    this.buffers = []; // the original, then the components
    this.context = null; // made when play is first called: browsers require a gesture
    this.volumes = []; // gain nodes in the order of the buffers
    this.sources = [];
    this.playing = false;
    this.loop = null; // {start, end} in samples
    this.startedAt = 0; // time of the context's clock
    this.startedFrom = 0; // sample; the current one while nothing plays
    this.frame = 0; // the next one to draw
  }

  /** Decode all sounds; `progress` is called with the number that is done. */
  async load(sounds, progress) {
    const decoder = new OfflineAudioContext(1, 1, this.version.sample_rate);
    for (const sound of sounds) {
      this.buffers.push(await decoder.decodeAudioData(bytes(sound).buffer));
      progress(this.buffers.length);
    }
  }

  makeVolumes(context) {
    return this.gains().map((gain) => {
      const node = new GainNode(context, { gain });
      node.connect(context.destination);
      return node;
    });
  }

  /** Let all sources play from a sample on, at a time of the clock. */
  schedule(context, volumes, when, from) {
    return this.buffers.map((buffer, i) => {
      const source = new AudioBufferSourceNode(context, { buffer });
      source.connect(volumes[i]);
      this.setLoopOf(source, from);
      source.start(when, from / this.version.sample_rate);
      return source;
    });
  }

  /** Beyond the end of the loop a sound goes on to its own end. */
  setLoopOf(source, from) {
    const { loop, version: { sample_rate: rate } } = this;
    source.loop = Boolean(loop) && from < loop.end;
    source.loopStart = (loop?.start ?? 0) / rate;
    source.loopEnd = (loop?.end ?? 0) / rate;
  }

  get position() {
    const { playing, startedFrom: from, loop, version } = this;
    if (!playing) return from;
    const passed = Math.max(0, this.context.currentTime - this.startedAt) * version.sample_rate;
    const position = Math.min(version.length, from + passed);
    if (!loop || from >= loop.end || from + passed < loop.end) return position;
    return loop.start + ((from + passed - loop.start) % (loop.end - loop.start));
  }

  async play() {
    if (!(await ready)) return;
    this.context ??= new AudioContext({ sampleRate: this.version.sample_rate });
    await this.context.resume();
    if (this.playing) return;
    if (!this.volumes.length) this.volumes = this.makeVolumes(this.context);
    if (this.startedFrom >= this.version.length - 1) this.startedFrom = 0;
    this.startedAt = this.context.currentTime + LEAD;
    this.sources = this.schedule(this.context, this.volumes, this.startedAt, this.startedFrom);
    const [first] = this.sources;
    first.onended = () => first === this.sources[0] && this.end();
    this.playing = true;
    this.follow();
  }

  /** Say where it is as long as it plays. */
  follow() {
    cancelAnimationFrame(this.frame);
    this.changed();
    if (this.playing) this.frame = requestAnimationFrame(() => this.follow());
  }

  pause() {
    this.startedFrom = this.position;
    this.playing = false;
    for (const source of this.sources.splice(0)) source.stop();
    this.changed();
  }

  toggle() {
    return this.playing ? this.pause() : this.play();
  }

  seek(sample) {
    const again = this.playing;
    if (again) this.pause();
    this.startedFrom = Math.min(this.version.length - 1, Math.max(0, Math.round(sample)));
    this.changed();
    if (again) this.play();
  }

  /** Loop a region; without one, play on. */
  setLoop(from, to) {
    this.startedFrom = this.position;
    if (this.playing) this.startedAt = Math.max(this.startedAt, this.context.currentTime);
    this.loop = from === undefined ? null : regionOf(this.version, from, to);
    for (const source of this.sources) this.setLoopOf(source, this.startedFrom);
    this.changed();
  }

  end() {
    this.pause();
    this.startedFrom = 0;
    this.changed();
  }

  /** Let the volumes follow the gains. */
  updateGains() {
    const targets = this.gains();
    this.volumes.forEach((node, i) => {
      node.gain.setTargetAtTime(targets[i], this.context.currentTime, FADE);
    });
  }
}

/** The rate itself, or 44.1 kHz: not every browser supports low rates. */
function supported(rate) {
  try {
    new OfflineAudioContext(1, 1, rate);
    return rate;
  } catch {
    return 44100;
  }
}

function bytes(base64) {
  const text = atob(base64);
  const array = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) array[i] = text.charCodeAt(i);
  return array;
}

// ---- what is shown -----------------------------------------------------------------------------

const data = JSON.parse(find("#data").textContent);
const rate = supported(data.rate);
const n = data.components.length;
const version = {
  folder: "", recording: "", first_sample: 0, start: data.start, seconds: data.seconds,
  sample_rate: rate, length: Math.round(data.seconds * rate),
  components: data.components, groups: data.groups, levels: flat(n),
};
const mix = new Mix(version, update);
const current = () => mix;

/** Gain of the original, then of each component; nothing is panned here. */
const volumes = () => mix.gains.filter((_, i) => i % 2 === 0);

const player = new Player(version, volumes);

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
const peaks = bytes(data.peaks);
rows.setOverview({ step: data.step * rate, bins: peaks.length / (n + 1), peaks });
for (const title of findAll(".title")) Object.assign(title, { readOnly: true, tabIndex: -1 });
enableCommands(deskCommands, DESK_KEYS, (element) => rows.rowOf(element));
listKeys(find(".keys"), DESK_KEYS);
for (const picture of findAll(".timeline")) {
  const seekThere = (event) => {
    const { left, width } = picture.getBoundingClientRect();
    player.seek(((event.clientX - left) / width) * version.length);
  };
  picture.addEventListener("click", seekThere);
  picture.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && event.buttons & 1) seekThere(event);
  });
}

const loaded = (number) => say(`Loading the sound: ${number} of ${data.sounds.length} …`);
const ready = player.load(data.sounds, loaded).then(
  () => {
    data.sounds = null; // they are decoded
    say("");
    return true;
  },
  () => {
    say("This browser cannot play the previews.");
    return false;
  },
);
player.changed();
if (document.body.classList.contains("fragment")) {
  try { // set the height to that of the content; where the notebook forbids it, the frame scrolls
    const element = window.frameElement;
    new ResizeObserver(() => { element.style.height = `${document.body.offsetHeight}px`; })
      .observe(document.body);
  } catch { /* another origin */ }
}

/** The player, for tests. */
window.phinmfPlayer = Object.freeze({ ready, player, mix, get gains() { return volumes(); } });
