"""What a result must satisfy, computed with plain NumPy from the formulas alone."""

import numpy as np
from problems import divergence_named, mean_power
from tensor_problems import host

from phinmf import Status


def divergence_of(v, v_hat, floor, name):
    """Σ d(v + ε | v̂) over the entries of each frame."""
    ratio = (v + floor) / v_hat
    formulas = {
        "itakura-saito": lambda: ratio - np.log(ratio) - 1,
        "gaussian": lambda: ratio + np.log(v_hat),
        "kullback-leibler": lambda: (v + floor) * np.log(ratio) - (v + floor) + v_hat,
        "euclidean": lambda: np.square(v + floor - v_hat) / 2,
    }
    own = lambda: divergence_named(name).value(v, v_hat, floor)  # noqa: E731
    return formulas.get(name, own)().sum(axis=0)


def root_mean_square(Y, weights):
    """Of weighted frames, without overflow."""
    largest = abs(Y).max()
    frames = np.square(Y / largest).mean(axis=(0, 1))
    return largest * np.sqrt(np.average(frames, weights=weights))


def cost(Y, result, weights, how):
    """C of a result of `tl_nmf`: Σ d(v + ε | WH + ε) + μ Σ ‖w‖ ‖h‖ at unit power."""
    used = weights > 0
    scale = root_mean_square(Y[..., used], weights[used])
    Phi, W, H = (np.asarray(host(a), np.float64) for a in (result.Phi, result.W, result.H))
    H = H[:, used] / scale / scale
    floor, name = how.get("floor", 1e-8), how.get("divergence", "itakura-saito")
    v = mean_power(Phi @ (Y[..., used] / scale), result.pairs)
    sparsity = how.get("sparsity", divergence_named(name).default_sparsity)
    total = divergence_of(v, W @ H + floor, floor, name) + sparsity * (W.sum(axis=0) @ H)
    return (1 + result.pairs) * float(total @ weights[used]), scale


def has_subnormal(a):
    """Whether some numbers are so small that they have fewer digits than others of their type."""
    return bool(((a != 0) & (abs(a) < np.finfo(a.dtype).tiny)).any())


def check_fit(Y, result, how, weights=None):
    """Assert what holds for every result of `tl_nmf`; weights may be among the options."""
    Phi, W, H = (np.asarray(host(a)) for a in (result.Phi, result.W, result.H))
    single, (M, N) = Phi.dtype == np.float32, Y.shape[-2:]
    weights = how.get("sample_weight") if weights is None else weights
    weights = np.ones(N) if weights is None else np.asarray(weights, np.float64)
    assert Phi.shape == (M, M)
    assert len(W) == (M // 2 if result.pairs else M)
    assert H.shape == (W.shape[1], N)
    for a in (Phi, W, H):
        assert np.isfinite(a).all()
    assert (W >= 0).all()
    assert (H >= 0).all()
    check_orthogonal(Phi)
    if not {"W", "H"} & {*how.get("fixed", ())}:
        sums = W.sum(axis=0, dtype=np.float64)
        assert abs(sums[sums > 0] - 1).max(initial=0) < (1e-6 if single else 1e-9)
    check_story(result, single, M * weights.sum())
    expected, scale = cost(np.asarray(Y, np.float64).reshape(-1, M, N), result, weights, how)
    assert np.isclose(result.scale, scale, rtol=1e-5 if single else 1e-12)
    if not any(has_subnormal(a) for a in (W, H)):  # which have fewer digits than the formula needs
        slack = (1e-4 if single else 1e-6) * max(abs(expected), abs(result.objective))
        slack += (1e-4 if single else 1e-9) * M * weights.sum()
        assert abs(expected - result.objective) <= slack
    return expected


def check_orthogonal(Phi):
    error = abs(Phi.astype(np.float64) @ Phi.T.astype(np.float64) - np.eye(len(Phi))).max()
    assert error < (1e-6 if Phi.dtype == np.float32 else 1e-13)


def check_story(result, single, entries):
    """The run did not fail, its history is finite, and nothing rises in a stage of its own."""
    assert result.status not in (Status.ROSE, Status.NOT_BETTER)
    h, room = result.history, 1e-5 if single else 1e-12
    assert result.objective <= h.start + room * (abs(h.start) + entries)
    assert np.isclose(result.objective, result.divergence + result.penalty, rtol=1e-12, atol=0)
    for name in ("objective", "divergence", "penalty", "target_objective", "seconds", "floor"):
        assert np.isfinite([h.start, *getattr(h, name)]).all(), name
    stages = np.stack([h.floor, h.frames, h.atoms]) if len(h) else np.zeros((3, 0))
    same = (np.diff(stages) == 0).all(axis=0)
    slack = room * np.maximum(abs(h.objective[:-1]), entries)
    assert (np.diff(h.objective) <= slack)[same].all()


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
