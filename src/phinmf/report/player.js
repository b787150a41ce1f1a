import { find, findAll, onClick, setPressed, setText } from "./core/dom.js";
import { enableKeys } from "./core/keys.js";
import { adjusted, flat, gains, sounds, toggledMutes, toggledSolos } from "./core/levels.js";
import { clock, decibels } from "./core/words.js";
import { Playback } from "./playback.js";

/** The page of a folder: what is heard, what is shown, and the controls. */

const data = JSON.parse(find("#sound").textContent);
const rows = findAll("[data-component], [data-group]").map((row) => ({
  row, numbers: (row.dataset.component ?? row.dataset.group).split(" ").map(Number),
}));
const n = findAll("[data-component]").length;
const untouched = { levels: flat(n), solos: new Set(), original: false };
const state = { ...untouched, repeat: false };

/** Gain of the mixture, then of each component; nothing is panned here. */
const factors = () => gains(state.levels, state.solos, state.original).filter((_, i) => i % 2 === 0);

const playback = new Playback(data, factors, showTransport, () => state.repeat && play());

async function play() {
  if (!(await ready)) return;
  await playback.play();
  follow();
}

const seek = (seconds) => playback.seek(seconds).then(follow);

// ---- what is shown -----------------------------------------------------------------------------

const slider = find(".position");
let frame = 0; // the next one to draw

function say(words) {
  setText(find(".status"), words);
  find(".status").hidden = !words;
}

function showTransport() {
  const { position, playing } = playback;
  document.body.style.setProperty("--at", position / data.seconds);
  slider.value = position;
  setText(find(".now"), clock(data.start + position));
  slider.setAttribute("aria-valuetext", clock(data.start + position));
  document.body.classList.toggle("playing", playing);
  find(".play").setAttribute("aria-label", playing ? "Pause" : "Play");
}

function follow() {
  cancelAnimationFrame(frame);
  if (!playback.playing) return;
  showTransport();
  frame = requestAnimationFrame(follow);
}

/** Set gains, buttons and rows to the state of the player. */
function update() {
  playback.update();
  document.body.classList.toggle("mixture", state.original);
  for (const radio of findAll("[name=heard]")) radio.checked = (radio.value === "mixture") === state.original;
  setPressed(find(".repeat"), state.repeat);
  for (const { row, numbers } of rows) showRow(row, numbers);
}

/** Show a component or a group: its buttons are pressed if they are for all of it, mixed if for some. */
function showRow(row, numbers) {
  const { levels, solos, original } = state;
  row.classList.toggle("silent", original || !numbers.some((number) => sounds(number, levels, solos)));
  const show = (button, test) => {
    const pressed = numbers.filter(test).length;
    button.setAttribute("aria-pressed", pressed === numbers.length || (pressed > 0 && "mixed"));
  };
  show(find(".solo", row), (number) => solos.has(number));
  show(find(".mute", row), (number) => levels[number - 1].muted);
  const fader = find(".gain input", row);
  if (!fader) return;
  const gain = levels[numbers[0] - 1].gain_db;
  const words = `${decibels(gain)} dB`;
  fader.value = gain;
  fader.setAttribute("aria-valuetext", words);
  setText(find(".gain output", row), words);
}

// ---- controls ----------------------------------------------------------------------------------

function change(changes) {
  Object.assign(state, changes);
  update();
}

const toggleSolo = (numbers) => change({ solos: toggledSolos(state.solos, numbers), original: false });
const toggleMute = (numbers) => change({ levels: toggledMutes(state.levels, numbers), original: false });
const setGain = (numbers, gain_db) => change({ levels: adjusted(state.levels, numbers, () => ({ gain_db })) });
const toggleRepeat = () => change({ repeat: !state.repeat });
const togglePlay = () => (playback.playing ? playback.pause() : play());
const reset = () => change(untouched);

onClick(find(".play"), togglePlay);
onClick(find(".repeat"), toggleRepeat);
onClick(find(".reset"), reset);
slider.addEventListener("input", () => seek(Number(slider.value)));
for (const radio of findAll("[name=heard]")) {
  radio.addEventListener("change", () => change({ original: radio.value === "mixture" }));
}
for (const { row, numbers } of rows) {
  onClick(find(".solo", row), () => toggleSolo(numbers));
  onClick(find(".mute", row), () => toggleMute(numbers));
  find(".gain input", row)?.addEventListener("input", ({ target }) => setGain(numbers, Number(target.value)));
}
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

const step = Math.min(5, data.seconds / 10);
const byNumber = (act) => (number) => { if (number <= n) act([number]); };
enableKeys({
  " ": togglePlay,
  ArrowLeft: () => seek(playback.position - step),
  ArrowRight: () => seek(playback.position + step),
  Home: () => seek(0),
  digit: byNumber(toggleSolo),
  shiftDigit: byNumber(toggleMute),
  m: () => change({ original: !state.original }),
  r: toggleRepeat,
  0: reset,
});

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
showTransport();
if (document.body.classList.contains("fragment")) {
  try { // set the height to that of the content; where the notebook forbids it, the frame scrolls
    const element = window.frameElement;
    new ResizeObserver(() => { element.style.height = `${document.body.offsetHeight}px`; })
      .observe(document.body);
  } catch { /* another origin */ }
}

/** The player, for tests. */
window.phinmfPlayer = Object.freeze({ ready, playback, get gains() { return factors(); } });
