"""What each divergence does with the paper's recording: sparsity and annealing.

Writes results/divergences.csv. The objective is per entry at unit power, so only rows of the same
divergence and sparsity can be compared in it.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from _common import machine, samples, write_csv
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import atoms_for_energy

DIVERGENCES = {
    "itakura-saito": ("itakura-saito", (10.0,)),
    "gaussian": ("gaussian", (10.0,)),
    "β = 0.5": (phinmf.Beta(0.5), (0.0, 1.0, 5.0, 10.0)),
    "kullback-leibler": ("kullback-leibler", (0.0, 10.0)),
    "β = 1.5": (phinmf.Beta(1.5), (0.0,)),
    "euclidean": ("euclidean", (0.0, 0.1, 10.0)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of the recording")
    parser.add_argument("--window", type=int, default=160, help="samples of a frame")
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    y, rate = samples()
    Y = phinmf.to_frames(y[: int(options.seconds * rate)], options.window)
    print(machine(), f"frames {Y.shape}", sep="; ")
    rows = []
    for name, (divergence, sparsities) in DIVERGENCES.items():
        phinmf.tl_nmf(Y[:, :400], 2, divergence=divergence, max_iter=2)  # compile
        for sparsity in sparsities:
            for seed in range(options.seeds):
                for anneal in (True, False):
                    rows.append(
                        row(Y, options.components, name, divergence, sparsity, anneal, seed)
                    )
                    print(rows[-1], flush=True)
    print(write_csv("divergences", rows))


def row(
    Y: np.ndarray,
    K: int,
    name: str,
    divergence: str | phinmf.Divergence,
    sparsity: float,
    anneal: bool,
    seed: int,
) -> dict[str, object]:
    """Fit once."""
    start = time.process_time()
    how = {"divergence": divergence, "sparsity": sparsity, "method": phinmf.Method(anneal=anneal)}
    r = phinmf.tl_nmf(Y, K, random_state=seed, **how)
    seconds = time.process_time() - start
    V = (r.Phi @ Y) ** 2
    mean = (Y**2).mean()
    kl = phinmf.Beta(1.0).value(V / mean, (r.W @ r.H + r.floor) / mean, 1e-8)
    return {
        "divergence": name,
        "sparsity": sparsity,
        "method": phinmf.Method(anneal=anneal),
        "seed": seed,
        "objective": float(f"{r.objective / Y.size:.5g}"),
        "iterations": r.n_iter,
        "cpu_seconds": round(seconds, 1),
        "atoms_90_95_99": "/".join(map(str, atoms_for_energy(r.Phi, Y))),
        "power_of_model": round(float((r.W @ r.H).sum() / V.sum()), 3),
        "kl_per_entry": round(float(np.mean(kl)), 4),
    }


if __name__ == "__main__":
    main()
