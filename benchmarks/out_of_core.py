"""A long recording fitted on all its frames, read from the file, in little memory.

44.1 kHz stereo (what is heard does not matter), M = 1764: 2.5 GB of frames in single precision for
an hour. About four minutes on two cores; ``--minutes 2`` is a quick look, ``--minutes 120`` takes
twice as long.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from _common import machine, write_csv
from unmix import RATE, recording

M = 1764
RUN = """
import json, re, sys, time
import dask, numpy as np, phinmf
path, iterations, memory, scratch = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
Y = phinmf.frames_from_files(path, 1764)
with dask.config.set({"phinmf.memory": memory, "temporary-directory": scratch}):
    start = time.perf_counter()
    how = {'method': phinmf.Method(anneal=False), 'tol': 0, 'random_state': 0}
    r = phinmf.tl_nmf(Y, 8, max_iter=iterations, **how)
    seconds = time.perf_counter() - start
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
h = r.history
assert set(h.frames) == {Y.shape[2]}
print(json.dumps({"frames": Y.shape[2], "bytes": Y.nbytes, "seconds": seconds, "peak": peak,
                  "per_iteration": float(np.median(np.diff(h.seconds))), "start": h.start,
                  "end": r.objective, "evaluations": int(h.evaluations[-1])}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--memory", default="1GB", help="what the runs of frames may take")
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.wav"
        recording(path, options.minutes)
        size = path.stat().st_size
        how = [str(path), str(options.iterations), options.memory, folder]
        command = [sys.executable, "-W", "ignore", "-c", RUN, *how]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    numbers = json.loads(done.stdout)
    entries = M * numbers["frames"]
    row = {
        "minutes": options.minutes,
        "rate_and_channels": f"{RATE} Hz stereo",
        "file_gigabytes": round(size / 1e9, 2),
        "M": M,
        "frames": numbers["frames"],
        "frames_gigabytes": round(numbers["bytes"] / 1e9, 2),
        "budget": options.memory,
        "peak_gigabytes": round(numbers["peak"] / 1e9, 2),
        "goal": "< 3",
        "outer_iterations": options.iterations,
        "evaluations": numbers["evaluations"],
        "seconds": round(numbers["seconds"]),
        "seconds_per_iteration": round(numbers["per_iteration"]),
        "objective_per_entry": f"{numbers['start'] / entries:.4f} → {numbers['end'] / entries:.4f}",
    }
    print(row)
    print(write_csv("out_of_core", [row]))


if __name__ == "__main__":
    main()
