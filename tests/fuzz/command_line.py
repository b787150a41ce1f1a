"""Attacks on the command line and on the folders it writes.

Each one runs commands in a folder that is full of somebody else's work. Whatever the exit code is,
that work must be as it was; what is new must be whole folders that add up as they say.
"""

import shutil
import tempfile
from pathlib import Path

from fuzz import attacks, hostile_files
from fuzz.attacks import pick
from fuzz.hostile_files import FORMATS, GROUPS, NAMES, SUBTYPES
from fuzz.sandbox import QUICK, Scene, finished


def options(scene):
    words = ["unmix", scene.sound("song.wav"), *QUICK, *hostile_files.options(scene.rng)]
    words += scene.flags(no_report=0.7, overwrite=0.5, json=0.3)
    return scene.judge("options", words)


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
    return scene.judge("sounds", words)


def names(scene):
    rng, name = scene.rng, pick(scene.rng, NAMES)
    song = scene.sound(f"{name}.wav"[-250:] if len(name) > 250 else f"{name}.wav")
    words = ["unmix", song, *QUICK, "-o", pick(rng, [*NAMES[:30], "out"])]
    words += scene.flags(no_report=0.7, overwrite=0.5, json=0.4, quiet=0.2)
    if rng.random() < 0.3:
        words += ["--group", pick(rng, GROUPS)]
    return scene.judge("names", words)


def several(scene):
    """Several inputs, folders and finished folders among them."""
    rng = scene.rng
    present = [str(path.relative_to(scene.top)) for path in scene.top.rglob("*")]
    present = [name for name in present if not name.startswith("-")]
    inputs = [*(scene.sound(f"{n}.wav") for n in ("song", "other")), *present, ".", "", "out/song"]
    inputs = [pick(rng, inputs) for _ in range(3)]
    if any((scene.top / name).is_dir() for name in inputs):
        scene.recordings.clear()  # which recording is whose depends on the order of a folder
    words = ["unmix", *inputs, *QUICK, *scene.flags(no_report=0.9, overwrite=0.5, json=0.5)]
    words += ["-o", pick(rng, ["out", ".", "new", *present])]
    words += ["--groups", "2"] * (rng.random() < 0.4)
    return scene.judge("several inputs", words)


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
    words = pick(rng, [
        ["unmix", song, *QUICK, "--overwrite", *scene.flags(no_report=0.7)],
        ["unmix", "out/song", "--group", pick(rng, ["bass=2", *GROUPS])],
        ["unmix", "out/song", "--groups", pick(rng, ["1", "2", "3"]), "--json"],
        ["unmix", song, *QUICK, "-o", "new", "--model", "out/song/model.npz", "--no-report"],
        ["report", pick(rng, ["out/song", ".", "out", "out/song/", "song.wav", "nowhere"])],
    ])  # fmt: skip
    return scene.judge("edited folders", words)


ATTACKS = [options, sounds, names, several, edited]


def attack(rng):
    """Attack once, in a sandbox that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder:
        top = Path(folder) / "home"
        top.mkdir()
        return pick(rng, ATTACKS)(Scene(rng, top))


if __name__ == "__main__":
    attacks.main(attack)
