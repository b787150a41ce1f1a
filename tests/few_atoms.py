"""What a fit of few atoms must satisfy, computed with plain NumPy."""

import numpy as np
from formulas import check_fit
from problems import notes
from tensor_problems import host

from phinmf.engines import ENGINES
from phinmf.solvers import SOLVERS

#: Divergences that a transform is usually learned with; the contract tests have all of them.
LIKELIHOODS = ("itakura-saito", "gaussian")


def sound(M=24, n=1200, C=1, dtype=np.float64):
    """Frames (C, M, N) of a small recording, whose channels differ."""
    return np.stack([notes(M, n, seed) for seed in range(C)]).astype(dtype)


def solvers_on(engines):
    """Pairs of a solver and an engine (or "tensors") that computes what it needs."""
    pairs = [(solver, engine) for solver in SOLVERS for engine in engines]
    kinds = ENGINES | {"tensors": ENGINES["array"]}
    return [(s, e) for s, e in pairs if not SOLVERS[s].needs_pair_losses or kinds[e].pair_losses]


def covariance(Y, weights=None):
    """The mean of yyᵀ over weighted frames and channels."""
    Y = np.asarray(Y, np.float64)
    Y = Y[None] if Y.ndim == 2 else Y
    weights = np.ones(Y.shape[2]) if weights is None else weights
    return np.einsum("cin,cjn,n->ij", Y, Y, weights) / (len(Y) * weights.sum())


def eigenvectors(Y, weights=None):
    """Eigenvectors of the covariance as rows, strongest first, and their mean powers."""
    values, vectors = np.linalg.eigh(covariance(Y, weights))
    return vectors.T[::-1], np.maximum(values[::-1], 0)


def check_few(r, Y, P, how, weights=None):
    """Assert that Φ is diag(Q, I) U, and that the result says what it is."""
    check_fit(Y, r, how, weights)
    _, powers = eigenvectors(Y, weights)
    assert r.n_atoms == P
    assert np.isclose(r.energy, powers[:P].sum() / powers.sum(), rtol=1e-6)
    Phi = np.asarray(host(r.Phi), np.float64)
    seen = Phi @ covariance(Y, weights) @ Phi.T  # diagonal but for the atoms that are learned
    slack = (1e-6 if host(r.Phi).dtype == np.float32 else 1e-14) * len(Phi) * powers[0]
    np.testing.assert_allclose(seen[P:, :P], 0, atol=slack)
    np.testing.assert_allclose(seen[P:, P:], np.diag(powers[P:]), atol=slack)
    assert (np.diff(r.history.atoms) >= 0).all()
    assert set(r.history.atoms[-1:]) <= {P}


def same_bits(one, other):
    """Whether two results have the same bits."""
    arrays = ("Phi", "W", "H")
    equal = (np.array_equal(host(getattr(one, a)), host(getattr(other, a))) for a in arrays)
    return all(equal) and one.objective == other.objective
