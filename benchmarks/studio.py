"""How long a listener waits in the studio: for a preview, for sound, for files to take away.

Each row has the seconds on the clock and the seconds of processor time that the studio took,
which do not depend on other programs. The load of the machine is in the first line of the result.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr
from _common import median, timed, write_csv

from phinmf.audio.example import example

RATE = 44_100
SONG, SHORT = 180, 30  #: seconds
COMPONENTS = 32
REQUESTS = 10  #: of two seconds of sound each
REPEATS = 3  #: of what is dropped; medians are reported


def sound(path: Path, rate: int, channels: int, seconds: int) -> None:
    """Write the example at another rate, repeated, a little different in each channel."""
    short = example()
    y = soxr.resample(short.mixture, short.sample_rate, rate)
    y = np.resize(y, rate * seconds)
    noise = np.random.default_rng(0).standard_normal((len(y), channels))
    soundfile.write(path, 0.5 * y[:, None] + 1e-4 * noise, rate, subtype="PCM_16")


class Studio:
    """A studio in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        address = re.search(r"http://([^/]+)(/\S+)", process.stdout.readline())
        if address is None:
            raise RuntimeError("The studio did not print its address.")
        self.host, self.path = address[1], address[2]

    def processor(self) -> float:
        """Return the seconds of processor time it has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Return the answer to a request."""
        connection = http.client.HTTPConnection(self.host, timeout=600)
        connection.request(method, self.path + path, body)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status < 300, content
        return content

    def states(self) -> Iterator[Any]:
        """Yield the state whenever it changes."""
        connection = http.client.HTTPConnection(self.host, timeout=600)
        connection.request("GET", self.path + "events")
        for line in connection.getresponse():
            if line.startswith(b"data: "):
                yield json.loads(line[6:])

    def until(self, condition: Callable[[Any], Any]) -> Any:
        """Return the first state for which a condition holds."""
        return next(state for state in self.states() if condition(state))

    def drop(self, name: str, content: bytes) -> str:
        """Send a recording; return its first version when two seconds of that have come."""
        id = json.loads(self.ask("POST", f"recordings?name={name}", content))["id"]
        state = self.until(lambda state: versions_of(state, id))
        version = versions_of(state, id)[0]["id"]
        self.ask("GET", f"versions/{version}/sound/0/{2 * RATE}")
        return version

    def cancel_all(self) -> None:
        """Cancel all work, and wait until it has ended."""
        for recording in next(self.states())["recordings"]:
            for job in recording["jobs"]:
                self.ask("DELETE", f"jobs/{job['id']}")
        self.until(lambda state: not any(r["jobs"] for r in state["recordings"]))

    def hears(self, version: str) -> tuple[float, float]:
        """Return the median seconds to get two seconds of all components, and processor time."""
        waits, before = [], self.processor()
        for i in range(REQUESTS):
            query = f"versions/{version}/sound/{i * 2 * RATE}/{2 * RATE}"
            waits.append(timed(lambda query=query: self.ask("GET", query))[1])
        return median(waits), (self.processor() - before) / REQUESTS


def versions_of(state: Any, id: str) -> Any:
    """Return the versions of a recording."""
    return next(r["versions"] for r in state["recordings"] if r["id"] == id)


@contextmanager
def studio(home: Path, *recordings: Path) -> Iterator[Studio]:
    """Run a studio, and end it."""
    command = [sys.executable, "-m", "phinmf", "studio", "--no-browser", "-o", str(home)]
    process = subprocess.Popen([*command, *map(str, recordings)], stdout=subprocess.PIPE, text=True)
    try:
        yield Studio(process)
    finally:
        process.terminate()
        process.communicate()


def row(
    what: str, components: int, seconds: float, processor: float | None = None
) -> dict[str, Any]:
    rounded = "" if processor is None else round(processor, 2)
    made = {"what": what, "components": components, "seconds": round(seconds, 3)}
    return {**made, "processor_seconds": rounded}


def measured(opened: Studio, work: Callable[[], Any]) -> tuple[float, float]:
    """Return seconds, and seconds of processor time of the studio."""
    before = opened.processor()
    _, seconds = timed(work)
    return seconds, opened.processor() - before


def drops(opened: Studio, name: str, content: bytes) -> tuple[float, float]:
    """Return the median seconds from a drop to the first sound, and processor time."""
    took = []
    for i in range(REPEATS):
        took.append(measured(opened, lambda i=i: opened.drop(f"{name}{i}.wav", content)))
        opened.cancel_all()
    seconds, processor = zip(*took, strict=True)
    return median(seconds), median(processor)


def a_song(folder: Path) -> Iterator[dict[str, Any]]:
    """Drop a song of three minutes and one of half a minute; listen while a song is learned."""
    content = []
    for seconds in (SONG, SHORT):
        sound(folder / "song.wav", RATE, 2, seconds)
        content.append((folder / "song.wav").read_bytes())
    song, short = content
    with studio(folder / "home") as opened:
        time.sleep(10)  # as long as it takes a person to find a file
        yield row(
            f"drop a song of {SONG} s, hear the preview of its middle",
            8,
            *drops(opened, "song", song),
        )
        yield row(f"drop a sound of {SHORT} s, hear all of it", 8, *drops(opened, "short", short))
        version = opened.drop("again.wav", song)
        yield row("2 s of sound while the song is learned", 8, opened.hears(version)[0])
        opened.cancel_all()
        yield row("2 s of sound", 8, *opened.hears(version))
        groups = [{"name": "a", "components": [1, 2, 3]}]
        body = json.dumps({"revision": 0, "groups": groups, "levels": []}).encode()
        yield row(
            "save groups",
            8,
            *measured(opened, lambda: opened.ask("PUT", f"versions/{version}/mix", body)),
        )
        for kind in ("groups", "components", "mix"):
            request = json.dumps({"kind": kind}).encode()
            took = measured(
                opened,
                lambda request=request: opened.ask("POST", f"versions/{version}/exports", request),
            )
            yield row(f"export {kind} of {SHORT} s", 8, *took)


def many_components(folder: Path, format: str) -> Iterator[dict[str, Any]]:
    """Listen to many components of a folder that the command wrote."""
    sound(folder / "short.wav", RATE, 2, SHORT)
    command = [sys.executable, "-m", "phinmf", "unmix", folder / "short.wav", "--no-report"]
    command += ["-k", str(COMPONENTS), "--max-time", "5", "--format", format, "--quiet"]
    subprocess.run([*command, "-o", folder / format], check=True)
    with studio(folder / f"home {format}", folder / format / "short") as opened:
        time.sleep(5)
        opened.hears("t1")
        yield row(f"2 s of sound, {format}", COMPONENTS, *opened.hears("t1"))


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    rows, load = [], os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        for part in (
            a_song(Path(folder)),
            many_components(Path(folder), "WAV"),
            many_components(Path(folder), "FLAC"),
        ):
            for made in part:
                print(made, flush=True)
                rows.append(made)
    write_csv(
        "studio", rows, f"load {load:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end"
    )


if __name__ == "__main__":
    main()
