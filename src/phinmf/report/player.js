import { enableCommands, enableFaders, listKeys, showControls, showTransport } from "./core/controls.js";
import { find, findAll, setPressed, setText } from "./core/dom.js";
import { flat, Mix } from "./core/mix.js";
import { clock } from "./core/words.js";

/** The page of a folder: it plays the original and all components in sync. */

const LEAD = 0.03; // seconds: sounds are scheduled in the future, so that all start in time
const FADE = 0.008; // seconds: gains change gradually, so that nothing clicks

/** Plays sounds that are in memory: all sources start at the same time of one clock. */
class Playback {
  /**
   * @param data seconds, rate and sounds (base64) of the page
   * @param gains function that returns the gain of the original, then of each component
   * @param changed function to call when it starts, stops or moves
   * @param finished function to call when it has played to the end
   */
  constructor(data, gains, changed, finished) {
    Object.assign(this, { gains, changed, finished, seconds: data.seconds });
    this.rate = supported(data.rate);
    this.buffers = []; // the original, then the components
    this.context = null; // made when play is first called: browsers require a gesture
    this.volumes = []; // gain nodes in the order of the buffers
    this.sources = [];
    this.playing = false;
    this.startedAt = 0; // time of the context's clock
    this.startedFrom = 0; // position in the preview; the current one while nothing plays
  }

  /** Decode all sounds; `progress` is called with the number that is done. */
  async load(sounds, progress) {
    const decoder = new OfflineAudioContext(1, 1, this.rate);
    for (const sound of sounds) {
      this.buffers.push(await decoder.decodeAudioData(bytes(sound)));
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

  schedule(context, volumes, when, from) {
    return this.buffers.map((buffer, i) => {
      const source = new AudioBufferSourceNode(context, { buffer });
      source.connect(volumes[i]);
      source.start(when, from, Math.max(0, this.seconds - from));
      return source;
    });
  }

  get position() {
    const passed = this.playing ? Math.max(0, this.context.currentTime - this.startedAt) : 0;
    return Math.min(this.seconds, this.startedFrom + passed);
  }

  async play() {
    this.context ??= new AudioContext({ sampleRate: this.rate });
    await this.context.resume();
    if (this.playing) return;
    if (!this.volumes.length) this.volumes = this.makeVolumes(this.context);
    if (this.startedFrom >= this.seconds - 0.01) this.startedFrom = 0;
    this.startedAt = this.context.currentTime + LEAD;
    this.sources = this.schedule(this.context, this.volumes, this.startedAt, this.startedFrom);
    const [first] = this.sources;
    first.onended = () => first === this.sources[0] && this.end();
    this.playing = true;
    this.changed();
  }

  pause() {
    this.startedFrom = this.position;
    this.playing = false;
    for (const source of this.sources.splice(0)) source.stop();
    this.changed();
  }

  async seek(seconds) {
    const again = this.playing;
    if (again) this.pause();
    this.startedFrom = Math.min(this.seconds, Math.max(0, seconds));
    this.changed();
    if (again) await this.play();
  }

  end() {
    this.pause();
    this.startedFrom = 0;
    this.changed();
    this.finished();
  }

  /** Let the volumes follow the gains. */
  update() {
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
  return array.buffer;
}

// ---- what is shown -----------------------------------------------------------------------------

const KEYS = [
  ["Space", "play, pause", { " ": "play" }],
  ["← →", "back, on", { ArrowLeft: "back", ArrowRight: "on" }],
  ["Home", "to the start", { Home: "start" }],
  ["1–9", "solo; with Shift mute", { digit: "solo", "Shift digit": "mute" }],
  ["O", "original, components", { o: "original" }],
  ["R", "repeat", { r: "repeat" }],
  ["Z", "undo; with Shift redo", { z: "undo", "Shift z": "redo" }],
  ["0", "reset", { 0: "reset" }],
];

const data = JSON.parse(find("#sound").textContent);
const step = Math.min(5, data.seconds / 10); // of the arrow keys
const rows = findAll("[data-component], [data-group]");
const mix = new Mix({ levels: flat(data.sounds.length - 1) }, update);
let repeat = false;

/** Numbers of the components that a row stands for. */
const members = ({ component, group }) => String(component ?? group).split(" ").map(Number);

/** Gain of the original, then of each component; nothing is panned here. */
const volumes = () => mix.gains.filter((_, i) => i % 2 === 0);

const playback = new Playback(data, volumes, showPosition, () => repeat && play());
const slider = find(".position");
let frame = 0; // the next one to draw

function say(words) {
  setText(find(".status"), words);
  find(".status").hidden = !words;
}

function showPosition() {
  const { position, playing } = playback;
  document.body.style.setProperty("--at", position / data.seconds);
  slider.value = position;
  slider.setAttribute("aria-valuetext", clock(data.start + position));
  showTransport(document.body, playing, data.start + position);
}

/** Move the cursor as long as it plays. */
function follow() {
  cancelAnimationFrame(frame);
  if (!playback.playing) return;
  showPosition();
  frame = requestAnimationFrame(follow);
}

/** Set gains, buttons and rows to the state of the player. */
function update() {
  playback.update();
  setPressed(find("[data-action=original]"), mix.original);
  setPressed(find("[data-action=repeat]"), repeat);
  find(".original").classList.toggle("silent", !mix.original);
  for (const row of rows) showControls(row, members(row.dataset), mix);
}

// ---- controls ----------------------------------------------------------------------------------

async function play() {
  if (!(await ready)) return;
  await playback.play();
  follow();
}

const seek = (seconds) => playback.seek(seconds).then(follow);

const components = (act) => (row) => {
  const numbers = members(row).filter((number) => number <= mix.levels.length);
  if (numbers.length) act(numbers);
};

const commands = {
  play: () => (playback.playing ? playback.pause() : play()),
  back: () => seek(playback.position - step),
  on: () => seek(playback.position + step),
  start: () => seek(0),
  solo: components((numbers) => mix.toggleSolo(numbers)),
  mute: components((numbers) => mix.toggleMute(numbers)),
  original: () => mix.hearOriginal(),
  reset: () => mix.reset(),
  undo: () => mix.undo(),
  redo: () => mix.redo(),
  repeat: () => {
    repeat = !repeat;
    update();
  },
};
enableCommands(commands, KEYS, (element) => ({ ...element.closest(".row")?.dataset }));
listKeys(find(".keys"), KEYS);

slider.addEventListener("input", () => seek(Number(slider.value)));
enableFaders(find(".rows"), () => mix, (fader) => members(fader.closest(".row").dataset));
for (const timeline of findAll(".timeline")) {
  const seekThere = (event) => {
    const { left, width } = timeline.getBoundingClientRect();
    seek(((event.clientX - left) / width) * data.seconds);
  };
  timeline.addEventListener("click", seekThere);
  timeline.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && event.buttons & 1) seekThere(event);
  });
}

// ---- begin -------------------------------------------------------------------------------------

const loaded = (number) => say(`Loading the sound: ${number} of ${data.sounds.length} …`);
const ready = playback.load(data.sounds, loaded).then(
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
update();
showPosition();
if (document.body.classList.contains("fragment")) {
  try { // set the height to that of the content; where the notebook forbids it, the frame scrolls
    const element = window.frameElement;
    new ResizeObserver(() => { element.style.height = `${document.body.offsetHeight}px`; })
      .observe(document.body);
  } catch { /* another origin */ }
}

/** The player, for tests. */
window.phinmfPlayer = Object.freeze({ ready, playback, get gains() { return volumes(); } });
