"""What a result must satisfy, computed with plain NumPy from the formulas alone."""

import numpy as np

from phinmf import Status


class Wrong(Exception):
    """What is wrong with a result, in a sentence."""


def demand(holds, what):
    """Raise what is wrong unless it holds."""
    if not holds:
        raise Wrong(what)


def divergence_of(v, v_hat, name):
    """Σ d over the entries of each frame."""
    ratio = v / v_hat
    formulas = {
        "itakura-saito": lambda: ratio - np.log(ratio) - 1,
        "gaussian": lambda: ratio + np.log(v_hat),
        "kullback-leibler": lambda: v * np.log(ratio) - v + v_hat,
        "euclidean": lambda: np.square(v - v_hat) / 2,
    }
    return formulas[name]().sum(axis=0)


def power(Y, Phi, scale):
    """|ΦY|² at unit power, the mean over channels."""
    Y = np.asarray(Y, np.float64)
    Y = Y[None] if Y.ndim == 2 else Y
    return np.square(np.asarray(Phi, np.float64) @ (Y / scale)).mean(axis=0)


def root_mean_square(Y, weights):
    """Of weighted frames, without overflow."""
    Y = np.asarray(Y, np.float64)
    Y = Y[None] if Y.ndim == 2 else Y
    largest = abs(Y).max()
    frames = np.square(Y / largest).mean(axis=(0, 1))
    return largest * np.sqrt(np.average(frames, weights=weights))


def cost(Y, result, weights, how):
    """C of a result of `tl_nmf`: Σ d(v + ε | WH + ε) + μ Σ ‖w‖ ‖h‖ at unit power."""
    weights = np.ones(Y.shape[-1]) if weights is None else np.asarray(weights, np.float64)
    used = weights > 0
    scale = root_mean_square(Y[..., used], weights[used])
    W = np.asarray(result.W, np.float64)
    H = np.asarray(result.H, np.float64)[:, used] / scale / scale
    floor = how.get("floor", 1e-8)
    v = power(Y[..., used], result.Phi, scale)
    name = how.get("divergence", "itakura-saito")
    d = divergence_of(v + floor, W @ H + floor, name)
    sparsity = how.get("sparsity")
    if sparsity is None:
        sparsity = 10.0 if name in ("itakura-saito", "gaussian") else 0.0
    penalty = sparsity * (W.sum(axis=0) @ H)
    return float((d + penalty) @ weights[used]), scale


def has_subnormal(a):
    """Whether some numbers are so small that they have fewer digits than others of their type."""
    return bool(((a != 0) & (abs(a) < np.finfo(a.dtype).tiny)).any())


def check_fit(Y, result, how, weights=None):
    """Raise what is wrong with a result of `tl_nmf`; weights of frames may be among the options."""
    weights = how.get("sample_weight") if weights is None else weights
    single = np.asarray(result.Phi).dtype == np.float32
    Phi, W, H = (np.asarray(a) for a in (result.Phi, result.W, result.H))
    M, N = Y.shape[-2:]
    demand(Phi.shape == (M, M) and len(W) == M and H.shape == (W.shape[1], N), "shapes")
    demand(all(np.isfinite(a).all() for a in (Phi, W, H)), "a factor is not finite")
    demand((W >= 0).all() and (H >= 0).all(), "a factor is negative")
    check_orthogonal(Phi)
    fixed = how.get("fixed") or ()
    if "H" not in fixed and "W" not in fixed:
        sums = W.sum(axis=0, dtype=np.float64)
        off = abs(sums[sums > 0] - 1).max(initial=0)
        demand(off < (1e-4 if single else 1e-9), f"columns of W sum to 1 ± {off:.2g}")
    check_story(result, single, Y[..., 0].size * (N if weights is None else np.sum(weights)))
    found, scale = cost(Y, result, weights, how)
    demand(np.isclose(result.scale, scale, rtol=1e-5 if single else 1e-12), "scale")
    slack = (1e-3 if single else 1e-6) * max(abs(found), abs(result.objective))
    entries = M * (N if weights is None else np.sum(weights))
    if any(has_subnormal(a) for a in (W, H)):
        return  # which have fewer digits than the formula needs
    slack += entries * (1e-4 if single else 1e-9)
    demand(
        abs(found - result.objective) <= slack,
        f"objective {result.objective!r}, by the formula {found!r}, {entries} entries",
    )


def check_orthogonal(Phi):
    """Raise if a transform is not orthogonal."""
    Phi, eps = np.asarray(Phi, np.float64), np.finfo(Phi.dtype).eps
    error = abs(Phi @ Phi.T - np.eye(len(Phi))).max()
    demand(error < 50 * eps * len(Phi) ** 0.5, f"the transform is orthogonal to {error:.2g} only")


def check_story(result, single, entries):
    """Raise if a run failed, or if its history has numbers that are not finite."""
    demand(result.status not in (Status.ROSE, Status.NOT_BETTER), result.status.name)
    history = result.history
    room = (1e-5 if single else 1e-12) * (abs(history.start) + entries)
    demand(result.objective <= history.start + room, "worse than its start")
    for name in ("objective", "divergence", "penalty", "target_objective", "seconds", "floor"):
        demand(np.isfinite(getattr(history, name)).all(), f"history.{name} is not finite")
    demand(np.isfinite(history.start), "history.start is not finite")
    demand(
        np.isclose(result.objective, result.divergence + result.penalty, rtol=1e-12, atol=0),
        "objective is not divergence + penalty",
    )
