"""The built-in example: ten seconds of plucked string, struck bars and drums, with exact stems."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phinmf._types import Array

SAMPLE_RATE = 16_000
BEAT = 0.625  # seconds: 96 to the minute
LENGTH = int(16 * BEAT * SAMPLE_RATE)  # samples of sixteen beats


class Example(NamedTuple):
    """A mixture and the sources that it is made of."""

    mixture: Array  #: (n,), the sum of the stems
    stems: dict[str, Array]  #: each (n,), by the name of its source
    sample_rate: int  #: samples per second


def example() -> Example:
    """Synthesise the example; it is the same every time."""
    rng = np.random.default_rng(2018)
    stems = {"string": _string_voice(rng), "bars": _bar_voice(), "drums": _drum_voice(rng)}
    peak = 1.25 * np.abs(np.sum(list(stems.values()), axis=0)).max()
    stems = {name: stem / peak for name, stem in stems.items()}
    return Example(np.sum(list(stems.values()), axis=0), stems, SAMPLE_RATE)


def pluck(frequency: float, seconds: float, rng: np.random.Generator) -> Array:
    """Synthesise a string: a burst of noise in a lossy delay loop (Karplus and Strong)."""
    period = SAMPLE_RATE / frequency
    delay = int(period - 0.5)
    fraction = period - 0.5 - delay  # linear interpolation tunes the loop
    burst = np.zeros(int(seconds * SAMPLE_RATE))
    burst[:delay] = rng.uniform(-1, 1, delay)
    loop = np.zeros(delay + 3)
    loop[0] = 1
    loop[delay : delay + 3] -= 0.996 * np.convolve([0.5, 0.5], [1 - fraction, fraction])
    from scipy.signal import lfilter  # slow to import, which `import phinmf` must not be

    return _decay(lfilter([1.0], loop, burst))


def strike(frequency: float, seconds: float) -> Array:
    """Synthesise a free bar: inharmonic modes, the higher ones decay faster."""
    t = _time(seconds)
    modes = [(1.0, 1.0, 2.5), (2.756, 0.5, 6.0), (5.404, 0.25, 14.0), (8.933, 0.12, 30.0)]
    tone = np.zeros_like(t)
    for ratio, level, damping in modes:
        if ratio * frequency < SAMPLE_RATE / 2:
            tone += level * np.exp(-damping * t) * np.sin(2 * np.pi * ratio * frequency * t)
    return _decay(tone)


def kick() -> Array:
    """Synthesise a bass drum: a falling tone."""
    t = _time(0.35)
    phase = 2 * np.pi * (50 * t + 4.5 * (1 - np.exp(-t / 0.03)))
    return _decay(np.exp(-t / 0.08) * np.sin(phase))


def snare(rng: np.random.Generator) -> Array:
    """Synthesise a snare drum: noise over a short tone."""
    t = _time(0.25)
    noise = rng.standard_normal(len(t)) * np.exp(-t / 0.06)
    return _decay(0.5 * noise + 0.7 * np.exp(-t / 0.05) * np.sin(2 * np.pi * 185 * t))


def _string_voice(rng: np.random.Generator) -> Array:
    """Play the string, four notes for each root."""
    roots = [45, 45, 41, 43, 45, 45, 41, 40]  # A A F G A A F E, two beats each
    voice = np.zeros(LENGTH)
    for i, root in enumerate(roots):
        for step, interval in enumerate([0, 12, 7, 12]):
            _add(voice, 2 * i + step / 2, 0.8 * pluck(_hertz(root + interval), 1.1 * BEAT, rng))
    return voice


def _bar_voice() -> Array:
    """Play the melody of the bars."""
    beats = [0, 1, 1.5, 3, 4, 5, 6, 7, 8, 9, 9.5, 11, 12, 13, 14, 15]
    melody = [76, 74, 72, 69, 77, 76, 74, 71, 76, 79, 76, 72, 74, 72, 71, 69]
    voice = np.zeros(LENGTH)
    for beat, note in zip(beats, melody, strict=True):
        _add(voice, beat, 0.5 * strike(_hertz(note), 1.6))
    return voice


def _drum_voice(rng: np.random.Generator) -> Array:
    """Play the drums: bass and snare in turn, a quiet stroke between."""
    voice = np.zeros(LENGTH)
    for beat in range(16):
        _add(voice, beat, 0.9 * kick() if beat % 2 == 0 else 0.35 * snare(rng))
        _add(voice, beat + 0.5, 0.12 * snare(rng)[:1200] * np.linspace(1, 0, 1200))
    return voice


def _time(seconds: float) -> Array:
    """Return the time of each sample (s)."""
    return np.arange(int(seconds * SAMPLE_RATE)) / SAMPLE_RATE


def _hertz(midi: int) -> float:
    """Return the frequency of a MIDI note."""
    return float(440 * 2 ** ((midi - 69) / 12))


def _add(voice: Array, beat: float, note: Array) -> None:
    """Add a note that begins at a beat."""
    first = round(beat * BEAT * SAMPLE_RATE)
    note = note[: len(voice) - first]
    voice[first : first + len(note)] += note


def _decay(note: Array) -> Array:
    """Fade the end out, so that no note ends in a click."""
    n = int(0.01 * SAMPLE_RATE)
    note[-n:] *= np.linspace(1, 0, n)
    return note
