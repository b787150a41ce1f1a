"""The studio as a listener meets it: how long until the first sound, and how long a stretch takes.

A browser's requests are sent to ``phinmf studio`` in a process of its own. The sound is that of
``benchmarks/unmix.py``: the built-in example at 44.1 kHz in stereo, repeated.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from _common import machine, median, timed, write_csv
from unmix import RATE, recording

from phinmf.cli import main as phinmf

REPEATS = 3
STRETCH = RATE // 2  #: samples that the page asks for at a time
REQUESTS = 40
MINUTES = 3.0


class Studio:
    """A running studio."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Send a request; return what is answered."""
        request = urllib.request.Request(self.address + path, body, method=method)
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def until(self, true: Callable[[list[dict[str, Any]]], Any]) -> Any:
        """Wait until a function of the recordings returns something; return that."""
        with urllib.request.urlopen(self.address + "events") as stream:
            for line in stream:
                if line.startswith(b"data: ") and (
                    found := true(json.loads(line[6:])["recordings"])
                ):
                    return found
        raise RuntimeError("the studio has ended")

    def drop(self, sound: bytes, name: str) -> str:
        """Send a recording; return the id of its first take when its first stretch was heard."""
        id = json.loads(self.ask("POST", f"recordings?name={name}", sound))["id"]
        take = self.until(lambda found: first_take(found, id))
        self.stretch(take, 0)
        return take

    def stretch(self, take: str, start: int) -> None:
        """Ask for sound as the page does."""
        self.ask("GET", f"takes/{take}/sound?start={start}&count={STRETCH}")

    def latencies(self, take: str) -> np.ndarray:
        """Milliseconds of one stretch after the other."""
        starts = [STRETCH * (i % 50) for i in range(REQUESTS)]
        return 1000 * np.array([timed(lambda s=s: self.stretch(take, s))[1] for s in starts])

    def cancel_all(self) -> None:
        """Cancel all work, and wait until it has ended."""
        for job in self.until(lambda found: [[job["id"] for one in found for job in one["jobs"]]])[
            0
        ]:
            self.ask("DELETE", f"jobs/{job}")
        self.until(lambda found: not any(one["jobs"] for one in found))


def first_take(recordings: list[dict[str, Any]], id: str) -> str | None:
    """Return the id of the first take of a recording, if there is one."""
    takes = next((one["takes"] for one in recordings if one["id"] == id), [])
    return takes[0]["id"] if takes else None


@contextmanager
def studio(home: str, *inputs: str) -> Iterator[Studio]:
    """Run ``phinmf studio``."""
    command = [sys.executable, "-m", "phinmf", "studio", "--no-browser", "-o", home, *inputs]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **quiet) as process:
        try:
            yield Studio(process.stdout.readline().split()[-1])
        finally:
            process.terminate()


def row(what: str, values: Any, unit: str, asked: str = "") -> dict[str, str]:
    """A median with the smallest and the largest value."""
    values = np.atleast_1d(values)
    spread = f" ({values.min():.3g} to {values.max():.3g})" if len(values) > 1 else ""
    made = {"what": what, "value": f"{median(values):.3g}{spread} {unit}", "asked": asked}
    print(made)
    return made


def first_sound(folder: Path, song: bytes, short: bytes) -> list[dict[str, str]]:
    """Seconds from the drop to the first sound, of a new studio and of one that is warm."""
    cold, warm, whole = [], [], []
    for i in range(REPEATS):
        with studio(f"{folder}/home{i}") as running:
            cold.append(timed(lambda: running.drop(song, "cold.wav"))[1])
            running.cancel_all()
            warm.append(timed(lambda: running.drop(song, "warm.wav"))[1])
            running.cancel_all()
            whole.append(timed(lambda: running.drop(short, "short.wav"))[1])
    return [
        row(f"{MINUTES:g} minutes dropped: its preview of 30 s is heard after", warm, "s", "10 s"),
        row("the same, dropped as soon as the studio is open", cold, "s", ""),
        row("30 s dropped: all of it is heard after", whole, "s", ""),
    ]


def stretches(folder: Path, song: bytes) -> list[dict[str, str]]:
    """Milliseconds until half a second of all sources is there, idle and while learning."""
    rows = []
    with studio(f"{folder}/home") as running:
        take = running.drop(song, "song.wav")
        learning = running.latencies(take)
        running.cancel_all()
        rows += [
            row("half a second of 8 components, nothing else to do", running.latencies(take), "ms"),
            row("the same while the whole recording is being learned", learning, "ms", "500 ms"),
        ]
    return rows


def exports(folder: Path, path: Path) -> list[dict[str, str]]:
    """Seconds until files of three minutes can be downloaded."""
    model = str(next(folder.glob("home/*/preview/model.npz")))
    assert phinmf(["unmix", str(path), "--model", model, "-o", f"{folder}/out", "--quiet"]) == 0
    group = ["--group", "one=1-3 two=4-6", "--quiet"]
    assert phinmf(["unmix", f"{folder}/out/{path.stem}", *group]) == 0
    rows = []
    with studio(f"{folder}/home_of_exports", f"{folder}/out/{path.stem}") as running:
        take = running.until(lambda found: found and first_take(found, found[0]["id"]))
        for kind, words in (("groups", "two groups and the rest"), ("mix", "a mix")):
            body = json.dumps({"kind": kind, "levels": None}).encode()
            seconds = [timed(lambda b=body: running.ask("POST", f"takes/{take}/exports", b))[1]
                       for _ in range(3)]  # fmt: skip
            rows.append(row(f"{words} of {MINUTES:g} minutes, written", seconds, "s"))
    return rows


def main() -> None:
    print(machine())
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        song, short = folder / "song.wav", folder / "short.wav"
        recording(song, MINUTES)
        recording(short, 0.5)
        rows = [
            *first_sound(folder, song.read_bytes(), short.read_bytes()),
            *stretches(folder, song.read_bytes()),
            *exports(folder, song),
        ]
        time.sleep(1)
    load.append(os.getloadavg()[0])
    said = f"load of the machine {load[0]:.1f} before and {load[1]:.1f} after"
    write_csv("studio", rows, said)


if __name__ == "__main__":
    main()
