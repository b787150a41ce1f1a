"""Attacks on the command line and on the folders it writes.

Each one runs a command in a folder that is full of somebody else's work. Whatever the exit code is,
that work must be as it was; what is new must be whole folders that add up as they say.
"""

import shutil
import tempfile
from pathlib import Path

from fuzz import attacks
from fuzz.attacks import pick
from fuzz.hostile_files import FORMATS, GROUPS, NAMES, SUBTYPES
from fuzz.sandbox import QUICK, Scene, finished


def sounds(scene):
    rng = scene.rng
    suffix = pick(rng, ["wav", "flac", "ogg", "mp3", "aiff", "raw", "w64", "WAV", "txt", ""])
    song = scene.sound(f"song.{suffix}", hostile=True)
    words = ["unmix", song, "-o", "new", *QUICK, *scene.flags(no_report=0.6, json=0.3, quiet=0.2)]
    chances = {
        "--format": (0.4, FORMATS[:13]), "--subtype": (0.3, SUBTYPES),
        "--gain": (0.2, ["60", "6", "-60"]), "--model": (0.2, [str(finished() / "model.npz")]),
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


def edited(scene):
    """A finished folder that was changed since."""
    rng, folder = scene.rng, scene.top / "out" / "song"
    if not folder.is_dir():
        shutil.rmtree(scene.top)
        scene.top.mkdir()
        scene.ours = set()
        scene.add_finished("song")
    for _ in range(int(rng.integers(1, 3))):
        if any(folder.iterdir()):
            scene.edit(folder)
    song = scene.sound("song.wav")
    del scene.recordings["song"]  # what is in the folder may be of another recording
    return pick(rng, [
        ["unmix", song, *QUICK, "--overwrite", *scene.flags(no_report=0.7)],
        ["unmix", "out/song", "--group", pick(rng, ["bass=2", *GROUPS])],
        ["unmix", "out/song", "--groups", pick(rng, ["1", "2", "3"]), "--json"],
        ["unmix", song, *QUICK, "-o", "new", "--model", "out/song/model.npz", "--no-report"],
        ["report", pick(rng, ["out/song", ".", "out", "out/song/", "song.wav", "nowhere"])],
    ])  # fmt: skip


def attack(rng):
    """Attack once, in a sandbox that is removed afterwards; return what broke, or nothing."""
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder:
        top = Path(folder) / "home"
        top.mkdir()
        scene = Scene(rng, top)
        words = pick(rng, [sounds, names, edited])(scene)
        fault = scene.fault_of(words)
        return fault and f"{fault}, by {words}"


if __name__ == "__main__":
    attacks.main(attack)
