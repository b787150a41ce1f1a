"""The speed of β-divergences: NMF beside scikit-learn's, and TL-NMF beside Itakura–Saito.

Everything runs on one thread, in turns, and is measured in CPU seconds, so that other work on the
machine hardly matters. NMF is that of the paper's recording in the DCT, from the same start, with
the same number of updates. Writes results/beta.csv.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _common import machine, median, recording, write_csv
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import phinmf
from phinmf.linalg.manifold import dct

BETAS = (2.0, 1.0, 0.5, 0.0)
K, UPDATES = 10, 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--frames", type=int, help="use only the first ones")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    Y = recording()[:, : options.frames]
    print(machine(), f"frames {Y.shape}", sep="; ")
    with threadpool_limits(1):
        rows = [*nmf_rows(Y, options.repeats), *tl_nmf_rows(Y, options.repeats)]
    print(write_csv("beta", rows))


def nmf_rows(Y: np.ndarray, repeats: int) -> list[dict[str, object]]:
    """NMF in the DCT by scikit-learn and by phinmf."""
    rows = []
    for dtype in (np.float64, np.float32):
        X = (dct(len(Y)) @ (Y / np.sqrt((Y**2).mean()))).astype(dtype)
        rng = np.random.default_rng(0)
        W, H = (rng.random(shape).astype(dtype) for shape in ((len(Y), K), (K, Y.shape[1])))
        for beta in BETAS:
            works = {
                "phinmf": partial(ours, X, W, H, beta),
                "scikit-learn": partial(theirs, X, W, H, beta),
            }
            models, seconds = in_turns(works, repeats)
            d, V = phinmf.Beta(beta), X.astype(np.float64) ** 2 + 1e-8
            reached = {name: d.value(V, WH + 1e-8, 0.0).mean() for name, WH in models.items()}
            rows.append(
                {
                    "method": f"NMF, {UPDATES} updates",
                    "dtype": dtype.__name__,
                    "beta": beta,
                    "phinmf_seconds": round(seconds["phinmf"], 3),
                    "sklearn_seconds": round(seconds["scikit-learn"], 3),
                    "ratio": round(seconds["phinmf"] / seconds["scikit-learn"], 3),
                    "phinmf_objective": float(f"{reached['phinmf']:.6g}"),
                    "sklearn_objective": float(f"{reached['scikit-learn']:.6g}"),
                }
            )
            print(rows[-1], flush=True)
    return rows


def tl_nmf_rows(Y: np.ndarray, repeats: int) -> list[dict[str, object]]:
    """Whole fits of ten outer iterations without annealing; `ratio` is to Itakura–Saito."""
    rows = []
    names: list[str | phinmf.Divergence] = [
        "itakura-saito", "gaussian", phinmf.Beta(0.5), "kullback-leibler", "euclidean",
    ]  # fmt: skip
    for dtype in (np.float64, np.float32):
        works = {str(d): partial(learned, Y.astype(dtype), d) for d in names}
        _, seconds = in_turns(works, repeats)
        for name, spent in seconds.items():
            rows.append(
                {
                    "method": f"TL-NMF, 10 outer iterations, {name}",
                    "dtype": dtype.__name__,
                    "phinmf_seconds": round(spent, 3),
                    "ratio": round(spent / seconds["itakura-saito"], 3),
                }
            )
            print(rows[-1], flush=True)
    return rows


def ours(X: np.ndarray, W: np.ndarray, H: np.ndarray, beta: float) -> np.ndarray:
    """The product WH by phinmf, which computes its objective after every ten updates."""
    r = phinmf.tl_nmf(
        X, K, W=W, H=H, divergence=phinmf.Beta(beta), solver=None, init=np.eye(len(X)), sparsity=0,
        method=phinmf.Method(anneal=False, n_iter_nmf=10), max_iter=UPDATES // 10, tol=0,
        n_threads=1,
    )  # fmt: skip
    return r.W.astype(np.float64) @ r.H


def theirs(X: np.ndarray, W: np.ndarray, H: np.ndarray, beta: float) -> np.ndarray:
    """The product by scikit-learn; the floor is added to the data, as Itakura–Saito needs."""
    V = (X * X + X.dtype.type(1e-8)).T
    nmf = NMF(K, init="custom", solver="mu", beta_loss=beta, tol=0, max_iter=UPDATES)
    activations = nmf.fit_transform(V, W=H.T.copy(), H=W.T.copy())
    return (activations.astype(np.float64) @ nmf.components_).T


def learned(Y: np.ndarray, divergence: str | phinmf.Divergence) -> phinmf.Result:
    """A short fit."""
    how: dict[str, Any] = {
        "method": phinmf.Method(anneal=False),
        "max_iter": 10,
        "tol": 0,
        "n_threads": 1,
    }
    return phinmf.tl_nmf(Y, K, divergence=divergence, random_state=0, **how)


def in_turns(
    works: dict[str, Callable[[], Any]], repeats: int
) -> tuple[dict[str, Any], dict[str, float]]:
    """Results, and median CPU seconds."""
    results = {name: work() for name, work in works.items()}  # compile, load, warm up
    spent: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            start = time.process_time()
            work()
            spent[name].append(time.process_time() - start)
    return results, {name: median(seconds) for name, seconds in spent.items()}


if __name__ == "__main__":
    main()
