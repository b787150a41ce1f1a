/** The studio's server: its requests, its events, and what it says when something goes wrong. */

const GONE = "The studio has stopped."; // what is said where no answer comes
const RETRY = 1500; // milliseconds

/** An answer that is no success; the message is a sentence to show. */
class ServerError extends Error {
  constructor(status, answer) {
    super(answer?.error ?? `The studio answered with the number ${status}.`);
    this.status = status; // 0: there was no answer
    this.answer = answer;
  }
}

async function request(address, options = {}) {
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, { error: GONE });
  }
  if (response.ok) return response;
  throw new ServerError(response.status, await response.json().catch(() => null));
}

async function send(method, address, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await request(address, { method, headers, body: JSON.stringify(body) });
  return response.json();
}

export const saveMix = (take, mix) => send("PUT", `takes/${take}/mix`, mix);
export const unmixAgain = (recording, options) => send("POST", `recordings/${recording}/takes`, options);
export const writeExport = (take, kind, levels) => send("POST", `takes/${take}/exports`, { kind, levels });
export const dismissJob = (job) => request(`jobs/${job}`, { method: "DELETE" });
export const removeTake = (take) => request(`takes/${take}`, { method: "DELETE" });

/** Samples of all sources: {count, samples}. */
export async function sound(take, start, count, signal) {
  const response = await request(`takes/${take}/sound?start=${start}&count=${count}`, { signal });
  const samples = new Float32Array(await response.arrayBuffer());
  return { count: Number(response.headers.get("X-Count") ?? count), samples };
}

/** Peaks of all sources: {step, bins, peaks}, the peaks as the root of the share of full scale × 255. */
export async function overview(take) {
  const response = await request(`takes/${take}/overview`);
  const peaks = new Uint8Array(await response.arrayBuffer());
  return { step: Number(response.headers.get("X-Step")), bins: Number(response.headers.get("X-Bins")), peaks };
}

/**
 * Send a file.
 *
 * @param progress function to call with the share of the bytes that are sent
 * @returns {done, cancel}: a promise of the recording's id, and a function
 */
export function upload(file, progress) {
  const sending = new XMLHttpRequest(); // fetch does not say how much is sent
  const done = new Promise((resolve, reject) => {
    const answer = () => { try { return JSON.parse(sending.responseText); } catch { return null; } };
    sending.upload.onprogress = ({ loaded, total }) => progress(total ? loaded / total : 0);
    sending.onload = () =>
      sending.status < 300 ? resolve(answer().id) : reject(new ServerError(sending.status, answer()));
    sending.onerror = () => reject(new ServerError(0, { error: "It could not be sent: the studio does not answer." }));
    sending.onabort = () => reject(new DOMException("cancelled", "AbortError"));
  });
  sending.open("POST", `recordings?name=${encodeURIComponent(file.name)}`);
  sending.send(file);
  return { done, cancel: () => sending.abort() };
}

/** Follow the state of the server; connect again and again while it is gone. */
export function follow(onState, onGone) {
  const events = new EventSource("events");
  events.onmessage = ({ data }) => onState(JSON.parse(data));
  events.onerror = () => {
    events.close(); // the browser's own attempts end at the first answer that is no stream
    onGone();
    setTimeout(() => follow(onState, onGone), RETRY);
  };
  window.addEventListener("pagehide", () => events.close(), { once: true });
}
