"use strict";
// All parts play together: one source per part, started at the same instant of one clock.
(() => {
  const data = JSON.parse(document.getElementById("sound").textContent);
  const find = (selector, within = document) => within.querySelector(selector);
  const findAll = (selector) => [...document.querySelectorAll(selector)];
  let rate = data.rate;
  try {
    new OfflineAudioContext(1, 1, rate);
  } catch {
    rate = 44100; // not every browser has the low ones
  }

  // ---- what is to be heard -------------------------------------------------------------------

  const parts = findAll("[data-part]").map((row) => ({ row, solo: false, mute: false, decibels: 0 }));
  let heard = "sum"; // or "mixture"
  let repeat = false;

  /** Gain of the mixture, then of each part. */
  function gains() {
    const anySolo = parts.some((part) => part.solo);
    const ofPart = ({ solo, mute, decibels }) =>
      heard === "mixture" || mute || (anySolo && !solo) ? 0 : 10 ** (decibels / 20);
    return [heard === "mixture" ? 1 : 0, ...parts.map(ofPart)];
  }

  // ---- sound ---------------------------------------------------------------------------------

  const buffers = []; // the mixture, then the parts
  const LEAD = 0.03; // seconds: what is scheduled lies in the future, so that all are in time
  const FADE = 0.008; // seconds: gains glide, so that nothing clicks
  let context = null; // made by the first press of play: browsers want a gesture
  let volumes = []; // gain nodes in the order of the buffers
  let sources = [];
  let playing = false;
  let startedAt = 0; // on the clock of the context
  let startedFrom = 0; // in the preview; where it stands while nothing plays

  function bytes(base64) {
    const text = atob(base64);
    const array = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) array[i] = text.charCodeAt(i);
    return array.buffer;
  }

  async function load() {
    const decoder = new OfflineAudioContext(1, 1, rate);
    for (const sound of data.sounds) {
      buffers.push(await decoder.decodeAudioData(bytes(sound)));
      say(`Loading the sound: ${buffers.length} of ${data.sounds.length} …`);
    }
    data.sounds = null; // decoded now
    say("");
  }

  function makeVolumes(target) {
    return gains().map((gain) => {
      const node = new GainNode(target, { gain });
      node.connect(target.destination);
      return node;
    });
  }

  function schedule(target, nodes, when, from) {
    return buffers.map((buffer, i) => {
      const source = new AudioBufferSourceNode(target, { buffer });
      source.connect(nodes[i]);
      source.start(when, from, Math.max(0, data.seconds - from));
      return source;
    });
  }

  function position() {
    const passed = playing ? Math.max(0, context.currentTime - startedAt) : 0;
    return Math.min(data.seconds, startedFrom + passed);
  }

  async function play() {
    if (!(await ready)) return;
    context ??= new AudioContext({ sampleRate: rate });
    await context.resume();
    if (playing) return;
    if (!volumes.length) volumes = makeVolumes(context);
    if (startedFrom >= data.seconds - 0.01) startedFrom = 0;
    startedAt = context.currentTime + LEAD;
    sources = schedule(context, volumes, startedAt, startedFrom);
    const [first] = sources;
    first.onended = () => first === sources[0] && ended();
    playing = true;
    showTransport();
    follow();
  }

  function pause() {
    startedFrom = position();
    playing = false;
    for (const source of sources.splice(0)) source.stop();
    showTransport();
  }

  function seek(seconds) {
    const again = playing;
    if (again) pause();
    startedFrom = Math.min(data.seconds, Math.max(0, seconds));
    showTransport();
    return again ? play() : Promise.resolve();
  }

  function ended() {
    pause();
    startedFrom = 0;
    showTransport();
    if (repeat) play();
  }

  // ---- what is to be seen --------------------------------------------------------------------

  const playButton = find(".play");
  const slider = find(".position");
  const now = find(".now");
  const status = find(".status");

  function say(words) {
    status.textContent = words;
    status.hidden = !words;
  }

  function clock(seconds) {
    const tenths = Math.round(10 * seconds);
    const rest = String(((tenths % 600) / 10).toFixed(1)).padStart(4, "0");
    return `${Math.floor(tenths / 600)}:${rest}`;
  }

  function showTransport() {
    const at = position();
    document.body.style.setProperty("--at", at / data.seconds);
    slider.value = at;
    now.textContent = clock(data.start + at);
    slider.setAttribute("aria-valuetext", now.textContent);
    document.body.classList.toggle("playing", playing);
    playButton.setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  function follow() {
    if (!playing) return;
    showTransport();
    requestAnimationFrame(follow);
  }

  /** Bring gains, buttons and rows in line with what is to be heard. */
  function update() {
    const wanted = gains();
    volumes.forEach((node, i) => node.gain.setTargetAtTime(wanted[i], context.currentTime, FADE));
    document.body.classList.toggle("mixture", heard === "mixture");
    for (const radio of findAll("[name=heard]")) radio.checked = radio.value === heard;
    find(".repeat").setAttribute("aria-pressed", repeat);
    parts.forEach((part, i) => {
      part.row.classList.toggle("silent", wanted[i + 1] === 0);
      find(".solo", part.row).setAttribute("aria-pressed", part.solo);
      find(".mute", part.row).setAttribute("aria-pressed", part.mute);
      const words = `${part.decibels > 0 ? "+" : ""}${part.decibels}`.replace("-", "−") + " dB";
      find(".gain input", part.row).value = part.decibels;
      find(".gain input", part.row).setAttribute("aria-valuetext", words);
      find(".gain output", part.row).textContent = words;
    });
  }

  // ---- what can be done ----------------------------------------------------------------------

  function change(what) {
    what();
    update();
  }

  const toggleSolo = (part) => change(() => { part.solo = !part.solo; heard = "sum"; });
  const toggleMute = (part) => change(() => { part.mute = !part.mute; heard = "sum"; });
  const toggleRepeat = () => change(() => { repeat = !repeat; });
  const toggleHeard = () => change(() => { heard = heard === "sum" ? "mixture" : "sum"; });
  const togglePlay = () => (playing ? pause() : play());

  function reset() {
    change(() => {
      heard = "sum";
      for (const part of parts) Object.assign(part, { solo: false, mute: false, decibels: 0 });
    });
  }

  function onClick(element, act) {
    element.addEventListener("click", (event) => {
      act();
      if (event.detail) element.blur(); // after the mouse, the space bar is for playing again
    });
  }

  onClick(playButton, togglePlay);
  onClick(find(".repeat"), toggleRepeat);
  onClick(find(".reset"), reset);
  slider.addEventListener("input", () => seek(Number(slider.value)));
  for (const radio of findAll("[name=heard]")) {
    radio.addEventListener("change", () => change(() => { heard = radio.value; }));
  }
  for (const part of parts) {
    onClick(find(".solo", part.row), () => toggleSolo(part));
    onClick(find(".mute", part.row), () => toggleMute(part));
    const fader = find(".gain input", part.row);
    fader.addEventListener("input", () => change(() => { part.decibels = Number(fader.value); }));
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
  const keys = {
    " ": togglePlay,
    ArrowLeft: () => seek(position() - step),
    ArrowRight: () => seek(position() + step),
    Home: () => seek(0),
    m: toggleHeard,
    r: toggleRepeat,
    0: reset,
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key, code, target } = event;
    if (key === " " && target.closest("button, a")) return; // it presses that button
    if (/^(Arrow|Home)/.test(key) && target.closest(".gain, .switch")) return; // it moves that
    const digit = /^(?:Digit|Numpad)([1-9])$/.exec(code)?.[1];
    const part = digit && parts[digit - 1];
    const act = part
      ? () => (event.shiftKey ? toggleMute : toggleSolo)(part)
      : keys[key.length === 1 ? key.toLowerCase() : key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    if (!event.repeat || key.startsWith("Arrow")) act();
  });

  // ---- begin ---------------------------------------------------------------------------------

  const ready = load().then(() => true, () => {
    say("This browser cannot play the previews.");
    return false;
  });
  update();
  showTransport();
  if (document.body.classList.contains("fragment")) {
    try { // as high as what is in it; where the notebook does not allow it, it scrolls
      const frame = window.frameElement;
      new ResizeObserver(() => { frame.style.height = `${document.body.offsetHeight}px`; })
        .observe(document.body);
    } catch { /* another origin */ }
  }

  /** What the player does, to be read: for tests and the curious. */
  window.phinmfPlayer = Object.freeze({
    ready,
    get playing() { return playing; },
    get position() { return position(); },
    get seconds() { return data.seconds; },
    get gains() { return gains(); },
    get volumes() { return volumes.map((node) => node.gain.value); },
    get sources() { return sources.length; },
    get buffers() { return [...buffers]; },
    /** What would be heard from a position on, computed rather than played. */
    render(from, seconds) {
      const frames = Math.round(seconds * rate);
      const offline = new OfflineAudioContext(buffers[0].numberOfChannels, frames, rate);
      schedule(offline, makeVolumes(offline), 0, from);
      return offline.startRendering();
    },
  });
})();
