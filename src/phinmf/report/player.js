"use strict";
// All components play in sync: one source for each, all started at the same time of one clock.
(() => {
  const data = JSON.parse(document.getElementById("sound").textContent);
  const find = (selector, within = document) => within.querySelector(selector);
  const findAll = (selector) => [...document.querySelectorAll(selector)];
  let rate = data.rate;
  try {
    new OfflineAudioContext(1, 1, rate);
  } catch {
    rate = 44100; // not every browser supports low rates
  }

  // ---- what is heard ------------------------------------------------------------------------

  const components = findAll("[data-component]").map((row) => ({ row, solo: false, mute: false, decibels: 0 }));
  let heard = "sum"; // or "mixture"
  let repeat = false;

  /** Gain of the mixture, then of each component. */
  function gains() {
    const anySolo = components.some((component) => component.solo);
    const ofComponent = ({ solo, mute, decibels }) =>
      heard === "mixture" || mute || (anySolo && !solo) ? 0 : 10 ** (decibels / 20);
    return [heard === "mixture" ? 1 : 0, ...components.map(ofComponent)];
  }

  // ---- sound ---------------------------------------------------------------------------------

  const buffers = []; // the mixture, then the components
  const LEAD = 0.03; // seconds: sources are scheduled in the future, so that all start in time
  const FADE = 0.008; // seconds: gains change gradually, so that nothing clicks
  let context = null; // made when play is first pressed: browsers require a gesture
  let volumes = []; // gain nodes in the order of the buffers
  let sources = [];
  let playing = false;
  let startedAt = 0; // time of the context's clock
  let startedFrom = 0; // position in the preview; the current one while nothing plays

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

  // ---- what is shown -------------------------------------------------------------------------

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

  /** Set gains, buttons and rows to the state of the player. */
  function update() {
    const wanted = gains();
    volumes.forEach((node, i) => node.gain.setTargetAtTime(wanted[i], context.currentTime, FADE));
    document.body.classList.toggle("mixture", heard === "mixture");
    for (const radio of findAll("[name=heard]")) radio.checked = radio.value === heard;
    find(".repeat").setAttribute("aria-pressed", repeat);
    components.forEach((component, i) => {
      component.row.classList.toggle("silent", wanted[i + 1] === 0);
      find(".solo", component.row).setAttribute("aria-pressed", component.solo);
      find(".mute", component.row).setAttribute("aria-pressed", component.mute);
      const words = `${component.decibels > 0 ? "+" : ""}${component.decibels}`.replace("-", "−") + " dB";
      find(".gain input", component.row).value = component.decibels;
      find(".gain input", component.row).setAttribute("aria-valuetext", words);
      find(".gain output", component.row).textContent = words;
    });
  }

  // ---- controls -----------------------------------------------------------------------------

  function change(what) {
    what();
    update();
  }

  const toggleSolo = (component) => change(() => { component.solo = !component.solo; heard = "sum"; });
  const toggleMute = (component) => change(() => { component.mute = !component.mute; heard = "sum"; });
  const toggleRepeat = () => change(() => { repeat = !repeat; });
  const toggleHeard = () => change(() => { heard = heard === "sum" ? "mixture" : "sum"; });
  const togglePlay = () => (playing ? pause() : play());

  function reset() {
    change(() => {
      heard = "sum";
      for (const component of components) Object.assign(component, { solo: false, mute: false, decibels: 0 });
    });
  }

  function onClick(element, act) {
    element.addEventListener("click", (event) => {
      act();
      if (event.detail) element.blur(); // so that after a click the space bar plays again
    });
  }

  onClick(playButton, togglePlay);
  onClick(find(".repeat"), toggleRepeat);
  onClick(find(".reset"), reset);
  slider.addEventListener("input", () => seek(Number(slider.value)));
  for (const radio of findAll("[name=heard]")) {
    radio.addEventListener("change", () => change(() => { heard = radio.value; }));
  }
  for (const component of components) {
    onClick(find(".solo", component.row), () => toggleSolo(component));
    onClick(find(".mute", component.row), () => toggleMute(component));
    const fader = find(".gain input", component.row);
    fader.addEventListener("input", () => change(() => { component.decibels = Number(fader.value); }));
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
    if (key === " " && target.closest("button, a")) return; // the key presses that button
    if (/^(Arrow|Home)/.test(key) && target.closest(".gain, .switch")) return; // the key moves that control
    const digit = /^(?:Digit|Numpad)([1-9])$/.exec(code)?.[1];
    const component = digit && components[digit - 1];
    const act = component
      ? () => (event.shiftKey ? toggleMute : toggleSolo)(component)
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
    try { // set the height to that of the content; where the notebook forbids it, the frame scrolls
      const frame = window.frameElement;
      new ResizeObserver(() => { frame.style.height = `${document.body.offsetHeight}px`; })
        .observe(document.body);
    } catch { /* another origin */ }
  }

  /** The state of the player, read-only: for tests. */
  window.phinmfPlayer = Object.freeze({
    ready,
    get playing() { return playing; },
    get position() { return position(); },
    get seconds() { return data.seconds; },
    get gains() { return gains(); },
    get volumes() { return volumes.map((node) => node.gain.value); },
    get sources() { return sources.length; },
    get buffers() { return [...buffers]; },
    /** What would be heard from a position on, computed instead of played. */
    render(from, seconds) {
      const frames = Math.round(seconds * rate);
      const offline = new OfflineAudioContext(buffers[0].numberOfChannels, frames, rate);
      schedule(offline, makeVolumes(offline), 0, from);
      return offline.startRendering();
    },
  });
})();
