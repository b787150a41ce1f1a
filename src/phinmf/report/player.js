"use strict";
// The player: what is heard, what is shown, and the controls.
(() => {
  const data = JSON.parse(document.getElementById("sound").textContent);
  const find = (selector, within = document) => within.querySelector(selector);
  const findAll = (selector) => [...document.querySelectorAll(selector)];

  // ---- what is heard ------------------------------------------------------------------------

  const components = findAll("[data-component]")
    .map((row) => ({ row, number: Number(row.dataset.component), solo: false, mute: false, decibels: 0 }))
    .sort((a, b) => a.number - b.number); // rows are in the order of groups, sounds are not
  const groups = findAll("[data-group]")
    .map((row) => ({ row, members: row.dataset.group.split(" ").map((number) => components[number - 1]) }));
  let heard = "sum"; // or "mixture"
  let repeat = false;

  /** Gain of the mixture, then of each component. */
  function gains() {
    const anySolo = components.some((component) => component.solo);
    const ofComponent = ({ solo, mute, decibels }) =>
      heard === "mixture" || mute || (anySolo && !solo) ? 0 : 10 ** (decibels / 20);
    return [heard === "mixture" ? 1 : 0, ...components.map(ofComponent)];
  }

  const playback = new Playback(data, gains, showTransport, () => repeat && play());

  async function play() {
    if (!(await ready)) return;
    await playback.play();
    follow();
  }

  const pause = () => playback.pause();
  const seek = (seconds) => playback.seek(seconds).then(follow);

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
    const at = playback.position;
    document.body.style.setProperty("--at", at / data.seconds);
    slider.value = at;
    now.textContent = clock(data.start + at);
    slider.setAttribute("aria-valuetext", now.textContent);
    document.body.classList.toggle("playing", playback.playing);
    playButton.setAttribute("aria-label", playback.playing ? "Pause" : "Play");
  }

  let frame = 0; // the next one to draw

  function follow() {
    cancelAnimationFrame(frame);
    if (!playback.playing) return;
    showTransport();
    frame = requestAnimationFrame(follow);
  }

  /** Set gains, buttons and rows to the state of the player. */
  function update() {
    const wanted = gains();
    playback.update();
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
    updateGroups();
  }

  /** Show the buttons of groups: pressed if they are for all members, mixed if for some. */
  function updateGroups() {
    for (const { row, members } of groups) {
      row.classList.toggle("silent", members.every((component) => component.row.classList.contains("silent")));
      for (const what of ["solo", "mute"]) {
        const n = members.filter((component) => component[what]).length;
        find(`.${what}`, row).setAttribute("aria-pressed", n === members.length || (n > 0 && "mixed"));
      }
    }
  }

  // ---- controls -----------------------------------------------------------------------------

  function change(what) {
    what();
    update();
  }

  const toggleSolo = (component) => change(() => { component.solo = !component.solo; heard = "sum"; });
  const toggleMute = (component) => change(() => { component.mute = !component.mute; heard = "sum"; });
  const toggleAll = (members, what) => change(() => {
    const on = !members.every((component) => component[what]);
    for (const component of members) component[what] = on;
    heard = "sum";
  });
  const toggleRepeat = () => change(() => { repeat = !repeat; });
  const toggleHeard = () => change(() => { heard = heard === "sum" ? "mixture" : "sum"; });
  const togglePlay = () => (playback.playing ? pause() : play());

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
  for (const { row, members } of groups) {
    for (const what of ["solo", "mute"]) onClick(find(`.${what}`, row), () => toggleAll(members, what));
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
    ArrowLeft: () => seek(playback.position - step),
    ArrowRight: () => seek(playback.position + step),
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

  const loaded = (n) => say(`Loading the sound: ${n} of ${data.sounds.length} …`);
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
      const frame = window.frameElement;
      new ResizeObserver(() => { frame.style.height = `${document.body.offsetHeight}px`; })
        .observe(document.body);
    } catch { /* another origin */ }
  }

  /** The state of the player, read-only: for tests. */
  window.phinmfPlayer = Object.freeze({
    ready,
    get playing() { return playback.playing; },
    get position() { return playback.position; },
    get seconds() { return data.seconds; },
    get gains() { return gains(); },
    get volumes() { return playback.volumes.map((node) => node.gain.value); },
    get sources() { return playback.sources.length; },
    get buffers() { return [...playback.buffers]; },
    render: (from, seconds) => playback.render(from, seconds),
  });
})();
