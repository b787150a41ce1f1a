"""How well ``phinmf unmix`` predicts its time, and how well it respects ``--max-time``.

Other programs slow this one down. Linux counts for each thread how long it computed and how long it
waited for a processor; the time it would take alone is estimated as the time it took, times the
share of computing in both. It is announced for the speed of a processor that has nothing else to
do. ``--only TEXT`` selects runs by their options.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr
from _common import write_csv

from phinmf.audio.example import example

#: sampling rate, channels, seconds of sound, options
RUNS = (
    (44_100, 2, 30, "-k 4"),
    (44_100, 2, 30, "-k 8"),
    (44_100, 2, 30, "-k 24"),
    (44_100, 2, 30, "-k 8 --no-report"),
    (44_100, 2, 30, "-k 8 --fixed-transform"),
    (44_100, 2, 30, "-k auto"),
    (44_100, 2, 180, "-k 8"),
    (16_000, 1, 10, "-k 4"),
    (16_000, 1, 10, "-k 8"),
    (16_000, 1, 10, "-k 24"),
    (16_000, 1, 10, "-k 8 --no-report"),
    (16_000, 1, 10, "-k 8 --fixed-transform"),
    (16_000, 1, 10, "-k auto"),
    (96_000, 2, 20, "-k 8 --max-time 5"),
    (96_000, 2, 20, "-k 8 --max-time 5 --window 100ms"),
)
UNMIX = """
import json, sys, threading, time
from pathlib import Path
from types import SimpleNamespace
from phinmf.cli import main, one_file, progress
from phinmf.unmixing import forecast

forecast.time = SimpleNamespace(perf_counter=time.thread_time)  # the speed when alone
threads = {}  # nanoseconds that each one computed, and waited for a processor

def look():
    for path in Path("/proc/self/task").glob("*/schedstat"):
        try:
            threads[path.parent.name] = [int(n) for n in path.read_text().split()[:2]]
        except OSError:
            pass

def keep_looking():
    while True:
        look()
        time.sleep(0.05)

class Bar(progress.Bar):
    def __init__(self, *how):
        super().__init__(*how)
        self.marks = []

    def mark(self, stage):
        look()
        counted = [sum(n) for n in zip(*threads.values())]
        self.marks.append([stage, time.perf_counter(), *counted])

    def __enter__(self):
        self.mark("learning")
        return super().__enter__()

    def show(self, stage, within):
        if stage != self.marks[-1][0]:
            self.mark(stage)
        super().show(stage, within)

    def __exit__(self, *error):
        self.mark("end")
        print(json.dumps([self.forecast.stages, self.marks]))
        super().__exit__(*error)

one_file.Bar = Bar
threading.Thread(target=keep_looking, daemon=True).start()
sys.exit(main(["unmix", *sys.argv[1:], "--quiet"]))
"""


def sound(path: Path, rate: int, channels: int, seconds: int) -> None:
    """Write the example at another rate, repeated, a little different in each channel."""
    short = example()
    y = soxr.resample(short.mixture, short.sample_rate, rate)
    y = np.resize(y, rate * seconds)
    noise = np.random.default_rng(0).standard_normal((len(y), channels))
    soundfile.write(path, 0.5 * y[:, None] + 1e-4 * noise, rate, subtype="PCM_16")


def run(rate: int, channels: int, seconds: int, options: str) -> dict[str, Any]:
    """Unmix once, and compare what was announced with what it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "song.wav"
        sound(path, rate, channels, seconds)
        command = [sys.executable, "-c", UNMIX, str(path), *options.split(), "-o", f"{folder}/out"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    announced, marks = json.loads(done.stdout)
    names = [mark[0] for mark in marks]
    spent = np.diff([mark[1:] for mark in marks], axis=0)  # seconds, computing, waiting
    share = spent[:, 1] / spent[:, 1:].sum(axis=1)
    alone = dict(zip(names, (spent[:, 0] * share).tolist(), strict=False))
    return {
        "kHz": rate / 1000,
        "channels": channels,
        "sound_s": seconds,
        "options": options,
        "announced_s": round(sum(announced), 1),
        "took_s": round(float(spent[:, 0].sum()), 1),
        "alone_s": round(sum(alone.values()), 1),
        "ratio": round(sum(announced) / sum(alone.values()), 2),
        "announced_stages": " ".join(f"{s:.1f}" for s in announced),
        "alone_stages": " ".join(f"{alone.get(s, 0):.1f}" for s in ("learning", "writing", "page")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of the options of a run")
    only = parser.parse_args().only
    rows = []
    run(16_000, 1, 5, "-k 2")  # compile
    for setting in RUNS:
        if only in " ".join(map(str, setting)):
            rows.append(run(*setting))
            print(rows[-1], flush=True)
    if not only:
        write_csv("forecast", rows)


if __name__ == "__main__":
    main()
