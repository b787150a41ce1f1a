import { arrange, button, elementsOf, find, make, setText } from "./dom.js";
import { notice } from "./popups.js";
import { dismissJob, upload } from "./server.js";

/** The list at the side: recordings, the work on them, and files that are being sent. */

const byId = (items) => items.map((item) => [item.id, item]);

/** Something that goes on: its name, how much of it is done, and a button that ends it. */
function workItem(attributes, name, stop) {
  return make(
    "li", attributes, make("p", { class: "what" }, make("bdi", { text: name })),
    make("progress", { max: 1 }),
    make("div", { class: "line" }, make("p", { class: "doing" }), button("", "cancel", stop)),
  );
}

function showWork(item, name, { doing, share, state }) {
  const parts = ["progress", ".doing", "[data-action]"];
  const [bar, words, stop] = parts.map((part) => find(part, item));
  const failed = state === "failed";
  item.classList.toggle("failed", failed);
  item.dataset.state = state;
  setText(words, doing);
  words.setAttribute("role", failed ? "alert" : "none");
  if (share !== undefined) bar.value = share;
  bar.hidden = failed;
  bar.setAttribute("aria-label", `${name}: ${doing}`);
  setText(stop, failed ? "Dismiss" : "Cancel");
  stop.setAttribute("aria-label", `${stop.textContent} ${name}`);
  stop.disabled = state === "cancelling";
}

export class Recordings {
  /** @param open function of a recording's id */
  constructor(open) {
    this.open = open;
    this.items = new Map(); // elements by id of the recording
    this.jobs = new Map(); // elements by id of the job
  }

  /** @param shown key of the version that is shown */
  update(recordings, shown) {
    const items = elementsOf(this.items, byId(recordings), (recording) => this.create(recording));
    arrange(find(".recordings"), items);
    const jobs = recordings.flatMap((recording) => recording.jobs);
    elementsOf(this.jobs, byId(jobs), (job) => this.createJob(job));
    for (const recording of recordings) this.show(recording, shown);
  }

  create({ id }) {
    const open = button("", "show-recording", () => this.open(id));
    open.append(make("bdi"));
    return make(
      "li", { class: "recording", "data-recording": id },
      make("p", { class: "file" }, open), make("p", { class: "about" }),
      make("ul", { class: "jobs" }),
    );
  }

  createJob({ id, name }) {
    const failed = (error) => notice(error.message, { name: `job ${id}` });
    const stop = () => dismissJob(id).catch(failed);
    return workItem({ class: "job", "data-job": id }, name, stop);
  }

  show({ id, name, title, about, versions, jobs }, shown) {
    const item = this.items.get(id);
    setText(find("bdi", item), title);
    find(".file", item).title = name;
    setText(find(".about", item), about);
    find("[data-action=show-recording]", item).disabled = !versions.length;
    item.classList.toggle("shown", versions.some(({ key }) => key === shown));
    arrange(find(".jobs", item), jobs.map((job) => this.jobs.get(job.id)));
    for (const job of jobs) showWork(this.jobs.get(job.id), job.name, job);
  }
}

/** Files on their way to the server: dropped anywhere, or chosen. One is sent after the other. */
export class Uploads {
  /** @param added function to call with the id of a recording that arrived */
  constructor(added) {
    this.added = added;
    this.waiting = 0; // files that are not sent yet
    this.last = Promise.resolve();
    const input = find("input[type=file]");
    find("[data-action=choose]").addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      for (const file of input.files) this.add(file);
      input.value = "";
    });
    this.acceptDrops();
  }

  acceptDrops() {
    const over = (receiving) => document.body.classList.toggle("receiving", receiving);
    const onFiles = (type, act) => document.addEventListener(type, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      act(event.dataTransfer);
    });
    onFiles("dragover", (data) => {
      data.dropEffect = "copy";
      over(true);
    });
    onFiles("drop", ({ files }) => {
      over(false);
      for (const file of files) this.add(file);
    });
    document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) over(false); });
  }

  add(file) {
    const abort = new AbortController();
    const item = workItem({ class: "upload" }, file.name, () => {
      abort.abort();
      item.remove();
    });
    showWork(item, file.name, { doing: "Waiting to be sent", state: "waiting" });
    find(".uploads").append(item);
    this.waiting += 1;
    this.last = this.last.then(() => this.send(file, item, abort.signal));
  }

  async send(file, item, signal) {
    try {
      signal.throwIfAborted();
      showWork(item, file.name, { doing: "Sending", state: "running" });
      const { id } = await upload(file, signal);
      item.remove();
      this.added(id);
    } catch (error) {
      const doing = error.status ? error.message : "It is a folder, or the studio has stopped.";
      showWork(item, file.name, { doing, state: "failed" });
    }
    this.waiting -= 1;
  }
}
