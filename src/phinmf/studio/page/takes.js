import { arrange, button, elementsOf, find, make, onClick, setText } from "./dom.js";
import { notice } from "./notices.js";
import { removeTake, unmixAgain } from "./server.js";
import { clock, count } from "./words.js";

/** What can be done about a recording that is not here, or that was not unmixed as a whole. */
function advice({ again, takes, jobs }) {
  if (!again) return "The recording itself is not open: start phinmf studio with its file too to unmix it again.";
  const onlyPreview = takes.every((take) => take.kind === "preview") && !jobs.length;
  return onlyPreview ? "Only a preview is here: “Again …” unmixes the whole recording." : "";
}

/** The takes of a recording side by side, and the form that asks for another one. */
export class Takes {
  /** @param show function to call with the key of a take that was chosen */
  constructor(show) {
    this.show = show;
    this.tabs = new Map(); // by key
    this.bar = find(".takes");
    this.form = find(".again-form");
    this.opener = find("[data-action=again]");
    onClick(this.opener, () => this.toggleForm());
    onClick(find("[data-action=remove-take]"), () => this.remove());
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.ask(); });
    this.form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { this.toggleForm(false); this.opener.focus(); }
    });
    this.form.addEventListener("change", () => this.updateForm());
    this.updateForm();
  }

  /**
   * @param groupsOf function of a take that returns its groups as they are in this tab
   */
  update(recording, shown, groupsOf) {
    const { takes } = recording;
    Object.assign(this, { recording, shown });
    arrange(this.bar, elementsOf(this.tabs, takes.map((take) => [take.key, take]), (take) => this.createTab(take)));
    for (const take of takes) this.showTab(take, take.key === shown.key, groupsOf(take));
    this.opener.hidden = !recording.again;
    setText(find(".advice"), advice(recording));
    find(".advice").hidden = !advice(recording);
    find("[data-action=remove-take]").hidden = takes.length < 2;
  }

  createTab({ key }) {
    const tab = button("", "take", () => this.show(key), { role: "tab", "aria-controls": "tracks" });
    tab.append(make("b"), make("small"));
    return tab;
  }

  showTab(take, current, groups) {
    const tab = this.tabs.get(take.key);
    const part = take.kind === "whole" ? "" : `${clock(take.start, 0)} – ${clock(take.start + take.seconds, 0)}`;
    const parts = [part, count(take.components.length, "component"), groups.length ? count(groups.length, "group") : "",
      take.window.replace(/(\d)(\D)/, "$1 $2"), take.seed === null ? "" : `seed ${take.seed}`];
    setText(find("b", tab), take.name);
    setText(find("small", tab), parts.filter(Boolean).join(" · "));
    tab.dataset.take = take.id;
    tab.setAttribute("aria-selected", current);
  }

  /** Show the next take: with the keyboard, to compare. */
  next(step) {
    const { takes } = this.recording;
    const at = takes.findIndex(({ key }) => key === this.shown.key);
    this.show(takes[(at + step + takes.length) % takes.length].key);
  }

  toggleForm(open = this.form.hidden) {
    this.form.hidden = !open;
    this.opener.setAttribute("aria-expanded", open);
    if (open) find("select, input", this.form).focus();
  }

  updateForm() {
    const { how, n_components: number } = this.form.elements;
    number.disabled = how.value === "auto";
  }

  async ask() {
    const { how, n_components: number, window: length, seed } = this.form.elements;
    const options = {
      n_components: how.value === "auto" ? "auto" : Number(number.value),
      window: length.value, seed: Number(seed.value), carry_from: this.shown.id,
    };
    const problem = find(".problem", this.form);
    problem.hidden = true;
    try {
      await unmixAgain(this.recording.id, options);
      this.toggleForm(false);
      seed.value = Number(seed.value) + 1;
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  }

  async remove() {
    const { name, folder, id } = this.shown;
    if (!window.confirm(`Remove “${name}”? The files that the studio wrote to ${folder} are deleted.`)) return;
    try {
      await removeTake(id);
    } catch (error) {
      notice(error.message, { name: "remove" });
    }
  }
}
