/** Plays the mixture and all components in sync: all sources start at the same time of one clock. */
export class Playback {
  static LEAD = 0.03; // seconds: sources are scheduled in the future, so that all start in time
  static FADE = 0.008; // seconds: gains change gradually, so that nothing clicks

  /**
   * @param data seconds, rate and sounds (base64) of the page
   * @param gains function that returns the gain of the mixture, then of each component
   * @param changed function to call when it starts, stops or moves
   * @param finished function to call when it has played to the end
   */
  constructor(data, gains, changed, finished) {
    Object.assign(this, { gains, changed, finished, seconds: data.seconds });
    this.rate = Playback.supported(data.rate);
    this.buffers = []; // the mixture, then the components
    this.context = null; // made when play is first called: browsers require a gesture
    this.volumes = []; // gain nodes in the order of the buffers
    this.sources = [];
    this.playing = false;
    this.startedAt = 0; // time of the context's clock
    this.startedFrom = 0; // position in the preview; the current one while nothing plays
  }

  /** The rate itself, or 44.1 kHz: not every browser supports low rates. */
  static supported(rate) {
    try {
      new OfflineAudioContext(1, 1, rate);
      return rate;
    } catch {
      return 44100;
    }
  }

  static bytes(base64) {
    const text = atob(base64);
    const array = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) array[i] = text.charCodeAt(i);
    return array.buffer;
  }

  /** Decode all sounds; `progress` is called with the number that is done. */
  async load(sounds, progress) {
    const decoder = new OfflineAudioContext(1, 1, this.rate);
    for (const sound of sounds) {
      this.buffers.push(await decoder.decodeAudioData(Playback.bytes(sound)));
      progress(this.buffers.length);
    }
  }

  makeVolumes(context) {
    return this.gains().map((gain) => {
      const node = new GainNode(context, { gain });
      node.connect(context.destination);
      return node;
    });
  }

  schedule(context, volumes, when, from) {
    return this.buffers.map((buffer, i) => {
      const source = new AudioBufferSourceNode(context, { buffer });
      source.connect(volumes[i]);
      source.start(when, from, Math.max(0, this.seconds - from));
      return source;
    });
  }

  get position() {
    const passed = this.playing ? Math.max(0, this.context.currentTime - this.startedAt) : 0;
    return Math.min(this.seconds, this.startedFrom + passed);
  }

  async play() {
    this.context ??= new AudioContext({ sampleRate: this.rate });
    await this.context.resume();
    if (this.playing) return;
    if (!this.volumes.length) this.volumes = this.makeVolumes(this.context);
    if (this.startedFrom >= this.seconds - 0.01) this.startedFrom = 0;
    this.startedAt = this.context.currentTime + Playback.LEAD;
    this.sources = this.schedule(this.context, this.volumes, this.startedAt, this.startedFrom);
    const [first] = this.sources;
    first.onended = () => first === this.sources[0] && this.ended();
    this.playing = true;
    this.changed();
  }

  pause() {
    this.startedFrom = this.position;
    this.playing = false;
    for (const source of this.sources.splice(0)) source.stop();
    this.changed();
  }

  seek(seconds) {
    const again = this.playing;
    if (again) this.pause();
    this.startedFrom = Math.min(this.seconds, Math.max(0, seconds));
    this.changed();
    return again ? this.play() : Promise.resolve();
  }

  ended() {
    this.pause();
    this.startedFrom = 0;
    this.changed();
    this.finished();
  }

  /** Let the volumes follow the gains. */
  update() {
    const targets = this.gains();
    this.volumes.forEach((node, i) => {
      node.gain.setTargetAtTime(targets[i], this.context.currentTime, Playback.FADE);
    });
  }
}
