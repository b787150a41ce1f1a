"""The synthetic data of Zhang, Soubies and Févotte (arXiv 2112.05664), and where a fit stops.

Frames are normal with variances W̄H̄ in the DCT, S realisations that share Φ, W and H; both seeds
are printed in the public code of the paper (github.com/sixin-zh/tlnmf-tsp). The objective is the
Gaussian likelihood, and its best values, of 100 random starts and 100 from a joint diagonalisation,
are printed in its notebooks. It depends on the frames by their M×M covariances alone, so M channels
stand for S > M realisations, and the objective is the same for every Φ.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import data_folder, median, recording, table, write_csv
from scipy.fft import dct
from sklearn.exceptions import ConvergenceWarning

import phinmf

M, N, K = 10, 50, 5
EPSILON = 1e-8  #: the paper's, added to V and to WH
#: I_S of TL-NMF and of joint diagonalisation with NMF; the best C is printed for S = 100 only
PUBLISHED = {
    1: (370.17, 415.67), 10: (21.628, 27.870), 100: (2.2326, 2.2831),
    1000: (0.27091, 0.27157), 5000: (0.046727, 0.046743),
}  # fmt: skip
PUBLISHED_C = {100: 1835.61473}
#: ten NMF steps for each update of Φ, as in the paper, and as many iterations
PATIENT = {"max_iter": 1000, "tol": 1e-9}
Row = dict[str, Any]


def realisations(S: int) -> np.ndarray:
    """The frames (S, M, N), in the order in which the public code draws its numbers."""
    truth, rng = np.random.RandomState(2020), np.random.RandomState(100)
    W, H = truth.gamma(1, 2, (M, K)), truth.gamma(1, 2, (K, N))
    X = rng.standard_normal((S, N, M)) * np.sqrt((W @ H).T)
    return np.einsum("mi,snm->sin", dct(np.eye(M), type=3, norm="ortho"), X)


def covariances(Y: np.ndarray) -> np.ndarray:
    """M channels with the covariance that the S channels have in each frame."""
    if len(Y) <= M:
        return Y
    roots = np.linalg.cholesky(np.einsum("sin,sjn->nij", Y, Y) / len(Y))
    return np.sqrt(M) * np.moveaxis(roots, 0, 2).transpose(1, 0, 2)


def scores(r: phinmf.Result, Y: np.ndarray, epsilon: float) -> tuple[float, float]:
    """C_S and I_S as the paper has them: sums over all entries, at the level of the data."""
    V = np.square(r.Phi @ Y).mean(axis=0)
    ratio, model = (V + epsilon) / (r.W @ r.H + epsilon), r.W @ r.H + epsilon
    return float((ratio + np.log(model)).sum()), float((ratio - np.log(ratio) - 1).sum())


def fit(Y: np.ndarray, seed: int, epsilon: float = EPSILON, n_iter_nmf: int = 3,
        anneal: bool = True, **how: Any) -> phinmf.Result:  # fmt: skip
    """One fit with the paper's ε, which is a floor relative to the mean power."""
    how = {"init": "random", "sparsity": 0, "random_state": seed} | how
    method = phinmf.Method(anneal=anneal, n_iter_nmf=n_iter_nmf)
    return phinmf.tl_nmf(Y, K, divergence="gaussian", method=method,
                         floor=epsilon / np.mean(Y**2), **how)  # fmt: skip


def published(starts: int) -> list[Row]:
    """The best of some starts beside the published values."""
    rows = []
    for S, (tl_nmf, jd) in PUBLISHED.items():
        Y = covariances(realisations(S))
        for name, how in {
            "annealed": {}, "not annealed": {"anneal": False},
            "joint diagonalisation": {"anneal": False, "init": "jd"},
        }.items():  # fmt: skip
            all_scores = [scores(fit(Y, seed, n_iter_nmf=10, **PATIENT, **how), Y, EPSILON)
                          for seed in range(starts)]  # fmt: skip
            C, I = min(all_scores)
            rows.append({
                "S": S, "start": name, "starts": starts, "C_S": round(C, 5),
                "C_S, median": round(median(c for c, _ in all_scores), 5), "I_S": f"{I:.5g}",
                "published C_S": PUBLISHED_C.get(S, ""), "published I_S": tl_nmf,
                "published I_S, JD + NMF": jd,
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def one_realisation(starts: int) -> list[Row]:
    """What ε does at S = 1: entries of V and WH that are both 0 lower C by log ε each."""
    rows, Y = [], realisations(1)
    for epsilon in (1e-12, 1e-8, 1e-4, 1e-2, 1.0):
        for anneal in (True, False):
            how = {"anneal": anneal, "n_iter_nmf": 10, **PATIENT}
            results = [fit(Y, seed, epsilon, **how) for seed in range(starts)]
            all_scores = [scores(r, Y, epsilon) for r in results]
            best = int(np.argmin([C for C, _ in all_scores]))
            model, (C, I) = results[best].W @ results[best].H, all_scores[best]
            rows.append({
                "epsilon": epsilon, "annealed": anneal, "C_S": round(C, 2), "I_S": round(I, 2),
                "entries of WH below epsilon": int((model < epsilon).sum()),
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def stopping(starts: int) -> list[Row]:
    """Objective and iterations against `tol`: at S = 100, and on the paper's recording."""
    rows, Y = [], covariances(realisations(100))
    cases: list[tuple[str, dict[str, Any]]] = [
        (f"tol {tol:g}", {"tol": tol}) for tol in (2e-4, 2e-5, 2e-6, 2e-7, 2e-8)
    ]
    cases += [
        ("tol 2e-4, 10 NMF steps", {"n_iter_nmf": 10}),
        ("tol 2e-6, epsilon 2e-7", {"tol": 2e-6, "epsilon": 2e-7}),
        ("tol 2e-6, epsilon 2e-11", {"tol": 2e-6, "epsilon": 2e-11}),
    ]
    for name, how in cases:
        results = [fit(Y, seed, **{"max_iter": 2000} | how) for seed in range(starts)]
        above = [scores(r, Y, EPSILON)[0] - PUBLISHED_C[100] for r in results]
        rows.append({
            "data": "synthetic, S = 100", "rule": name,
            "objective": f"best + {median(above):.4f}", "worst": f"best + {max(above):.4f}",
            "iterations": median(r.n_iter for r in results),
        })  # fmt: skip
        print(rows[-1], flush=True)
    if data_folder() is None:
        return rows
    Y = recording().astype(np.float32)
    for name, how in {
        "recording, sparsity 150": {"sparsity": 150}, "recording, sparsity 10": {"sparsity": 10},
        "recording, pairs, sparsity 10": {"sparsity": 10, "pairs": True},
        "recording, gaussian, sparsity 0": {"sparsity": 0, "divergence": "gaussian"},
    }.items():  # fmt: skip
        for tol in (2e-4, 2e-5):
            how = how | {"tol": tol, "max_iter": 1000, "init": "random"}
            r = phinmf.tl_nmf(Y, 10, random_state=0, **how)
            rows.append({
                "data": name, "rule": f"tol {tol:g}", "objective": round(r.objective / Y.size, 4),
                "worst": "", "iterations": r.n_iter,
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    tables = {
        "gaussian": published, "gaussian_floor": one_realisation, "gaussian_stopping": stopping
    }  # fmt: skip
    parser.add_argument("tables", nargs="*", default=list(tables))
    parser.add_argument("--starts", type=int, default=4)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in options.tables:
        rows = tables[name](options.starts)
        write_csv(name, rows)
        print(table(rows, {key: key for key in rows[0]}))


if __name__ == "__main__":
    main()
