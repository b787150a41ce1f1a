import { arrange, button, find, findAll, make, setText } from "./dom.js";

/** The list of recordings with their takes, and the work that is being done on them. */
export class Recordings {
  /**
   * @param element the list
   * @param acts functions `show` of a take's key, `open` of a recording's id, `dismiss` of a job's id
   */
  constructor(element, acts) {
    Object.assign(this, { element, acts });
    this.items = new Map(); // elements by id of the recording
    this.jobs = new Map(); // items by id of the job
  }

  update(recordings, shown) {
    for (const id of this.items.keys()) {
      if (!recordings.some((recording) => recording.id === id)) this.items.delete(id);
    }
    arrange(this.element, recordings.map((recording) => this.item(recording, shown)));
    const going = recordings.flatMap(({ jobs }) => jobs.map(({ id }) => id));
    for (const id of this.jobs.keys()) if (!going.includes(id)) this.jobs.delete(id);
  }

  item(recording, shown) {
    const { id, title, about, takes, jobs } = recording;
    if (!this.items.has(id)) {
      const open = button("", "show-recording", () => this.acts.open(id));
      open.append(make("bdi"));
      const name = make("p", { class: "file" }, open);
      const lists = [make("ul", { class: "take-list" }), make("ul", { class: "jobs" })];
      this.items.set(id, make("li", { class: "recording", "data-recording": id }, name, make("p", { class: "about" }), ...lists));
    }
    const item = this.items.get(id);
    setText(find("bdi", item), title);
    find(".file", item).title = recording.name;
    setText(find(".about", item), about);
    find("[data-action=show-recording]", item).disabled = !takes.length;
    item.classList.toggle("shown", takes.some(({ key }) => key === shown));
    const links = new Map(findAll("[data-take]", item).map((link) => [link.dataset.key, link]));
    const entries = takes.map((take) => {
      const link = links.get(take.key)
        ?? button(take.name, "show-take", () => this.acts.show(take.key), { "data-take": take.id, "data-key": take.key });
      setText(link, take.name);
      link.dataset.take = take.id;
      if (take.key === shown) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      return link.parentElement ?? make("li", {}, link);
    });
    arrange(find(".take-list", item), entries);
    arrange(find(".jobs", item), jobs.map((job) => this.job(job)));
    return item;
  }

  job(job) {
    if (!this.jobs.has(job.id)) {
      const stop = button("Cancel", "cancel", () => this.acts.dismiss(job.id));
      const item = make(
        "li", { class: "job", "data-job": job.id }, make("p", { class: "what" }), make("progress", { max: 1, value: 0 }),
        make("div", { class: "line" }, make("p", { class: "doing" }), stop),
      );
      this.jobs.set(job.id, item);
    }
    const item = this.jobs.get(job.id);
    const failed = job.state === "failed";
    const words = {
      waiting: "Waiting for its turn", cancelling: "Stopping", failed: job.message,
      running: job.doing,
    }[job.state];
    item.classList.toggle("failed", failed);
    item.dataset.state = job.state;
    setText(find(".what", item), job.take_name);
    setText(find(".doing", item), words ?? "");
    find(".doing", item).setAttribute("role", failed ? "alert" : "none");
    const bar = find("progress", item);
    bar.value = job.share;
    bar.hidden = failed;
    bar.setAttribute("aria-label", `${job.take_name}: ${job.doing ?? ""}`);
    const stop = find("[data-action]", item);
    setText(stop, failed ? "Dismiss" : "Cancel");
    stop.disabled = job.state === "cancelling";
    return item;
  }
}
