"""The paper's recording: objective against seconds and evaluations, all methods from one start."""

from __future__ import annotations

import argparse
import csv
import warnings

import numpy as np
from _common import data_folder, machine, recording, save, sklearn_nmf, timed, write_csv
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.linalg.manifold import dct, random_orthogonal

METHODS = {
    "PAPER": (phinmf.PAPER, "#777777"),
    "quasi-newton": ({"solver": "quasi-newton"}, "#0072B2"),
    "lbfgs, not annealed": ({"method": phinmf.Method(anneal=False)}, "#009E73"),
    "lbfgs, annealed (default)": ({}, "#D55E00"),
}


def run(Y: np.ndarray, how: dict, limit: float) -> phinmf.Result:
    """One run; methods without a schedule run until the time limit."""
    if "solver" in how or "method" in how:
        how = {**how, "max_time": limit, "max_iter": 10_000, "tol": 0}
    return phinmf.tl_nmf(Y, 10, **{**how, "floor": phinmf.PAPER["floor"]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=40.0, help="seconds for a method")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    Y = recording()
    M = len(Y)
    rng = np.random.default_rng(0)
    starts = {"random": random_orthogonal(M, rng), "dct": dct(M)}
    W = rng.random((M, 10))
    with open(data_folder() / "authors_armstrong.csv") as file:
        authors = [
            (float(r["seconds"]), float(r["objective_per_entry"])) for r in csv.DictReader(file)
        ]
    theirs = sklearn_nmf(Y, 10)
    theirs()
    rows, curves = [], {}
    for threads in (2, 1):
        for sparsity in (0.29, 10.0, 150.0):
            for start, Phi in starts.items():
                seconds_sklearn = timed(theirs)[1]
                for name, (how, _) in METHODS.items():
                    fixed = {"sparsity": sparsity, "init": Phi, "W": W, "n_threads": threads}
                    r = run(Y, {**how, **fixed, "random_state": 0}, options.limit)
                    h = r.history
                    curves[threads, sparsity, start, name] = h
                    row = {
                        "threads": threads,
                        "sparsity": sparsity,
                        "start": start,
                        "method": name,
                        "objective_per_entry": round(r.objective / Y.size, 4),
                        "seconds": round(h.seconds[-1], 2),
                        "evaluations": int(h.evaluations[-1]),
                        "outer_iterations": len(h),
                        "sklearn_200_iterations_seconds": round(seconds_sklearn, 2),
                    }
                    rows.append(row)
                    print(row, flush=True)
    print(write_csv("armstrong", rows))

    figure = Figure(figsize=(11, 12), layout="constrained")
    axes = figure.subplots(6, 3, sharey="row")
    cases = [(sparsity, start) for sparsity in (0.29, 10.0, 150.0) for start in starts]
    for line, (sparsity, start) in zip(axes, cases, strict=True):
        for ax, (threads, x) in zip(
            line, ((2, "seconds"), (1, "seconds"), (2, "evaluations")), strict=True
        ):
            for name, (_, color) in METHODS.items():
                h = curves[threads, sparsity, start, name]
                ax.plot(getattr(h, x), h.target_objective / Y.size, color=color, label=name)
            last = [
                r
                for r in rows
                if (r["threads"], r["sparsity"], r["start"]) == (threads, sparsity, start)
            ]
            low = min(r["objective_per_entry"] for r in last)
            ax.set(ylim=(0.9 * low, 2.4 * low), xlabel=x)
            if x == "seconds":
                ax.set_title(
                    f"sparsity {sparsity:g}, {start} start, {threads} thread(s)", fontsize=8
                )
                ax.axvline(last[0]["sklearn_200_iterations_seconds"], color="black", ls=":", lw=1,
                           label="scikit-learn NMF, 200 iterations (2 threads)")  # fmt: skip
                if sparsity == 150 and start == "random" and threads == 2:
                    inside = [(s, o) for s, o in authors if s <= options.limit]
                    ax.plot(
                        *zip(*inside, strict=True),
                        color="#CC79A7",
                        label="the authors' code, as recorded",
                    )
        line[0].set_ylabel("objective per entry")
    axes[4, 0].legend(fontsize=6, loc="center right")
    save(figure, "armstrong")


if __name__ == "__main__":
    main()
