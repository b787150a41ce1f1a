"""Compare this source tree with another one: seconds and memory as ratios, in one run.

    git worktree add ../before bff1aee
    python benchmarks/versions.py ../before/src

Every case runs in two processes, one for each source tree, which take turns; the table has the
median of the ratios of successive runs, the peak memory of both, and whether the factors are equal
bit by bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

SRC = Path(__file__).resolve().parents[1] / "src"
Run = Callable[[], tuple[float, str]]  #: returns seconds and a digest of what was learned


def digest(*factors: np.ndarray) -> str:
    """A short text that identifies factors bit by bit."""
    text = hashlib.blake2b(digest_size=8)
    for factor in factors:
        text.update(np.ascontiguousarray(factor).tobytes())
    return text.hexdigest()


def timed_fit(Y: np.ndarray, K: int, **how: object) -> tuple[float, str]:
    """Fit frames; return seconds and a digest."""
    import phinmf

    start = time.perf_counter()
    r = phinmf.tl_nmf(Y, K, random_state=0, **how)
    return time.perf_counter() - start, digest(r.Phi, r.W, r.H)


def inner(**how: object) -> dict[str, object]:
    """Arguments of Algorithm 1's inner working, in the words of the version that runs."""
    import phinmf

    return {"method": phinmf.Method(**how)} if hasattr(phinmf, "Method") else how


def case(name: str, recording: str, folder: str) -> Run:
    """Prepare a case in the process that runs it."""
    import soundfile

    import phinmf

    if name == "frames on disk":
        return out_of_core(folder)
    y, _ = soundfile.read(recording, dtype="float64")
    y = y if y.ndim == 1 else y.mean(axis=1)
    Y = phinmf.to_frames(y, 440)
    single = Y.astype(np.float32)
    start = {"init": "random", "sparsity": 150}
    if name == "default fit, float64":
        return lambda: timed_fit(Y, 10, **start)
    if name == "default fit, float32":
        return lambda: timed_fit(single, 10, **start)
    if name == "paper's setting, 20 iterations":
        return lambda: timed_fit(Y, 10, **start, **phinmf.PAPER, max_iter=20)
    if name == "plain NMF, 60 steps":
        how = inner(anneal=False, n_iter_nmf=1)
        return lambda: timed_fit(Y, 10, solver=None, max_iter=60, tol=0, **how)
    if name == "few atoms, M = 1764":
        long = np.tile(y, 1 + 60 * 44_100 // len(y))[: 60 * 44_100]
        frames = phinmf.to_frames(long.astype(np.float32), 1764)
        return lambda: timed_fit(frames, 10, n_atoms=227)
    if name == "restarts, n_init = 3":

        def restarts() -> tuple[float, str]:
            begin = time.perf_counter()
            model = phinmf.TLNMF(10, n_init=3, max_iter=20, tol=0, random_state=0).fit(Y.T)
            return time.perf_counter() - begin, digest(model.components_)

        return restarts
    if name == "transform":
        model = phinmf.TLNMF(10, max_iter=10, tol=0, random_state=0).fit(Y.T)

        def transform() -> tuple[float, str]:
            begin = time.perf_counter()
            H = model.transform(Y.T)
            return time.perf_counter() - begin, digest(H)

        return transform
    if name == "one evaluation":
        V_hat = np.full_like(Y, np.mean(Y**2))
        how = {"solver": "quasi-newton", "init": "random", "max_iter": 3, "tol": 0}

        def evaluations() -> tuple[float, str]:
            r = phinmf.learn_transform(Y, V_hat, random_state=0, **how)
            return r.history[-1].seconds / r.history[-1].evaluations, digest(r.Phi)

        return evaluations
    raise ValueError(f"there is no case {name!r}")


def out_of_core(folder: str) -> Run:
    """All frames of two hours of 44.1 kHz stereo, in 1 GB of memory."""
    import dask

    import phinmf

    Y = phinmf.frames_from_files(f"{folder}/long.wav", 1764)
    how = inner(anneal=False)

    def run() -> tuple[float, str]:
        with dask.config.set({"phinmf.memory": "1GB", "temporary-directory": folder}):
            return timed_fit(Y, 8, max_iter=2, tol=0, **how)

    return run


CASES = (
    "default fit, float64",
    "default fit, float32",
    "paper's setting, 20 iterations",
    "one evaluation",
    "plain NMF, 60 steps",
    "transform",
    "few atoms, M = 1764",
    "restarts, n_init = 3",
)


def serve(name: str, recording: str, folder: str) -> None:
    """Run a case once for each line of the standard input, and print what it returns."""
    import warnings

    warnings.simplefilter("ignore")
    run = case(name, recording, folder)
    for _ in sys.stdin:
        seconds, what = run()
        status = Path("/proc/self/status").read_text()
        peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024
        print(json.dumps([seconds, what, peak]), flush=True)


class Contestant:
    """A process that runs one case with one source tree."""

    def __init__(self, src: Path, *how: str) -> None:
        environment = os.environ | {"PYTHONPATH": str(src)}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", *how],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self) -> tuple[float, str, float]:
        """Run once; return seconds, a digest and the peak memory so far in MB."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return tuple(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()


def compare(before: Path, name: str, recording: str, folder: str, rounds: int) -> dict:
    """Run a case with both source trees in turn."""
    pair = [Contestant(src, name, recording, folder) for src in (before, SRC)]
    runs: list[list[tuple[float, str, float]]] = [[], []]
    for number in range(rounds + 1):
        for which in ((0, 1), (1, 0))[number % 2]:
            runs[which].append(pair[which].run())
    for contestant in pair:
        contestant.close()
    old, new = (r[1:] if rounds > 1 else r for r in runs)  # functions are compiled in the first
    ratios = [b[0] / a[0] for a, b in zip(old, new, strict=True)]
    return {
        "case": name,
        "before_s": round(float(np.median([a[0] for a in old])), 4),
        "now_s": round(float(np.median([b[0] for b in new])), 4),
        "now/before": round(float(np.median(ratios)), 3),
        "before_MB": round(old[-1][2]),
        "now_MB": round(new[-1][2]),
        "same_bits": old[-1][1] == new[-1][1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="the folder src of another version")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--minutes", type=float, help="also frames on disk, of so many minutes")
    options = parser.parse_args()
    from _common import RECORDING, data_folder, machine, samples, write_csv

    samples()  # ends with a message if the recording is missing
    print(machine())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        where = str(data_folder() / RECORDING), folder
        for name in options.cases:
            rows.append(compare(options.before, name, *where, options.rounds))
            print(rows[-1], flush=True)
        if options.minutes:
            from unmix import recording

            recording(Path(folder) / "long.wav", options.minutes)
            name = "frames on disk"
            rows.append(compare(options.before, name, *where, 1))
            print(rows[-1], flush=True)
    write_csv("versions", rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    else:
        main()
