"""An ordinary song and a long recording through ``phinmf unmix``: seconds and memory.

The sound is the built-in example at 44.1 kHz, stereo, repeated with other levels and some noise:
what is heard matters for neither. ``--minutes 3 120`` takes a quarter of an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import soundfile
import soxr
from _common import machine, timed, write_csv

from phinmf.audio.example import example

RATE = 44_100
RUN = """
import resource, sys
from phinmf.cli import main
code = main(["unmix", sys.argv[1], "-o", sys.argv[2], "--quiet"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(code)
"""


def recording(path: Path, minutes: float) -> None:
    """Write a stereo recording of this length."""
    rng = np.random.default_rng(0)
    sound = example()
    y = soxr.resample(sound.mixture, sound.sample_rate, RATE)
    left = round(60 * minutes * RATE)
    with soundfile.SoundFile(path, "w", RATE, 2, subtype="PCM_16") as file:
        while left > 0:
            stereo = np.stack([y, np.roll(y, 40)], axis=1) * rng.uniform(0.3, 0.9)
            stereo += 1e-3 * rng.standard_normal(stereo.shape)
            file.write(stereo[:left])
            left -= len(stereo)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, nargs="+", default=[3.0, 15.0])
    options = parser.parse_args()
    print(machine())
    rows = []
    for minutes in options.minutes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "song.wav"
            recording(path, minutes)
            command = [sys.executable, "-c", RUN, str(path), f"{folder}/out"]
            run = {"capture_output": True, "text": True, "check": True}
            done, seconds = timed(lambda c=command, r=run: subprocess.run(c, **r))
            result = json.loads((Path(folder) / "out/song/result.json").read_text())
        row = {
            "minutes": minutes,
            "seconds": round(seconds, 1),
            "share_of_its_length": round(seconds / (60 * minutes), 3),
            "learning": round(result["seconds"]["learning"], 1),
            "streaming": round(result["seconds"]["streaming"], 1),
            "peak_gigabytes": round(int(done.stdout) * 1024 / 1e9, 2),
            "exact": result["exact"],
            "null_test_db": result["null_test"]["db"],
        }
        print(row)
        rows.append(row)
    write_csv("unmix", rows)


if __name__ == "__main__":
    main()
