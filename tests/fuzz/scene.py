"""One attack: a sandbox, commands that run in it, and checks of what they changed."""

import functools
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fuzz import hostile_sounds, sandbox, written
from fuzz.attacks import Outcome, Verdict, broke
from fuzz.children import Child, Ended
from phinmf.cli import main

QUICK = ["-k", "2", "--window", "64", "--max-time", "0.1", "--threads", "1"]


@functools.cache
def finished() -> Path:
    """A folder that phinmf has written, with two groups; everything is compiled for it."""
    top = Path(tempfile.mkdtemp(prefix="fuzz-finished-"))
    hostile_sounds.put(top / "song.wav", hostile_sounds.tones(2000), "WAV", "PCM_16")
    words = ["unmix", str(top / "song.wav"), "-o", str(top / "out"), "--quiet", *QUICK]
    assert main([*words, "--group", "drums=1"]) == 0
    return top / "out" / "song"


@dataclass
class Scene:
    """A sandbox, and what is known of it."""

    rng: np.random.Generator
    top: Path
    ours: dict[str, str] = field(default_factory=dict)
    recordings: dict[str, Path] = field(default_factory=dict)  # by the name of their folder

    def sound(self, name: str, hostile: bool = False) -> str:
        """Write a recording; return its name as it is typed."""
        path = self.top / name
        if os.path.lexists(path):
            return name
        (hostile_sounds.write_hostile if hostile else hostile_sounds.write_sane)(path, self.rng)
        self.recordings[path.stem] = path
        return name if not name.startswith("-") or self.rng.random() < 0.3 else f"./{name}"

    def flags(self, **chances: float) -> list[str]:
        """Some of the options, each with a chance."""
        return [
            f"--{name.replace('_', '-')}" for name, p in chances.items() if self.rng.random() < p
        ]

    def judge(self, kind: str, run: Callable[[], list[Ended]], whole: bool = False) -> Outcome:
        """Run, and compare what is there afterwards; `whole`: if it fails nothing is new."""
        before = sandbox.state(self.top)
        ends = run()
        after = sandbox.state(self.top)
        for end in ends:
            if end.fault:
                return broke(kind, end.fault)
        lost, new = sandbox.changes(before, after, self.ours)
        said = ends[-1].err[-500:]
        if lost:
            return broke(kind, f"lost or changed {lost}; {said}")
        failed = all(end.code for end in ends)
        if failed and whole and after != before:
            changed = [n for n in {*before, *after} if before.get(n) != after.get(n)]
            return broke(kind, f"failed, but {changed} changed; {said}")
        if wrong := self.wrong(new, after):
            return broke(kind, f"{wrong}; {said}")
        return Outcome(kind, Verdict.REFUSED if failed else Verdict.HELD)

    def wrong(self, new: list[str], after: dict[str, sandbox.Entry]) -> str:
        """What is wrong with what is new: it must belong to folders that are whole."""
        listings = [Path(name).parent for name in new if Path(name).name == "result.json"]
        for folder in listings:
            recording = self.recordings.get(folder.name)
            fresh = {Path(name).name for name in new if Path(name).parent == folder}
            if found := written.check_folder(self.top / folder, recording, fresh):
                return f"{folder}: {found}"
        for name in map(Path, new):
            if name.parent not in listings and not any(name in [f, *f.parents] for f in listings):
                return f"{name} is left behind"
        return ""


def command(scene: Scene, words: list[str], **how) -> Ended:
    """Run one command in the sandbox."""
    end = Child(lambda: main(words), scene.top, **how).wait()
    asked = "--json" in words and not {"--help", "--version"} & set(words)
    if asked and end.code in (0, 1) and "unmix" in words and not end.fault:
        try:
            written.strict(end.out)
        except ValueError as error:
            return end._replace(err=f"{end.err}\nTraceback: --json: {error}: {end.out[:300]!r}")
    return end
