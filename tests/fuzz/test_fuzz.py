"""Random commands, in a folder that is full of somebody else's work.

Whatever the exit code is, that work must be as it was; what is new must be whole folders that add
up as they say.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from fuzz.hostile_files import FORMATS, GROUPS, NAMES, SUBTYPES, pick
from fuzz.sandbox import QUICK, Scene, finished

pytestmark = pytest.mark.full
SEED, ATTACKS, SECONDS = 12, 400, 40


def sounds(scene):
    rng = scene.rng
    suffix = pick(rng, ["wav", "flac", "ogg", "mp3", "aiff", "raw", "w64", "WAV", "txt", ""])
    song = scene.sound(f"song.{suffix}", hostile=True)
    words = ["unmix", song, "-o", "new", *QUICK, *scene.flags(no_report=0.6, json=0.3, quiet=0.2)]
    chances = {
        "--format": (0.4, FORMATS[:13]), "--subtype": (0.3, SUBTYPES),
        "--model": (0.2, [str(finished() / "model.npz")]),
    }  # fmt: skip
    for name, (chance, values) in chances.items():
        if rng.random() < chance:
            words += [name, pick(rng, values)]
    return words


def names(scene):
    rng, name = scene.rng, pick(scene.rng, NAMES)
    song = scene.sound(f"{name}.wav"[-250:] if len(name) > 250 else f"{name}.wav")
    words = ["unmix", song, *QUICK, "-o", pick(rng, [*NAMES[:30], "out"])]
    words += scene.flags(no_report=0.7, overwrite=0.5, json=0.4, quiet=0.2)
    if rng.random() < 0.3:
        words += ["--group", pick(rng, GROUPS)]
    return words


def fault_of(rng):
    """Run a command in a sandbox, which is removed afterwards; return what broke, or nothing."""
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder:
        top = Path(folder) / "home"
        top.mkdir()
        scene = Scene(rng, top)
        words = pick(rng, [sounds, names])(scene)
        fault = scene.fault_of(words)
        return fault and f"{fault}, by {words}"


def test_random_commands_break_nothing(recwarn):
    """The random numbers of an attack come from (seed, number) alone, so each can be repeated."""
    end, faults = time.monotonic() + SECONDS, []
    for number in range(ATTACKS):
        if number >= 10 and time.monotonic() > end:
            break
        if fault := fault_of(np.random.default_rng([SEED, number])):
            faults.append(f"attack {number}: {fault}")
    assert faults == []
