"""Where Φ starts, on the paper's recording: what four starts cost, and what becomes of them.

Every start is fitted twice: by TL-NMF with default options, and by NMF alone in the transform that
it is. The runs take turns.

starts  both methods
short   TL-NMF with a schedule that begins at a lower floor and is half as long
ways    joint diagonalisation in several ways, which is the reason for its defaults
length  what joint diagonalisation costs at several sampling rates
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from _common import machine, median, recording, timed, write_csv
from _orchestra import orchestra
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import atoms_for_energy
from phinmf.inits import INITS, Frames, JointDiagonalisation

K, SPARSITIES = 10, (10.0, 150.0)
METHODS: dict[str, dict[str, Any]] = {"NMF alone": {"solver": None}, "TL-NMF": {}}
SHORT = {
    "`Anneal(start=1e-2, length=20)`": {
        "method": phinmf.Method(anneal=phinmf.Anneal(start=1e-2, length=20))
    }
}
WAYS = [
    JointDiagonalisation(),
    *(JointDiagonalisation(n_stretches=S) for S in (4, 16, 32)),
    *(JointDiagonalisation(floor=floor) for floor in (1.0, 1e-2, 1e-4)),
    *(JointDiagonalisation(n_iter=n) for n in (10, 100)),
]
Rows = list[dict[str, Any]]


class Run(NamedTuple):
    """A fit, its seconds by the clock and its processor seconds, over all threads."""

    result: phinmf.Result
    seconds: float
    processor: float


def fit(Y: np.ndarray, seed: int, **how: Any) -> Run:
    """TL-NMF with default options but for these."""
    before = time.process_time()
    result, seconds = timed(partial(phinmf.tl_nmf, Y, K, random_state=seed, **how))
    return Run(result, seconds, time.process_time() - before)


def energy(Phi: np.ndarray, Y: np.ndarray) -> str:
    """Atoms for 90, 95 and 99 % of the energy."""
    return "/".join(str(n) for n in atoms_for_energy(Phi, Y))


def starts(Y: np.ndarray, seeds: int, methods: dict[str, dict[str, Any]]) -> Rows:
    """Fit from every registered start, by every method, at every sparsity."""
    cases = [(s, method, init) for s in SPARSITIES for method in methods for init in INITS]
    runs: dict[Any, list[Run]] = {case: [] for case in cases}
    for seed in range(seeds):
        for sparsity, method, init in cases:
            made = fit(Y, seed, init=init, sparsity=sparsity, **methods[method])
            runs[sparsity, method, init].append(made)
            print(sparsity, method, init, f"{made.result.objective / Y.size:.3f}", flush=True)
    rows = []
    for (sparsity, method, init), made in runs.items():
        objectives = [run.result.objective / Y.size for run in made]
        rows.append(
            {
                "sparsity": f"{sparsity:g}",
                "method": method,
                "start": init,
                "objective": f"{median(objectives):.3f}",
                "best": f"{min(objectives):.3f}",
                "worst": f"{max(objectives):.3f}",
                "atoms_90_95_99": energy(made[0].result.Phi, Y),
                "seconds": f"{median(run.seconds for run in made):.1f}",
                "processor_seconds": f"{median(run.processor for run in made):.1f}",
            }
        )
    return rows


def ways(Y: np.ndarray, seeds: int) -> Rows:
    """Make the start in several ways, and fit NMF alone in each."""
    frames, rows = Frames(Y[None]), []
    _ = frames.karhunen_loeve
    for way in WAYS:
        before = time.process_time()
        Phi = way.start(frames, np.random.default_rng(0), np.float64)
        row = {
            "way": repr(way).removeprefix("JointDiagonalisation"),
            "processor_seconds": f"{time.process_time() - before:.2f}",
            "atoms_90_95_99": energy(Phi, Y),
        }
        for sparsity in SPARSITIES:
            how = {
                "init": Phi,
                "sparsity": sparsity,
                "solver": None,
                "method": phinmf.Method(anneal=False),
            }
            made = [fit(Y, seed, **how) for seed in range(seeds)]
            objective = median(run.result.objective for run in made) / Y.size
            row[f"objective_{sparsity:g}"] = f"{objective:.3f}"
        rows.append(row)
        print(row, flush=True)
    return rows


def long_windows() -> Rows:
    """Make the start for a minute of orchestra at several sampling rates."""
    rows = []
    for M in (440, 882, 1764):
        frames = Frames(orchestra(M)[None])
        (_, klt), before = timed(lambda f=frames: f.karhunen_loeve), time.process_time()
        _, seconds = timed(
            partial(JointDiagonalisation().start, frames, np.random.default_rng(0), np.float32)
        )
        rows.append(
            {
                "M": M,
                "klt_seconds": f"{klt:.2f}",
                "seconds": f"{seconds:.2f}",
                "processor_seconds": f"{time.process_time() - before:.2f}",
                "covariances_megabytes": f"{JointDiagonalisation().n_stretches * M * M * 8e-6:.0f}",
            }
        )
        print(rows[-1], flush=True)
    return rows


QUESTIONS = ("starts", "short", "ways", "length")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", nargs="*", choices=[*QUESTIONS, []], help="default: all")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    asked = options.questions or QUESTIONS
    Y = recording()
    fit(Y, 0, max_iter=2)  # compile, load, warm up
    if "starts" in asked:
        print(write_csv("starts", starts(Y, options.seeds, METHODS)))
    if "short" in asked:
        print(write_csv("starts_short", starts(Y, options.seeds, SHORT)))
    if "ways" in asked:
        print(write_csv("starts_ways", ways(Y, options.seeds)))
    if "length" in asked:
        print(write_csv("starts_length", long_windows()))


if __name__ == "__main__":
    main()
