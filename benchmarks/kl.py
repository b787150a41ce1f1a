"""NMF with the Kullback–Leibler divergence: phinmf without a learned transform beside its peers.

The problems are made as in the public benchmark (github.com/cohenjer/benchmark_nmf_kl), and the
magnitudes of a short-time Fourier transform of the paper's recording are another. All start from
the same uniform factors, and the objective is the benchmark's. Packages that are not installed are
left out: pip install nn-fac torchnmf (torchnmf computes in single precision; nimfa 1.4.0 does not
run with NumPy 2).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from _common import data_folder, samples, table, write_csv
from scipy.signal import stft
from scipy.special import kl_div
from sklearn.decomposition import NMF

import phinmf

ITERATIONS = 10, 100, 500
Factors = tuple[np.ndarray, np.ndarray]


def ours(X: np.ndarray, W: np.ndarray, H: np.ndarray, n: int) -> Factors:
    r = phinmf.tl_nmf(
        np.sqrt(X), W.shape[1], solver=None, divergence="kullback-leibler", sparsity=0, tol=0,
        floor=1e-15, method=phinmf.Method(anneal=False, n_iter_nmf=1), max_iter=n,
        init=np.eye(len(X)), W=W, H=H,
    )  # fmt: skip
    return r.W, r.H


def scikit_learn(X: np.ndarray, W: np.ndarray, H: np.ndarray, n: int) -> Factors:
    model = NMF(W.shape[1], init="custom", solver="mu", beta_loss=1, tol=0, max_iter=n)
    return model.fit_transform(X, W=W.copy(), H=H.copy()), model.components_


def nn_fac(X: np.ndarray, W: np.ndarray, H: np.ndarray, n: int) -> Factors:
    from nn_fac.nmf import nmf

    return nmf(X, W.shape[1], init="custom", U_0=W.copy(), V_0=H.copy(), n_iter_max=n, tol=0,
               update_rule="mu", beta=1)[:2]  # fmt: skip


def torchnmf(X: np.ndarray, W: np.ndarray, H: np.ndarray, n: int) -> Factors:
    import torch
    from torchnmf.nmf import NMF

    # their names of the factors are exchanged: X ≈ H Wᵀ
    model = NMF(W=torch.tensor(H.T).float(), H=torch.tensor(W).float())
    model.fit(torch.tensor(X).float(), beta=1, tol=0, max_iter=n)
    return model.H.detach().numpy().astype(float), model.W.detach().numpy().T.astype(float)


def problems(quick: bool) -> Iterator[tuple[str, np.ndarray, int]]:
    rng = np.random.default_rng(0)
    for m, r in ((60, 5),) if quick else ((200, 10),):
        X = rng.random((m, r)) @ rng.random((r, m))
        yield f"low rank, {m} × {m}, rank {r}", X, r
        yield f"the same, Poisson, {m} × {m}, rank {r}", rng.poisson(5 * X).astype(float), r
        yield f"uniform, {m} × {m}, rank {r}", rng.random((m, m)), r
    if data_folder() is not None and not quick:
        y, rate = samples()
        yield "recording, magnitudes, rank 10", np.abs(stft(y[: 20 * rate], nperseg=512)[2]), 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small problems; writes no results")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    peers = {"nn_fac": nn_fac, "torchnmf": torchnmf}
    methods: dict[str, Callable[..., Factors]] = {"phinmf": ours, "scikit-learn": scikit_learn}
    methods |= {name: work for name, work in peers.items() if find_spec(name)}
    rows: list[dict[str, Any]] = []
    for problem, X, rank in problems(quick):
        rng = np.random.default_rng(1)
        W, H = rng.random((len(X), rank)), rng.random((rank, X.shape[1]))
        for name, method in methods.items():
            ends = (method(X, W, H, n) for n in ITERATIONS)
            values = [float(kl_div(X, np.maximum(A @ B, 1e-300)).sum()) for A, B in ends]
            rows.append({"problem": problem, "method": name} | {
                f"after {n}": f"{value:.6g}" for n, value in zip(ITERATIONS, values, strict=True)
            })  # fmt: skip
            print(rows[-1], flush=True)
    print(table(rows, {key: key for key in rows[0]}))
    if not quick:
        write_csv("kl", rows, ", ".join(methods))


if __name__ == "__main__":
    main()
