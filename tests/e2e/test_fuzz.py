"""Random commands, in a folder that is full of somebody else's work.

Whatever the exit code is, that work must be as it was; what is new must be whole folders that add
up as they say.
"""

import contextlib
import faulthandler
import functools
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import traceback
from pathlib import Path

import hostile_files
import numpy as np
import pytest
from hostile_files import NAMES, pick
from kept import check_folder, strict

from phinmf.cli import main

pytestmark = pytest.mark.full
SEED, ATTACKS, SECONDS = 12, 400, 40
QUICK = ["-k", "2", "--window", "64", "--max-time", "0.1", "--threads", "1"]
PATIENCE = 60  #: after which a command that hangs ends the process with its traceback


@functools.cache
def finished():
    """A folder that phinmf has written, with two groups; everything is compiled for it."""
    top = Path(tempfile.mkdtemp(prefix="fuzz-finished-"))
    hostile_files.put(top / "song.wav", hostile_files.tones(2000), "WAV", "PCM_16")
    words = ["unmix", str(top / "song.wav"), "-o", str(top / "out"), "--quiet", *QUICK]
    assert main([*words, "--group", "drums=1"]) == 0
    return top / "out" / "song"


def run(words, top):
    """Run a command in a folder; return its exit code, and what is wrong with what it printed."""
    out, err = io.StringIO(), io.StringIO()
    here = os.getcwd()
    os.chdir(top)
    try:
        faulthandler.dump_traceback_later(PATIENCE, exit=True, file=sys.__stderr__)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except SystemExit as end:
        code = end.code or 0
    except Exception:
        return 1, traceback.format_exc()
    finally:
        faulthandler.cancel_dump_traceback_later()
        os.chdir(here)
    out, err = out.getvalue(), err.getvalue()
    for bad in ("Traceback", "is a fault of phinmf", "Warning:"):
        if bad in out + err:
            return code, f"{bad} in {err[-1500:]}"
    if character := re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", out + err):
        return code, f"{character[0]!r} is printed in {err[-500:]!r}"
    if code and not re.search(r"^phinmf( \w+)?: .", err, re.M):
        return code, f"exit code {code}, but no line says why: {err[-500:]!r}"
    if "--json" in words and code in (0, 1) and not {"--help", "--version"} & set(words):
        try:
            strict(out)
        except ValueError as error:
            return code, f"--json: {error}: {out[:300]!r}"
    return code, ""


def state(top):
    """Mode, content, and inode and time of change of everything below a folder."""
    entries = {}
    for path in top.rglob("*"):
        status, content, identity = path.lstat(), b"", ()
        if stat.S_ISLNK(status.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(status.st_mode):
            content, identity = path.read_bytes(), (status.st_ino, status.st_mtime_ns)
        entries[os.path.relpath(path, top)] = status.st_mode, content, identity
    return entries


class Scene:
    """A folder full of files that commands must leave alone, and of some that phinmf wrote."""

    def __init__(self, rng, top):
        self.rng, self.top = rng, top
        self.ours = set()  #: files that phinmf wrote and nobody changed
        self.recordings = {}  #: by the name of their folder
        for _ in range(int(rng.integers(2, 6))):
            folders = [path for path in top.rglob("*") if path.is_dir() and not path.is_symlink()]
            self.add_foreign(pick(rng, [top, *folders]) / pick(rng, NAMES))
        if rng.random() < 0.6:
            for name in {pick(rng, ["song", "a song", "[red]x"]), "song"}:
                self.add_finished(name)

    def add_finished(self, name):
        """Put a folder that phinmf has written somewhere."""
        out = self.top / "out"
        if os.path.lexists(out / name) or out.is_symlink() or (out.exists() and not out.is_dir()):
            return
        shutil.copytree(finished(), out / name)
        self.ours |= {f"out/{name}/{path.name}" for path in finished().iterdir()}

    def add_foreign(self, path):
        """Make a file, a folder or a link that phinmf has nothing to do with."""
        rng, kind = self.rng, self.rng.integers(6)
        if os.path.lexists(path):
            return
        if kind < 2:
            path.write_bytes(rng.bytes(int(rng.integers(40))))
            path.chmod(pick(rng, [0o644, 0o444, 0o600]))
        elif kind < 4:
            path.mkdir()
            if rng.random() < 0.7:
                names = ["thesis.tex", "component_01.wav", "result.json", ".phinmf-x", "new"]
                (path / pick(rng, names)).write_bytes(pick(rng, [b"{}", b"", b"[1", rng.bytes(20)]))
        else:
            targets = [str(each) for each in self.top.rglob("*")]
            path.symlink_to(pick(rng, ["nowhere", ".", "..", os.devnull, *targets]))

    def sound(self, name, hostile=False):
        """Write a recording; return its name as it is typed."""
        path = self.top / name
        if os.path.lexists(path):
            return name
        (hostile_files.write_hostile if hostile else hostile_files.write_sane)(path, self.rng)
        self.recordings[path.stem] = path
        return name if not name.startswith("-") or self.rng.random() < 0.3 else f"./{name}"

    def flags(self, **chances):
        """Some of the options, each with a chance."""
        return [
            f"--{name.replace('_', '-')}" for name, p in chances.items() if self.rng.random() < p
        ]

    def fault_of(self, words):
        """Run a command and return what is wrong afterwards; if it fails nothing may be new."""
        before = state(self.top)
        code, fault = run(words, self.top)
        after = state(self.top)
        changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        lost = [
            name
            for name in changed & before.keys() - self.ours
            if not (stat.S_ISDIR(before[name][0]) and stat.S_ISDIR(after.get(name, [0])[0]))
        ]
        if fault:
            return fault
        if lost:
            return f"lost or changed {lost}"
        if code and changed:
            return f"failed, but {changed} changed"
        return self.wrong(changed & after.keys())

    def wrong(self, new):
        """What is wrong with what is new: it must belong to folders that are whole."""
        folders = [Path(name).parent for name in new if Path(name).name == "result.json"]
        for folder in folders:
            fresh = {Path(name).name for name in new if Path(name).parent == folder}
            recording = self.recordings.get(folder.name)
            if fault := check_folder(self.top / folder, recording, fresh):
                return f"{folder}: {fault}"
        for name in map(Path, new):
            if not any(name.parent == each or name in [each, *each.parents] for each in folders):
                return f"{name} is left behind"
        return ""


def sounds(scene):
    rng = scene.rng
    suffix = pick(rng, ["wav", "flac", "ogg", "mp3", "aiff", "raw", "w64", "WAV", "txt", ""])
    song = scene.sound(f"song.{suffix}", hostile=True)
    words = ["unmix", song, "-o", "new", *QUICK, *scene.flags(no_report=0.6, json=0.3, quiet=0.2)]
    chances = {
        "--format": (0.4, hostile_files.FORMATS[:13]), "--subtype": (0.3, hostile_files.SUBTYPES),
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
        words += ["--group", pick(rng, hostile_files.GROUPS)]
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
