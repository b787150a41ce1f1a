"""Attacks on the command line and on the folders it writes.

Each one runs commands in a folder that is full of somebody else's work. Whatever the exit code is,
that work must be as it was; what is new must be whole folders that add up as they say.
"""

import functools
import os
import resource
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np

from fuzz import attacks, hostile_names, hostile_sounds, sandbox
from fuzz.attacks import Outcome
from fuzz.children import Child, Ended, listen
from fuzz.hostile_names import one_of
from fuzz.scene import QUICK, Scene, command, finished
from phinmf.cli import main
from phinmf.cli.main import get_parser


def options(scene: Scene) -> Outcome:
    song = scene.sound("song.wav")
    words = ["unmix", song, *QUICK, *hostile_names.options(scene.rng)]
    words += scene.flags(no_report=0.7, overwrite=0.5, json=0.3)
    return scene.judge("options", lambda: [command(scene, words)], whole=True)


def sounds(scene: Scene) -> Outcome:
    suffix = one_of(
        scene.rng, ["wav", "flac", "ogg", "mp3", "aiff", "raw", "w64", "WAV", "txt", ""]
    )
    song = scene.sound(f"song.{suffix}", hostile=True)
    words = ["unmix", song, "-o", "new", *QUICK, *scene.flags(no_report=0.6, json=0.3, quiet=0.2)]
    if scene.rng.random() < 0.4:
        words += ["--format", one_of(scene.rng, hostile_names.FORMATS[:13])]
    if scene.rng.random() < 0.3:
        words += ["--subtype", one_of(scene.rng, hostile_names.SUBTYPES)]
    if scene.rng.random() < 0.2:
        words += ["--gain", one_of(scene.rng, ["60", "6", "-60"])]
    if scene.rng.random() < 0.2:
        words += ["--model", str(finished() / "model.npz")]
    return scene.judge("sounds", lambda: [command(scene, words)], whole=True)


def names(scene: Scene) -> Outcome:
    name = one_of(scene.rng, hostile_names.NAMES)
    song = scene.sound(f"{name}.wav"[-250:] if len(name) > 250 else f"{name}.wav")
    words = ["unmix", song, *QUICK, "-o", one_of(scene.rng, [*hostile_names.NAMES[:30], "out"])]
    words += scene.flags(no_report=0.7, overwrite=0.5, json=0.4, quiet=0.2)
    if scene.rng.random() < 0.3:
        words += ["--filename", one_of(scene.rng, hostile_names.TEMPLATES)]
    if scene.rng.random() < 0.3:
        words += ["--group", one_of(scene.rng, hostile_names.GROUPS)]
    return scene.judge("names", lambda: [command(scene, words)], whole=True)


def several(scene: Scene) -> Outcome:
    """Several inputs, folders and finished folders among them."""
    there = [p.relative_to(scene.top) for p in scene.top.rglob("*")]
    there = [str(p) for p in there if not str(p).startswith("-")]
    inputs = [scene.sound(f"{n}.wav") for n in ("song", "other")]
    inputs = [one_of(scene.rng, [*inputs, *there, ".", "", "out/song"]) for _ in range(3)]
    if any(Path(scene.top / i).is_dir() for i in inputs):
        scene.recordings.clear()  # which recording is whose depends on the order of a folder
    words = ["unmix", *inputs, *QUICK, *scene.flags(no_report=0.9, overwrite=0.5, json=0.5)]
    words += ["-o", one_of(scene.rng, ["out", ".", "new", *there])]
    if scene.rng.random() < 0.4:
        words += ["--groups", "2"]
    return scene.judge("several inputs", lambda: [command(scene, words)])


def edited(scene: Scene) -> Outcome:
    """A finished folder that was changed since."""
    folder = scene.top / "out" / "song"
    if not folder.is_dir():
        shutil.rmtree(scene.top)
        scene.top.mkdir()
        scene.ours = sandbox.copy(finished(), folder, scene.top)
    for _ in range(int(scene.rng.integers(1, 3))):
        if any(folder.iterdir()):
            sandbox.edit(folder, scene.rng, scene.ours, scene.top)
    song = scene.sound("song.wav")
    del scene.recordings["song"]  # what is in the folder may be of another recording
    words = one_of(scene.rng, [
        ["unmix", song, *QUICK, "--overwrite", *scene.flags(no_report=0.7)],
        ["unmix", "out/song", "--group", one_of(scene.rng, ["bass=2", *hostile_names.GROUPS])],
        ["unmix", "out/song", "--groups", one_of(scene.rng, ["1", "2", "3"]), "--json"],
        ["unmix", song, *QUICK, "-o", "new", "--model", "out/song/model.npz", "--no-report"],
        ["report", "out/song"],
        ["report", one_of(scene.rng, [".", "out", "out/song/", "song.wav", "nowhere"])],
    ])  # fmt: skip
    return scene.judge("edited folders", lambda: [command(scene, words)], whole=True)


def signals(scene: Scene) -> Outcome:
    song = scene.sound("song.wav")
    words = one_of(scene.rng, [
        ["unmix", song, *QUICK, "--overwrite", *scene.flags(no_report=0.7, quiet=0.5)],
        ["unmix", song, *QUICK, "-o", "new/new", "--group", "a=1", "--no-report"],
        ["unmix", "out/song", "--group", "a=1"],
        ["report", "out/song"],
    ])  # fmt: skip
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    times = [
        (float(scene.rng.exponential(0.4)), one_of(scene.rng, numbers))
        for _ in range(scene.rng.integers(1, 5))
    ]

    def first() -> None:
        """Send signals as soon as phinmf handles them."""
        cli, parser = sys.modules["phinmf.cli.main"], get_parser
        cli.get_parser = lambda: (listen(), parser())[1]

    return scene.judge("signals", lambda: [command(scene, words, first=first, signals=times)])


def two_at_once(scene: Scene) -> Outcome:
    song = scene.sound("song.wav")
    choices = [
        ["unmix", song, *QUICK, "--overwrite", "--no-report"],
        ["unmix", song, *QUICK, "--no-report"],
        ["unmix", "out/song", "--group", "a=1"],
        ["unmix", "out/song", "--groups", "2"],
        ["report", "out/song"],
    ]
    del scene.recordings["song"]

    def run() -> list[Ended]:
        children = [
            Child(functools.partial(main, one_of(scene.rng, choices)), scene.top) for _ in range(3)
        ]
        return [child.wait() for child in children]

    return scene.judge("at the same time", run)


def limits(scene: Scene) -> Outcome:
    song = scene.sound("song.wav")
    kind, values = one_of(scene.rng, [
        (resource.RLIMIT_FSIZE, [0, 1, 50, 500, 2000, 5000, 20_000, 100_000]),
        (resource.RLIMIT_NOFILE, [4, 6, 8, 10, 12, 14, 16, 20, 25]),
    ])  # fmt: skip
    value = one_of(scene.rng, values)
    words = one_of(scene.rng, [
        ["demo", "-k", "2", "--max-time", "0.1", "-o", one_of(scene.rng, ["new", "new/er", "out"])],
        ["unmix", song, *QUICK, "--overwrite", "-k", one_of(scene.rng, ["2", "5"])],
        ["unmix", song, *QUICK, "--format", one_of(scene.rng, ["FLAC", "OGG", "CAF"]), "-o", "new"],
        ["unmix", "out/song", "--group", "a=1"],
        ["report", "out/song"],
    ])  # fmt: skip

    def limit() -> None:
        listen()
        resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))

    return scene.judge("limits", lambda: [command(scene, words, first=limit)], words[0] != "demo")


def closed(scene: Scene) -> Outcome:
    """Standard output or error is closed, full, or a pipe that nobody reads."""
    song = scene.sound("song.wav")
    words = one_of(scene.rng, [
        ["unmix", song, *QUICK, "--overwrite", "--json", *scene.flags(no_report=0.8, quiet=0.4)],
        ["unmix", song, "nowhere.wav", *QUICK, "--json", "--no-report"],
        ["report", "out/song"], ["env"], ["--help"], ["unmix", "--help"], ["nonsense"],
    ])  # fmt: skip
    number, kind = int(one_of(scene.rng, [1, 2])), one_of(scene.rng, ["closed", "full", "pipe"])

    def first() -> None:
        if kind == "closed":
            os.close(number)
            setattr(sys, ("", "stdout", "stderr")[number], None)
        elif kind == "full":
            os.dup2(os.open("/dev/full", os.O_WRONLY), number)
        else:
            reading, writing = os.pipe()
            os.dup2(writing, number)
            os.close(reading)

    def run() -> list[Ended]:
        end = Child(lambda: main(words), scene.top, first=first).wait()
        said = number == 2 and not end.err and end.code in (1, 2)  # it could not say why
        return [end._replace(err="phinmf: said to nobody\n") if said else end]

    return scene.judge("closed, full or broken streams", run)


def saving(scene: Scene) -> Outcome:
    """`Unmixing.save` into folders with other files."""
    there = list(scene.top.rglob("*"))
    folder = one_of(scene.rng, [*there, scene.top, scene.top / "new", scene.top / "a" / "b"])
    how = {"overwrite": bool(scene.rng.random() < 0.6)}
    for name, values in (("filename", hostile_names.TEMPLATES), ("format", hostile_names.FORMATS),
                         ("subtype", hostile_names.SUBTYPES)):  # fmt: skip
        if scene.rng.random() < 0.3:
            how[name] = one_of(scene.rng, values)
    if scene.rng.random() < 0.2:
        how["gain"] = float(one_of(scene.rng, [6, -6, np.nan, np.inf, 1e5]))

    def work() -> int:
        import phinmf

        y = hostile_sounds.tones(1000)[:, 0]
        u = phinmf.unmix(y, 8000, 2, window=64, solver=None, max_time=0.1, n_threads=1)
        try:
            u.save(folder, **how)
        except (ValueError, TypeError, OSError) as error:
            print("phinmf:", repr(str(error)), file=sys.stderr)
            return 1
        return 0

    return scene.judge("Unmixing.save", lambda: [Child(work, scene.top).wait()], whole=True)


ATTACKS = [options, options, sounds, sounds, names, several, edited, edited, signals, two_at_once,
           limits, closed, saving]  # fmt: skip


def attack(rng: np.random.Generator) -> Outcome:
    """Attack once, in a sandbox that is removed afterwards."""
    finished()
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder:
        top = Path(folder) / "home"
        top.mkdir()
        scene = Scene(rng, top, sandbox.furnish(top, rng, finished()))
        return one_of(rng, ATTACKS)(scene)


if __name__ == "__main__":
    attacks.main(attack)
