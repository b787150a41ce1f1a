import { arrange, button, elementsOf, find, make, setText } from "./dom.js";

const byId = (items) => items.map((item) => [item.id, item]);

/** The list of recordings, and the work that is being done on them. */
export class Recordings {
  /**
   * @param element the list
   * @param acts functions `open` of a recording's id, `dismiss` of a job's id
   */
  constructor(element, acts) {
    Object.assign(this, { element, acts });
    this.items = new Map(); // elements by id of the recording
    this.jobs = new Map(); // elements by id of the job
  }

  update(recordings, shown) {
    arrange(this.element, elementsOf(this.items, byId(recordings), (recording) => this.create(recording)));
    elementsOf(this.jobs, byId(recordings.flatMap(({ jobs }) => jobs)), (job) => this.createJob(job));
    for (const recording of recordings) this.show(recording, shown);
  }

  create({ id }) {
    const open = button("", "show-recording", () => this.acts.open(id));
    open.append(make("bdi"));
    return make("li", { class: "recording", "data-recording": id },
      make("p", { class: "file" }, open), make("p", { class: "about" }), make("ul", { class: "jobs" }));
  }

  show({ id, name, title, about, takes, jobs }, shown) {
    const item = this.items.get(id);
    setText(find("bdi", item), title);
    find(".file", item).title = name;
    setText(find(".about", item), about);
    find("[data-action=show-recording]", item).disabled = !takes.length;
    item.classList.toggle("shown", takes.some(({ key }) => key === shown));
    arrange(find(".jobs", item), jobs.map((job) => this.jobs.get(job.id)));
    for (const job of jobs) this.showJob(job);
  }

  createJob({ id }) {
    const stop = button("Cancel", "cancel", () => this.acts.dismiss(id));
    return make(
      "li", { class: "job", "data-job": id }, make("p", { class: "what" }), make("progress", { max: 1, value: 0 }),
      make("div", { class: "line" }, make("p", { class: "doing" }), stop),
    );
  }

  showJob({ id, state, share, doing, message, take_name: name }) {
    const item = this.jobs.get(id);
    const failed = state === "failed";
    const words = { waiting: "Waiting for its turn", cancelling: "Stopping", failed: message, running: doing }[state];
    item.classList.toggle("failed", failed);
    item.dataset.state = state;
    setText(find(".what", item), name);
    setText(find(".doing", item), words ?? "");
    find(".doing", item).setAttribute("role", failed ? "alert" : "none");
    const bar = find("progress", item);
    bar.value = share;
    bar.hidden = failed;
    bar.setAttribute("aria-label", `${name}: ${doing ?? ""}`);
    const stop = find("[data-action]", item);
    setText(stop, failed ? "Dismiss" : "Cancel");
    stop.disabled = state === "cancelling";
  }
}
