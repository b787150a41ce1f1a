/** The studio's server: its requests, its events, and what it says when something goes wrong. */

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
    throw new ServerError(0, { error: "The studio does not answer." });
  }
  if (response.ok) return response;
  throw new ServerError(response.status, await response.json().catch(() => null));
}

async function send(method, address, body, options = {}) {
  const response = await request(address, { method, body, ...options });
  return response.json();
}

export const saveMix = (version, mix) =>
  send("PUT", `versions/${version}/mix`, JSON.stringify(mix));
export const unmixAgain = (recording, options) =>
  send("POST", `recordings/${recording}/versions`, JSON.stringify(options));
export const writeExport = (version, kind, levels, without) =>
  send("POST", `versions/${version}/exports`, JSON.stringify({ kind, levels, without }));
export const learnMarks = (version) => send("POST", `versions/${version}/draft`);
export const keepDraft = (version) => send("POST", `versions/${version}/draft/versions`);
export const dismissJob = (job) => request(`jobs/${job}`, { method: "DELETE" });
export const removeVersion = (version) => request(`versions/${version}`, { method: "DELETE" });

/** Send a file. */
export const upload = (file, signal) =>
  send("POST", `recordings?name=${encodeURIComponent(file.name)}`, file, { signal });

/** Samples: sources × channels × count; `what` is "sound", or "draft/sound". */
export async function sound(version, start, count, signal, what = "sound") {
  const response = await request(`versions/${version}/${what}/${start}/${count}`, { signal });
  return new Float32Array(await response.arrayBuffer());
}

/** Levels: moments × bands of frequencies, of the recording or of the sum of some components. */
export async function spectrogram(version, start, count, components) {
  const stretch = `versions/${version}/spectrogram/${start}/${count}`;
  const response = await request(`${stretch}?components=${components}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** Peaks of all sources: sources × stretches of `step` samples. */
export async function overview(version) {
  const response = await request(`versions/${version}/overview`);
  return new Uint8Array(await response.arrayBuffer());
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
