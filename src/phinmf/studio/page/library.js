import { arrange, button, elementsOf, find, make, setText } from "./dom.js";
import { notice } from "./popups.js";
import { dismissJob, upload } from "./server.js";
import { show, store } from "./store.js";

/** The list at the side: recordings, the work on them, and files that are being sent. */

const items = new Map(); // elements by id of the recording
const works = new Map(); // elements by id of the job

const byId = (list) => list.map((item) => [item.id, item]);

export function updateLibrary() {
  const { recordings } = store;
  arrange(find(".recordings"), elementsOf(items, byId(recordings), createRecording));
  elementsOf(works, byId(recordings.flatMap(({ jobs }) => jobs)), createJob);
  for (const recording of recordings) showRecording(recording);
}

function createRecording({ id }) {
  const open = button("", "show-recording", () => {
    const { versions } = store.recordings.find((recording) => recording.id === id);
    show(versions.at(-1).folder);
  });
  open.append(make("bdi"));
  return make(
    "li", { class: "recording", "data-recording": id },
    make("p", { class: "file" }, open), make("p", { class: "about" }),
    make("ul", { class: "jobs" }),
  );
}

function createJob({ id, name }) {
  const failed = (error) => notice(error.message, { name: `job ${id}` });
  const stop = () => dismissJob(id).catch(failed);
  return workItem({ class: "job", "data-job": id }, name, stop);
}

function showRecording({ id, name, title, about, versions, jobs }) {
  const item = items.get(id);
  setText(find("bdi", item), title);
  find(".file", item).title = name;
  setText(find(".about", item), about);
  find("[data-action=show-recording]", item).disabled = !versions.length;
  item.classList.toggle("shown", versions.some(({ folder }) => folder === store.shown));
  arrange(find(".jobs", item), jobs.map((job) => works.get(job.id)));
  for (const job of jobs) showWork(works.get(job.id), job.name, job);
}

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

// ---- files on their way to the server: dropped anywhere, or chosen --------------------------------

let unsent = 0; // files
let last = Promise.resolve(); // one file is sent after the other

export const isSending = () => unsent > 0;

function add(file) {
  const abort = new AbortController();
  const item = workItem({ class: "upload" }, file.name, () => {
    abort.abort();
    item.remove();
  });
  showWork(item, file.name, { doing: "Waiting to be sent", state: "waiting" });
  find(".uploads").append(item);
  unsent += 1;
  last = last.then(() => send(file, item, abort.signal));
}

async function send(file, item, signal) {
  try {
    signal.throwIfAborted();
    showWork(item, file.name, { doing: "Sending", state: "running" });
    await upload(file, signal);
    item.remove();
  } catch (error) {
    const doing = error.status ? error.message : "It is a folder, or the studio has stopped.";
    showWork(item, file.name, { doing, state: "failed" });
  }
  unsent -= 1;
}

const input = find("input[type=file]");
find("[data-action=choose]").addEventListener("click", () => input.click());
input.addEventListener("change", () => {
  for (const file of input.files) add(file);
  input.value = "";
});

const showDrop = (receiving) => document.body.classList.toggle("receiving", receiving);

function onFiles(type, act) {
  document.addEventListener(type, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    act(event.dataTransfer);
  });
}

onFiles("dragover", (data) => {
  data.dropEffect = "copy";
  showDrop(true);
});
onFiles("drop", ({ files }) => {
  showDrop(false);
  for (const file of files) add(file);
});
document.addEventListener("dragleave", ({ relatedTarget }) => {
  if (!relatedTarget) showDrop(false);
});
