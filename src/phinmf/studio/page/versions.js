import { arrange, button, elementsOf, find, findAll, make, setText } from "./dom.js";
import { dismiss, notice } from "./popups.js";
import { removeVersion, unmixAgain, writeExport } from "./server.js";
import { clock, count, sentence } from "./words.js";

const NO_GROUPS = "There are no groups yet: put components together first";

/** What can be done about a recording that is not here, or that was not unmixed as a whole. */
function advice({ again, versions, jobs }) {
  if (!again) {
    return "The recording itself is not open: start phinmf studio with its file too to unmix it"
      + " again.";
  }
  const onlyPreview = versions.every(({ kind }) => kind === "preview") && !jobs.length;
  return onlyPreview ? "Only a preview is here: “Again …” unmixes the whole recording." : "";
}

/** The versions of a recording side by side, and the form that asks for another one. */
export class Versions {
  /** @param show function to call with the key of a version that was chosen */
  constructor(show) {
    this.show = show;
    this.tabs = new Map(); // by key
    this.form = find(".again-form");
    this.opener = find("[data-action=again]");
    this.opener.addEventListener("click", () => this.toggleForm());
    find("[data-action=remove-version]").addEventListener("click", () => this.remove());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    this.form.addEventListener("keydown", ({ key }) => {
      if (key !== "Escape") return;
      this.toggleForm(false);
      this.opener.focus();
    });
  }

  /** @param groupsOf function of a version that returns its groups as they are in this tab */
  update(recording, shown, groupsOf) {
    Object.assign(this, { recording, shown });
    const versions = recording.versions.map((version) => [version.key, version]);
    arrange(find(".versions"), elementsOf(this.tabs, versions, ({ key }) => this.createTab(key)));
    for (const [key, version] of versions) {
      this.showTab(version, key === shown.key, groupsOf(version).length);
    }
    this.opener.hidden = !recording.again;
    setText(find(".advice"), advice(recording));
    find(".advice").hidden = !advice(recording);
    find("[data-action=remove-version]").hidden = versions.length < 2;
  }

  createTab(key) {
    const attributes = { role: "tab", "aria-controls": "tracks" };
    const tab = button("", "version", () => this.show(key), attributes);
    tab.append(make("b"), make("small"));
    return tab;
  }

  showTab(version, current, groups) {
    const { kind, start, seconds, components, window: length, seed } = version;
    const tab = this.tabs.get(version.key);
    const parts = [
      kind === "whole" ? "" : `${clock(start, 0)} – ${clock(start + seconds, 0)}`,
      count(components.length, "component"),
      groups ? count(groups, "group") : "",
      length.replace(/(\d)(\D)/, "$1 $2"),
      seed === null ? "" : `seed ${seed}`,
    ];
    setText(find("b", tab), version.name);
    setText(find("small", tab), parts.filter(Boolean).join(" · "));
    tab.setAttribute("aria-selected", current);
  }

  /** Show the next version: with the keyboard, to compare. */
  next() {
    const { versions } = this.recording;
    const i = versions.findIndex(({ key }) => key === this.shown.key);
    this.show(versions[(i + 1) % versions.length].key);
  }

  toggleForm(open = this.form.hidden) {
    this.form.hidden = !open;
    this.opener.setAttribute("aria-expanded", open);
    if (open) find("input", this.form).focus();
  }

  async ask() {
    const { n_components: number, window: length, seed } = this.form.elements;
    const problem = find(".problem", this.form);
    problem.hidden = true;
    try {
      await unmixAgain(this.recording.id, {
        n_components: number.value ? Number(number.value) : "auto",
        window: length.value, seed: Number(seed.value), carry_from: this.shown.id,
      });
      this.toggleForm(false);
      seed.value = Number(seed.value) + 1;
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  }

  async remove() {
    const { name, folder, id } = this.shown;
    const files = `The files that the studio wrote to ${folder} are deleted.`;
    if (!window.confirm(`Remove “${name}”? ${files}`)) return;
    try {
      await removeVersion(id);
    } catch (error) {
      notice(error.message, { name: "remove" });
    }
  }
}

/** The buttons that write files and start their download. */
export class Exports {
  /** @param current function that returns the mix of the version that is shown */
  constructor(current) {
    this.current = current;
    this.buttons = findAll("[data-export]");
    this.busy = null; // the button whose files are being written
    for (const element of this.buttons) element.addEventListener("click", () => this.write(element));
  }

  update() {
    const none = !this.current().groups.length;
    for (const element of this.buttons) {
      const unused = element.dataset.export === "groups" && none;
      element.disabled = Boolean(this.busy) || unused;
      element.classList.toggle("busy", element === this.busy);
      element.title = unused ? NO_GROUPS : element.dataset.about;
    }
  }

  async write(element) {
    const mix = this.current();
    this.busy = element;
    this.update();
    dismiss("export");
    try {
      await mix.saving.send(); // the groups that are written are those that are shown
      const levels = mix.levels.map((level, i) => ({ ...level, muted: !mix.sounds(i + 1) }));
      const kind = element.dataset.export;
      const { address, name, message } = await writeExport(mix.version.id, kind, levels);
      make("a", { href: address, download: name }).click();
      notice(`${name}: ${sentence(message)}`, { name: "export", kind: "info" });
    } catch (error) {
      notice(error.message, { name: "export" });
    }
    this.busy = null;
    this.update();
  }
}
