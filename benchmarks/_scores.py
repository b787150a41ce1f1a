"""From a MusicXML score to sound: each part is synthesised separately by FluidSynth."""

from __future__ import annotations

import struct
import tempfile
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
from _packages import run

#: Debian packages of the program and of the libraries that it needs.
FLUIDSYNTH = [
    "fluidsynth", "libfluidsynth3", "libinstpatch-1.0-2", "libjack-jackd2-0", "libsamplerate0",
    "libsdl2-2.0-0", "libdecor-0-0",
]  # fmt: skip
TICKS = 480  # per quarter note
SEMITONES = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}


class Note(NamedTuple):
    """A note of a part; times in quarter notes."""

    start: float
    length: float
    pitch: int  #: MIDI number


def parts(path: Path) -> list[list[Note]]:
    """The notes of each part of a compressed MusicXML score with one voice in each part."""
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if n.endswith("xml") and "META" not in n)
        root = ElementTree.fromstring(archive.read(name))
    return [_notes(part) for part in root.iter("part")]


def _notes(part: ElementTree.Element) -> list[Note]:
    notes: list[Note] = []
    now, divisions = 0.0, 1
    for element in part.iter():
        if element.tag == "divisions":
            divisions = int(element.text or 1)
        if element.tag != "note" or element.find("duration") is None:
            continue
        length = float(element.findtext("duration", "0")) / divisions
        pitch = element.find("pitch")
        if pitch is not None:
            number = 12 * (int(pitch.findtext("octave", "4")) + 1)
            number += SEMITONES[pitch.findtext("step", "C")] + int(pitch.findtext("alter", "0"))
            goes_on = any(tie.get("type") == "stop" for tie in element.iter("tie"))
            if goes_on and notes and notes[-1].pitch == number:
                notes[-1] = notes[-1]._replace(length=notes[-1].length + length)
            else:
                notes.append(Note(now, length, number))
        now += length
    return notes


def midi(notes: list[Note], instrument: int, beats_per_minute: float) -> bytes:
    """A MIDI file of one track."""
    moments = []
    for start, length, pitch in notes:
        moments.append((round(start * TICKS), bytes([0x90, pitch, 90])))
        moments.append((round((start + 0.9 * length) * TICKS), bytes([0x80, pitch, 0])))
    tempo = round(6e7 / beats_per_minute)
    track = b"\0\xff\x51\x03" + struct.pack(">I", tempo)[1:] + bytes([0, 0xC0, instrument])
    now = 0
    for tick, message in sorted(moments):
        track += _variable_length(tick - now) + message
        now = tick
    track += b"\0\xff\x2f\0"
    header = struct.pack(">4sIHHH", b"MThd", 6, 0, 1, TICKS)
    return header + struct.pack(">4sI", b"MTrk", len(track)) + track


def _variable_length(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(number & 0x7F | 0x80)
    return bytes(reversed(digits))


def play(
    notes: list[Note], instrument: int, soundfont: Path, rate: int, tempo: float
) -> np.ndarray:
    """The sound of a part, without reverb and chorus, one channel."""
    with tempfile.TemporaryDirectory() as folder:
        score, sound = Path(folder, "part.mid"), Path(folder, "part.wav")
        score.write_bytes(midi(notes, instrument, tempo))
        options = ["-ni", "-R", "0", "-C", "0", "-g", "0.5"]
        options += ["-r", str(rate), "-T", "wav", "-O", "float", "-F", str(sound)]
        run("fluidsynth", FLUIDSYNTH, [*options, str(soundfont), str(score)])
        y, _ = soundfile.read(sound)
    return y.mean(axis=1)
