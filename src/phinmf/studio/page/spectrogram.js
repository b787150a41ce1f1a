import { arrange, find, make } from "./dom.js";
import { notice } from "./popups.js";
import { spectrogram } from "./server.js";
import { hertz } from "./words.js";

const BANDS = 256; // of frequencies, in what the server sends
const RANGE = 110; // decibels of 255
const SHOWN = 64; // decibels below the loudest
const CONTRAST = 1.7; // more leaves quiet sounds out
const SOON = 250; // milliseconds after the last zoom until a finer picture is fetched
const LABELS = [50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000];
const APART = 22; // pixels between labels

/** The spectrogram of a version under the lanes: all of it, and a finer one of what is shown. */
export class Spectrogram {
  constructor(element) {
    this.canvas = find("canvas", element);
    this.labels = find(".frequencies", element);
    this.mix = null; // of the version that is shown
    this.components = []; // whose sum is shown; none: the recording
    this.whole = null; // pictures {start, count, columns, bitmap}
    this.finer = null;
    this.top = 255; // the loudest of the whole
    this.timer = 0;
  }

  get version() { return this.mix?.version; }

  /** Show a version, or the sum of other components of it. */
  async open(mix, components) {
    Object.assign(this, { mix, components, whole: null, finer: null, top: 255 });
    clearTimeout(this.timer);
    await this.fetch(0, this.version.length, (picture) => { this.whole = picture; });
  }

  /** Fetch the picture of a stretch, unless something else is shown meanwhile. */
  async fetch(start, count, use) {
    const { mix, components } = this;
    try {
      const levels = await spectrogram(mix.version.id, start, count, components);
      if (this.mix !== mix || this.components !== components) return;
      if (!this.whole) this.top = levels.reduce((most, level) => Math.max(most, level), 1);
      use({ start, count, columns: levels.length / BANDS, bitmap: this.bitmap(levels) });
      this.draw(this.view);
    } catch (error) {
      notice(`The spectrogram cannot be shown: ${error.message}`, { name: "spectrogram" });
    }
  }

  /** Levels as a picture, the more opaque the louder. */
  bitmap(levels) {
    const columns = levels.length / BANDS;
    const bitmap = new OffscreenCanvas(columns, BANDS);
    const image = new ImageData(columns, BANDS);
    const opacity = Uint8Array.from({ length: 256 }, (_, level) => {
      const share = 1 - ((this.top - level) * RANGE) / 255 / SHOWN;
      return 255 * Math.max(0, Math.min(1, share)) ** CONTRAST;
    });
    for (let x = 0; x < columns; x++) {
      for (let band = 0; band < BANDS; band++) {
        const y = BANDS - 1 - band;
        image.data[4 * (y * columns + x) + 3] = opacity[levels[x * BANDS + band]];
      }
    }
    bitmap.getContext("2d").putImageData(image, 0, 0);
    return bitmap;
  }

  draw(view) {
    this.view = view;
    const { canvas, whole, finer, version } = this;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * ratio);
    const height = Math.round(canvas.clientHeight * ratio);
    if (!view || !width || view.length !== version?.length) return;
    Object.assign(canvas, { width, height }); // which clears it
    const pen = canvas.getContext("2d");
    const shown = finer && finer.start <= view.from && finer.start + finer.count >= view.to;
    const picture = shown ? finer : whole;
    if (picture) {
      const { start, count, columns, bitmap } = picture;
      const x = ((view.from - start) / count) * columns;
      pen.imageSmoothingQuality = "high";
      pen.drawImage(bitmap, x, 0, (view.span / count) * columns, BANDS, 0, 0, width, height);
      pen.globalCompositeOperation = "source-in";
      pen.fillStyle = getComputedStyle(canvas).color;
      pen.fillRect(0, 0, width, height);
    }
    this.label();
    clearTimeout(this.timer);
    const fine = picture && picture.count / view.span < 3; // about as fine as the screen
    if (picture && view.zoomed && !fine) this.timer = setTimeout(() => this.refine(view), SOON);
  }

  /** Fetch what is shown, and as much on both sides. */
  refine({ from, span }) {
    const start = Math.max(0, Math.floor(from - span / 2));
    const end = Math.min(this.version.length, Math.ceil(from + 1.5 * span));
    this.fetch(start, end - start, (picture) => { this.finer = picture; });
  }

  label() {
    const height = this.canvas.clientHeight;
    let last = Infinity;
    const labels = LABELS.filter((frequency) => {
      const y = this.height(frequency) * height;
      const fits = y > APART / 2 && y < height - APART / 2 && last - y >= APART;
      if (fits) last = y;
      return fits;
    });
    arrange(this.labels, labels.map((frequency) => {
      const label = make("span", { text: hertz(frequency) });
      label.style.top = `${100 * this.height(frequency)}%`;
      return label;
    }));
  }

  // ---- frequencies and heights, from 0 at the top to 1 -----------------------------------------

  get octaves() { return Math.log2(this.version.sample_rate / 2 / this.version.lowest); }

  height(frequency) {
    return 1 - Math.log2(Math.max(frequency, 1e-3) / this.version.lowest) / this.octaves;
  }

  frequency(height) { return this.version.lowest * 2 ** ((1 - height) * this.octaves); }
}
