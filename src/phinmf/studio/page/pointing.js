import { arrange, elementsOf, find, make, setPressed, setText } from "./dom.js";
import { allGroups, hue, named, newNames, NO_GROUP, usable } from "./groups.js";
import { drawing } from "./drawing.js";
import { groupGain, QUIETEST } from "./mix.js";
import { player } from "./player.js";
import { notice } from "./popups.js";
import { keepDraft, learnMarks } from "./server.js";
import { Spectrogram } from "./spectrogram.js";
import { Stretches } from "./stretches.js";
import { timeline } from "./timeline.js";
import { count } from "./words.js";

/**
 * Point at it: marks say where a group sounds, or is silent; then what was learned from them is
 * heard, and kept as a version.
 */
class Pointing {
  constructor() {
    const element = find(".pointing");
    Object.assign(this, { element, mix: null, chosen: null, typed: [], says: "", tool: "time" });
    this.spectrogram = new Spectrogram(element);
    this.chips = new Map(); // buttons by name of the group
    this.alone = new Map();
    this.draft = null; // what was learned: {names, marks, before, alone}
    this.learning = false;
    timeline.drawn = () => this.draw();
    this.of = find(".picture-of", element);
    this.of.addEventListener("change", () => this.look());
    find(".new-name", element).addEventListener("change", ({ target }) => this.add(target));
    find(".by-numbers", element).addEventListener("submit", (event) => this.submit(event));
    drawing.enable(this);
  }

  /** Show another version. */
  open(mix) {
    Object.assign(this, { mix, chosen: null, typed: [], draft: null });
    this.look("");
  }

  /** Show the spectrogram of the recording, or of a group. */
  look(name = this.of.value) {
    const group = named(this.mix.groups, name);
    this.spectrogram.open(this.mix, group?.components ?? []);
    this.element.classList.toggle("tinted", Boolean(group));
    find("canvas", this.element).style.setProperty("--hue", hue(group?.colour ?? 0));
  }

  /** All groups that a mark can be about. */
  get groups() {
    const { groups, marks } = this.mix;
    return allGroups(groups, [...newNames(groups, marks), ...this.typed]);
  }

  /** The name of the group that the next mark is about. */
  get group() {
    const { groups, chosen } = this;
    return (named(groups, chosen) ?? groups[0]).name;
  }

  colourOf(name) { return named(this.groups, name)?.colour ?? null; }

  /** Marks, groups, levels or what is chosen are others. */
  update() {
    const { mix, groups, element, draft } = this;
    if (!mix) return;
    this.showChips(find(".chips", element), this.chips, groups.map(({ name }) => name), "about",
      (name) => this.group === name);
    this.showChips(find(".alone", element), this.alone, draft?.names ?? [], "alone",
      (name) => draft.alone === name);
    for (const name of ["says", "tool"]) {
      for (const button of element.querySelectorAll(`[data-action=${name}]`)) {
        setPressed(button, button.dataset.value === this[name]);
      }
    }
    const options = ["", ...mix.groups.map(({ name }) => name)];
    const { value } = this.of;
    if (JSON.stringify(options) !== JSON.stringify([...this.of.options].map((one) => one.value))) {
      this.of.replaceChildren(...options.map((name) => (
        make("option", { value: name, text: name || "the recording" }))));
      this.of.value = options.includes(value) ? value : "";
      if (this.of.value !== value) this.look();
    }
    const hear = find("[data-action=hear]", element);
    hear.disabled = this.learning || !mix.marks.length;
    hear.classList.toggle("busy", this.learning);
    hear.classList.toggle("main", draft?.marks !== mix.marks);
    setText(hear, this.learning ? "Learning …" : "Hear it");
    find("[data-action=before]", element).hidden = !draft;
    find("[data-action=keep]", element).hidden = draft?.marks !== mix.marks;
    find("[aria-label='Hear alone']", element).hidden = !draft;
    setPressed(find("[data-action=before]", element), draft?.before);
    setText(find(".count", element), mix.marks.length ? count(mix.marks.length, "mark")
      : "Mark where a group sounds alone, or is silent.");
    drawing.draw();
  }

  draw() {
    if (!this.mix) return;
    this.spectrogram.draw(timeline.view);
    drawing.draw();
  }

  showChips(list, elements, names, action, pressed) {
    const items = names.map((name) => [name, name]);
    arrange(list, elementsOf(elements, items, (name) => (
      make("li", {}, make("button", { type: "button", "data-action": action, "data-value": name },
        make("span", { class: "dot" }), make("bdi"))))));
    for (const name of names) {
      const chip = elements.get(name);
      const colour = this.colourOf(name);
      chip.classList.toggle("coloured", colour !== null);
      chip.style.setProperty("--hue", hue(colour ?? 0));
      setText(find("bdi", chip), name === NO_GROUP ? "everything else" : name);
      setPressed(find("button", chip), pressed(name));
    }
  }

  // ---- marks -----------------------------------------------------------------------------------

  /** Add a mark about the group that is chosen. */
  mark(shape) {
    const says = this.says ? { silent: true } : {};
    this.mix.change({ marks: [...this.mix.marks, { group: this.group, ...shape, ...says }] });
  }

  remove(mark) {
    this.mix.change({ marks: this.mix.marks.filter((other) => other !== mark) });
  }

  /** A name was typed: the next mark is about that group. */
  add(field) {
    const name = usable(field.value);
    const same = (group) => group.name.toLowerCase() === name.toLowerCase();
    field.value = "";
    if (!name) return;
    this.chosen = this.groups.find(same)?.name ?? name;
    if (this.chosen === name) this.typed = [...this.typed, name];
    this.update();
  }

  submit(event) {
    event.preventDefault();
    const form = event.target.elements;
    const { sample_rate: rate, length } = this.mix.version.marks;
    const [start, end, low, high] = ["start", "end", "low", "high"].map((name) => form[name].value);
    const problem = (field, wrong, words) => field.setCustomValidity(wrong ? words : "");
    problem(form.end, !(Number(end) > Number(start)) || Number(end) > length / rate + 0.001,
      "A later moment of the recording is needed.");
    problem(form.high, high !== "" && !(Number(high) > Number(low) && Number(high) <= rate / 2),
      `More than the lowest frequency is needed, at most ${rate / 2} Hz.`);
    if (!event.target.reportValidity()) return;
    const top = high === "" ? {} : { high: Number(high) };
    this.mark({ start: Number(start), end: Number(end), low: Number(low || 0), ...top });
    event.target.reset();
  }

  // ---- hearing ---------------------------------------------------------------------------------

  /** Learn from the marks, and play what was learned from where the playhead is. */
  async hear() {
    const { mix } = this;
    if (this.learning || !mix.marks.length) return;
    this.learning = true;
    this.update();
    try {
      await mix.save(); // what is saved is learned from
      const { marks } = mix;
      const { groups: names } = await learnMarks(mix.version.id);
      if (this.mix === mix) {
        this.draft = { names, marks, before: false, alone: null };
        this.play();
        if (!player.playing) player.play();
      }
    } catch (error) {
      notice(error.message, { name: "marks" });
    }
    this.learning = false;
    this.update();
  }

  /** Play what was learned, or what was there before. */
  play() {
    const { draft, mix: { version } } = this;
    const loaded = () => player.advance();
    const sounds = draft.before ? new Stretches(version, loaded)
      : new Stretches(version, loaded, "draft/sound", draft.names.length);
    if (!draft.before) Object.defineProperty(sounds, "gains", { get: () => this.gains });
    player.open(sounds);
  }

  /** Factors of what was learned: a group sounds if any of its components does. */
  get gains() {
    const { draft: { names, alone }, mix } = this;
    const others = mix.levels.map((_, i) => i + 1)
      .filter((number) => !mix.groups.some(({ components }) => components.includes(number)));
    const gain = (name) => {
      if (mix.original || (alone && alone !== name)) return 0;
      const numbers = name === NO_GROUP ? others : named(mix.groups, name)?.components ?? [];
      if (!numbers.length) return Number(Boolean(alone) || !mix.solos.size); // it is new
      const level = groupGain(mix.levels, numbers);
      const sounds = alone || numbers.some((number) => mix.sounds(number));
      return sounds && level > QUIETEST ? 10 ** (level / 20) : 0;
    };
    return [Number(mix.original), ...names.map(gain)].flatMap((factor) => [factor, factor]);
  }

  change(parts) {
    Object.assign(this, parts);
    this.update();
  }

  get commands() {
    const toggle = (name) => (row, button) => {
      const { draft } = this;
      if (!draft) return;
      if (name === "before") {
        draft.before = !draft.before;
        this.play();
      } else {
        draft.alone = draft.alone === button.dataset.value ? null : button.dataset.value;
        player.updateGains();
      }
      this.update();
    };
    const choose = (name) => (row, button) => this.change({ [name]: button.dataset.value });
    return {
      about: choose("chosen"), says: choose("says"), tool: choose("tool"),
      alone: toggle("alone"), before: toggle("before"),
      hear: () => this.hear(),
      "remove-mark": () => drawing.selected && this.remove(drawing.selected),
      keep: async () => {
        try {
          await keepDraft(this.mix.version.id);
          const words = "What was learned is written as a version of its own.";
          notice(words, { name: "marks", kind: "info" });
        } catch (error) {
          notice(error.message, { name: "marks" });
        }
      },
    };
  }
}

export const pointing = new Pointing();
