/** Waveforms on canvases, from the overview: peaks of short stretches as 255 times their root. */

/** The peaks of a source, or of several together: the highest of them at each moment. */
export function peaksOf({ peaks, bins }, sources) {
  if (sources.length === 1) return peaks.subarray(sources[0] * bins, (sources[0] + 1) * bins);
  const highest = new Uint8Array(bins);
  for (const source of sources) {
    const own = peaks.subarray(source * bins, (source + 1) * bins);
    for (let i = 0; i < bins; i++) highest[i] = Math.max(highest[i], own[i]);
  }
  return highest;
}

/** The height that fills a row: the highest peak of all sources. */
export function highest({ peaks }) {
  return peaks.reduce((most, peak) => Math.max(most, peak), 1);
}

/**
 * Draw the part of a waveform that a view shows.
 *
 * @param canvas fills its parent; its colour is the colour of the text there
 * @param peaks of each stretch of `step` samples
 */
export function drawWave(canvas, peaks, step, view, top) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  if (!width || !height) return;
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const pen = canvas.getContext("2d");
  pen.clearRect(0, 0, width, height);
  pen.fillStyle = getComputedStyle(canvas).color;
  const perPixel = view.span / width / step; // stretches
  const first = view.from / step;
  for (let x = 0; x < width; x++) {
    const from = Math.floor(first + x * perPixel);
    const to = Math.max(from + 1, Math.floor(first + (x + 1) * perPixel));
    let peak = 0;
    for (let i = from; i < to && i < peaks.length; i++) peak = Math.max(peak, peaks[i]);
    const tall = Math.max(1, (peak / top) * height * 0.94);
    pen.fillRect(x, (height - tall) / 2, 1, tall);
  }
}
