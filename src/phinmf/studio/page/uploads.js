import { arrange, button, find, make, onClick } from "./dom.js";
import { notice } from "./notices.js";
import { upload } from "./server.js";

/** Files on their way to the server: dropped anywhere, or chosen. One is sent after the other. */
export class Uploads {
  /** @param added function to call with the id of a recording that arrived */
  constructor(added) {
    this.added = added;
    this.entries = []; // {file, item, ...}: those that wait, the one that is sent, those that failed
    this.busy = false;
    const input = find("input[type=file]");
    onClick(find("[data-action=choose]"), () => input.click());
    input.addEventListener("change", () => { this.add(input.files); input.value = ""; });
    this.acceptDrops();
  }

  acceptDrops() {
    const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    const over = (receiving) => document.body.classList.toggle("receiving", receiving);
    document.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      over(true);
    });
    document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) over(false); });
    document.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      over(false);
      this.add(soundFiles(event.dataTransfer));
    });
  }

  add(files) {
    for (const file of files) this.entries.push(this.entry(file));
    this.show();
    this.sendNext();
  }

  entry(file) {
    const bar = make("progress", { max: 1, value: 0, "aria-label": `Sending ${file.name}` });
    const words = make("p", { class: "doing", text: "Waiting to be sent" });
    const stop = button("Cancel", "cancel-upload", () => this.remove(entry), { "aria-label": `Do not send ${file.name}` });
    const name = make("p", { class: "file" }, make("bdi", { text: file.name }));
    const item = make("li", { class: "upload" }, name, bar, make("div", { class: "line" }, words, stop));
    const entry = { file, item, bar, words, stop, state: "waiting", cancel: () => {} };
    return entry;
  }

  remove(entry) {
    entry.state = "gone";
    entry.cancel();
    this.entries = this.entries.filter((other) => other !== entry);
    this.show();
  }

  async sendNext() {
    const entry = this.entries.find(({ state }) => state === "waiting");
    if (this.busy || !entry) return;
    this.busy = true;
    entry.state = "sending";
    const progress = (share) => {
      entry.bar.value = share;
      entry.words.textContent = share < 1 ? `Sending: ${Math.floor(100 * share)} %` : "Looking at it";
    };
    progress(0);
    try {
      const { done, cancel } = upload(entry.file, progress);
      entry.cancel = cancel;
      const id = await done;
      this.remove(entry);
      this.added(id);
    } catch (error) {
      if (error.name !== "AbortError") this.fail(entry, error);
    }
    this.busy = false;
    this.sendNext();
  }

  fail(entry, error) {
    entry.state = "failed";
    entry.item.classList.add("failed");
    entry.bar.hidden = true;
    entry.words.setAttribute("role", "alert");
    entry.words.textContent = error.message;
    entry.stop.textContent = "Dismiss";
    entry.stop.setAttribute("aria-label", `Dismiss ${entry.file.name}`);
  }

  show() {
    arrange(find(".uploads"), this.entries.map(({ item }) => item));
    document.body.classList.toggle("uploading", this.entries.length > 0);
  }
}

/** The files that were dropped; folders, which a page cannot send, are named. */
function soundFiles({ items, files }) {
  const folders = [...items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry?.isDirectory);
  for (const { name } of folders) {
    notice(`${name} is a folder: drop the sound files in it, or start phinmf studio with its name.`, { name: `folder ${name}` });
  }
  return [...files].filter((file) => !folders.some(({ name }) => name === file.name));
}
