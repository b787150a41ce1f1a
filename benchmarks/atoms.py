"""What few atoms cost and what they lose: a minute of orchestra at 44.1 kHz, fits in turns."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from _common import machine, median, timed, write_csv
from _orchestra import orchestra
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import atoms_for_energy

K, SHARE = 10, 0.999


class Fit(NamedTuple):
    """A fit, its seconds by the clock and its processor seconds, over all threads."""

    result: phinmf.Result
    seconds: float
    processor: float


def fit(Y: np.ndarray, **how: Any) -> Fit:
    """TL-NMF with default settings but for these."""
    before = time.process_time()
    result, seconds = timed(partial(phinmf.tl_nmf, Y, K, **{"random_state": 0, **how}))
    return Fit(result, seconds, time.process_time() - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    Y = orchestra()
    small = np.random.default_rng(0).standard_normal((64, 3000)).astype(np.float32)
    for how in ({"n_atoms": 32}, {}):
        fit(small, max_iter=10, **how)  # compile and load
    few, every, fixed = (
        f"`n_atoms={SHARE}`", "all atoms", "Karhunen–Loève transform, nothing learned",
    )  # fmt: skip
    fits: dict[str, Callable[[], Fit]] = {
        few: partial(fit, Y, n_atoms=SHARE),
        every: partial(fit, Y),
        fixed: partial(fit, Y, solver=None, init="klt"),
    }
    runs: dict[str, list[Fit]] = {name: [] for name in fits}
    for _ in range(options.repeats):
        for name, work in fits.items():
            runs[name].append(work())
            print(f"{name}: {runs[name][-1].seconds:.1f} s", flush=True)
    start, end = (runs[name][0].result.objective for name in (fixed, every))
    rows = []
    for name, done in runs.items():
        result = done[0].result
        rows.append(
            {
                "fit": name,
                "learned": 0 if name == fixed else result.n_atoms,
                "energy": f"{100 * result.energy:.1f} %" if name != fixed else "",
                "iterations": result.n_iter,
                "seconds": f"{median(run.seconds for run in done):.2f}",
                "processor_seconds": f"{median(run.processor for run in done):.1f}",
                "objective": f"{result.objective / Y.size:.3f}",
                "gain": f"{(start - result.objective) / (start - end):.2f}",
                "atoms_90_95_99": "/".join(str(n) for n in atoms_for_energy(result.Phi, Y)),
            }
        )
        print(rows[-1], flush=True)
    print(write_csv("atoms", rows))


if __name__ == "__main__":
    main()
