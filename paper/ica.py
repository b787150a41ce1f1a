"""Relation (14): with a fixed density in place of the divergence, the same solver does ICA."""

from __future__ import annotations

from typing import Any

import numpy as np
from picard import picard
from printing import print_claims, print_table
from setting import Setting, quietly

import phinmf
from phinmf.analysis import match_atoms
from phinmf.solvers import LBFGS


class LogCosh(phinmf.Divergence):
    """-log of the density 1/cosh, up to a constant: it does not depend on the model v̂."""

    has_nmf_split = False

    def value(self, v: Any, v_hat: Any, eps: float) -> Any:
        """Return log cosh x."""
        return np.logaddexp(np.sqrt(v), -np.sqrt(v)) - np.log(2)

    def slope(self, v: Any, v_hat: Any, eps: float) -> Any:
        """Return tanh(x) / x."""
        return np.tanh(np.sqrt(v)) / np.sqrt(v)

    def curvature(self, v: Any, v_hat: Any, eps: float) -> Any:
        """Return 1 / cosh² x."""
        return 1 / np.cosh(np.sqrt(v)) ** 2

    def bound(self, v: Any, v_hat: Any, eps: float) -> Any:
        """Return 1."""
        return np.ones_like(v)


def run(setting: Setting) -> None:
    """Unmix Laplacian sources by this package's solver and by Picard-O."""
    sources, samples = (20, 10_000) if setting.budget.excerpt is None else (8, 3_000)
    rng = np.random.default_rng(14)
    mixing = rng.standard_normal((sources, sources))
    X = mixing @ rng.laplace(size=(sources, samples))
    X -= X.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(X @ X.T / samples)
    whitening = (vectors / np.sqrt(values)).T
    white = whitening @ X
    start = np.eye(sources)

    def theirs() -> np.ndarray:
        return picard(white, ortho=True, extended=False, whiten=False, centering=False,
                      w_init=start, tol=1e-10, max_iter=500)[1]  # fmt: skip

    def ours() -> np.ndarray:
        return quietly(phinmf.learn_transform, white, np.ones_like(white), solver=LBFGS(),
                       divergence=LogCosh(), init=start, tol=1e-9, max_iter=200,
                       method=phinmf.Method(anneal=False, n_iter_transform=5)).Phi  # fmt: skip

    rows, unmixing = [], {}
    for name, work in (("Picard-O", theirs), ("phinmf, lbfgs", ours)):
        unmixing[name] = work()
        rows.append(row(name, unmixing[name], white, whitening @ mixing))
    similarity = match_atoms(*unmixing.values()).similarity
    difference = abs(rows[0]["loss per entry"] - rows[1]["loss per entry"])
    print_claims(
        {
            "“the ICA objective function shares the same dependency in Φ with TL-NMF”": "least"
            f" |cos| of the rows of both solutions {similarity.min():.8f}; the losses differ by"
            f" {difference:.1e} per entry"
        }
    )
    print_table(rows)
    setting.csv("ica", rows)


def row(name: str, Phi: np.ndarray, white: np.ndarray, mixing: np.ndarray) -> dict[str, Any]:
    """Loss, and Amari's distance of the unmixing matrix: 0 for a perfect separation."""
    X = Phi @ white
    P = np.abs(Phi @ mixing)
    n = len(P)
    rest = (P.sum(0) / P.max(0) - 1).sum() + (P.sum(1) / P.max(1) - 1).sum()
    return {
        "solver": name,
        "loss per entry": float(LogCosh().value(X**2, None, 0).mean()),
        "Amari distance": float(rest / (2 * n * (n - 1))),
    }
