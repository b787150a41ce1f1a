"""How well ``phinmf unmix`` predicts its time, and how well it respects ``--max-time``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr
from _common import timed, write_csv

from phinmf.audio.example import example

#: sampling rate, channels, seconds of sound, options
RUNS = (
    (16_000, 1, 30, "-k 8"),
    (16_000, 1, 120, "-k 8"),
    (44_100, 2, 10, "-k 4"),
    (44_100, 2, 60, "-k 8"),
    (96_000, 2, 20, "-k 8 --max-time 5"),
    (96_000, 2, 20, "-k 8 --max-time 5 --window 100ms"),
)


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
        command = [sys.executable, "-m", "phinmf", "unmix", str(path), *options.split()]
        command += ["-o", f"{folder}/out", "--json"]
        done, took = timed(lambda: subprocess.run(command, capture_output=True, text=True))
        result = json.loads(done.stdout)[0]
        number, unit = re.search(r"about (\d+) (s|min)", done.stderr).groups()  # type: ignore[union-attr]
        took = float(re.search(r"components in .*, (\d+) s", done.stderr)[1])  # type: ignore[index]
    announced = int(number) * (60 if unit == "min" else 1)
    return {
        "kHz": rate / 1000,
        "channels": channels,
        "sound_s": seconds,
        "options": options,
        "announced_s": announced,
        "took_s": round(took),
        "ratio": round(announced / max(took, 1), 2),
        "learning_s": round(result["seconds"]["learning"], 1),
    }


def main() -> None:
    rows = []
    run(16_000, 1, 5, "-k 2")  # compile
    for setting in RUNS:
        rows.append(run(*setting))
        print(rows[-1], flush=True)
    write_csv("forecast", rows)


if __name__ == "__main__":
    main()
