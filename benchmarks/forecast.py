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
import time
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
import json, sys, time
from types import SimpleNamespace
from phinmf.cli import main, one_file, progress
from phinmf.unmixing import forecast

forecast.time = SimpleNamespace(perf_counter=time.thread_time)  # the speed when alone

class Bar(progress.Bar):
    def __exit__(self, *error):
        print(json.dumps([self.forecast.stages, self.forecast.seconds]))
        super().__exit__(*error)

one_file.Bar = Bar
sys.exit(main(["unmix", *sys.argv[1:], "--quiet"]))
"""


def sound(path: Path, rate: int, channels: int, seconds: int) -> None:
    """Write the example at another rate, repeated, a little different in each channel."""
    short = example()
    y = soxr.resample(short.mixture, short.sample_rate, rate)
    y = np.resize(y, rate * seconds)
    noise = np.random.default_rng(0).standard_normal((len(y), channels))
    soundfile.write(path, 0.5 * y[:, None] + 1e-4 * noise, rate, subtype="PCM_16")


def computing(process: subprocess.Popen[str]) -> float:
    """Wait for a process; return the share of the time in which its threads had a processor."""
    threads: dict[str, tuple[int, int]] = {}
    while process.poll() is None:
        for path in Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
            try:
                computed, waited, _ = path.read_text().split()
            except (OSError, ValueError):
                continue
            threads[path.parent.name] = int(computed), int(waited)
        time.sleep(0.05)
    total = np.sum(list(threads.values()), axis=0)
    return float(total[0] / total.sum())


def run(rate: int, channels: int, seconds: int, options: str) -> dict[str, Any]:
    """Unmix once, and compare what was announced with what it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "song.wav"
        sound(path, rate, channels, seconds)
        command = [sys.executable, "-c", UNMIX, str(path), *options.split(), "-o", f"{folder}/out"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        share = computing(process)
        announced, took = json.loads(process.communicate()[0])
        stages = json.loads((Path(folder) / "out/song/result.json").read_text())["seconds"]
    learning, writing = stages["learning"], stages["streaming"] + stages["checking"]
    real = [learning, writing, took - learning - writing]
    return {
        "kHz": rate / 1000,
        "channels": channels,
        "sound_s": seconds,
        "options": options,
        "announced_s": round(sum(announced), 1),
        "took_s": round(took, 1),
        "alone_s": round(share * took, 1),
        "ratio": round(sum(announced) / (share * took), 2),
        "announced_stages": " ".join(f"{s:.1f}" for s in announced),
        "alone_stages": " ".join(f"{share * s:.1f}" for s in real),
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
