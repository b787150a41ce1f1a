"""Random frames, and random options of `tl_nmf` for them."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sounds import KINDS

import phinmf
from phinmf.solvers import SOLVERS

OPTIONS = {
    "solver": [*SOLVERS, None],
    "divergence": ["itakura-saito", "gaussian"],
    "engine": ["auto", "auto", "array", "compiled"],
    "init": ["dct", "random"],
    "sparsity": [0.0, 0.01, 10.0, 150.0, 1e4],
    "tol": [0.0, 2e-4, 0.1],
    "n_threads": [None, 1, 2, 3],
}
METHOD = {
    "anneal": [None, None, True, False],
    "nmf_exponent": [0.5, 0.8, 1.0],
    "n_iter_nmf": [0, 1, 3],
    "n_iter_transform": [1, 2, 5],
}


def pick(rng, choices):
    return choices[rng.integers(len(choices))]


def options(rng, single, most_iter=12):
    """Options of which each may be left out."""
    how = {name: pick(rng, values) for name, values in OPTIONS.items() if rng.random() < 0.5}
    inner = {name: pick(rng, values) for name, values in METHOD.items() if rng.random() < 0.5}
    how["max_iter"] = int(rng.integers(0, most_iter + 1))
    if rng.random() < 0.5:
        how["floor"] = float(10 ** rng.uniform(-11 if single else -15, -0.5))
    if rng.random() < 0.2:
        start, knee = 10 ** rng.uniform(-6, 1, size=2)
        inner["anneal"] = phinmf.Anneal(
            start=float(start), knee=float(knee), length=int(rng.integers(1, 20)),
            shape=float(rng.uniform(0.3, 4)), sample=float(rng.choice([0, 0.4, 1, 3])),
            all_frames=float(rng.choice([0, 2e-3, 1])),
        )  # fmt: skip
    if inner:
        how["method"] = phinmf.Method(**inner)
    return how | {"random_state": int(rng.integers(2**32))}


def frames(rng, large=False):
    """Frames of some sound, one to three channels, odd sizes included."""
    C, M = int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 2, 3, 5, 8, 16, 31, 64]))
    N = int(np.exp(rng.uniform(0, 6)))
    if large:  # on either side of the size from which single precision is used
        M = int(rng.choice([16, 33, 64, 100]))
        N = 2**17 // (C * M) + int(rng.integers(-3, 60))
    Y = np.stack([KINDS[pick(rng, sorted(KINDS))](M, N, rng) for _ in range(C)])
    if rng.random() < 0.15:
        Y = Y[:, :, rng.integers(0, N, N)]  # some of them again and again
    if rng.random() < 0.1:
        Y[:, :, rng.integers(N)] *= 1e4
    if not Y.any():
        Y[0, 0, 0] = 1
    dtype = pick(rng, [np.float64, np.float64, np.float32])
    Y = (Y * 10 ** rng.uniform(-6, 6)).astype(dtype)
    return Y[0] if C == 1 and rng.random() < 0.7 else Y


def initial_factors(rng, Y, K):
    """W, H and what is fixed, now and then."""
    M, N = Y.shape[-2:]
    how = {}
    if rng.random() < 0.3:
        how["W"] = rng.random((M, int(rng.integers(1, K + 1)))) ** 3
        if rng.random() < 0.4:
            how["fixed"] = {"W": [0]} if rng.random() < 0.5 else "W"
    if rng.random() < 0.2:
        how["H"] = rng.random((K, N)) * float(np.square(Y, dtype=float).mean())
        if rng.random() < 0.4:
            how["fixed"] = "H"
    if rng.random() < 0.1:
        how["fixed"] = "Phi"
    return how


def weights_of(rng, Y):
    """Weights of frames, some of them 0, or none; the loudest frame always counts."""
    N = Y.shape[-1]
    if rng.random() < 0.6:
        return {}
    kind = pick(rng, ["counts", "fractions", "wide"])
    w = rng.integers(0, 4, N).astype(float)
    w = w if kind == "counts" else rng.random(N) if kind == "fractions" else 10.0 ** (9 * w)
    if rng.random() < 0.4:
        w[rng.random(N) < 0.4] = 0
    w[int(abs(Y).reshape(-1, N).max(axis=0).argmax())] = 1
    return {"sample_weight": w}


def problem(rng, large=False, most_iter=12):
    """Frames, the number of components and options for `tl_nmf`."""
    Y = frames(rng, large)
    M, N = Y.shape[-2:]
    how = weights_of(rng, Y)
    n = np.count_nonzero(how.get("sample_weight", np.ones(N)))
    K = int(rng.integers(1, min(M, n, 12) + 1))
    how |= options(rng, Y.dtype == np.float32, most_iter) | initial_factors(rng, Y, K)
    if how.get("solver") == "jacobi":
        if Y.size > 20000:
            how["solver"] = "quasi-newton"
        elif how.get("engine") == "compiled":
            how["engine"] = "array"
    return Y, K, how


def fit(Y, K, how):
    """Call `tl_nmf` without its warnings of convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        return phinmf.tl_nmf(Y, K, **how)
