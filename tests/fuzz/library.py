"""Attacks on fits, on checkpoints that are damaged, and on `unmix`."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
from hostile import assert_never_rises, nothing_changes
from sklearn.exceptions import ConvergenceWarning
from sounds import KINDS as SOUNDS

import phinmf
from fuzz.attacks import judged, main, must_not_be_refused, pick
from fuzz.formulas import Wrong, check_fit, check_orthogonal, demand, same_bits
from phinmf.solvers import SOLVERS

OPTIONS = {
    "solver": [*SOLVERS, None],
    "divergence": ["itakura-saito", "gaussian", "kullback-leibler", "euclidean"],
    "engine": ["auto", "auto", "array", "compiled"],
    "init": ["dct", "random", "klt"],
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
JUNK = [None, True, -1, 0, 1, 2.5, np.nan, np.inf, -np.inf, 10**400, "x", "", [], [[]], {}, 1j,
        object(), b"x", (1, 2), np.zeros(3), np.zeros((0, 2)), np.array("x"), np.array([None]),
        2**63, np.float32(1), np.int8(3), np.array(2), np.array([2.0]), "auto", "W", set(),
        lambda *_: None]  # fmt: skip
NAMES = ["n_components", "solver", "init", "divergence", "sparsity", "floor", "max_iter",
         "max_time", "tol", "method", "W", "H", "fixed", "sample_weight", "random_state",
         "callback", "checkpoint", "engine", "device", "n_threads", "Y"]  # fmt: skip
UNMIX_NAMES = ["y", "sample_rate", "n_components", "model", "window", "sparsity", "solver", "init",
               "seed", "max_time", "learn_on", "n_threads", "device", "callback"]  # fmt: skip


def options(rng, single, most_iter=12):
    """Options of which each may be left out."""
    how = {name: pick(rng, values) for name, values in OPTIONS.items() if rng.random() < 0.5}
    inner = {name: pick(rng, values) for name, values in METHOD.items() if rng.random() < 0.5}
    how["max_iter"] = int(rng.integers(0, most_iter + 1))
    if rng.random() < 0.5:
        how["floor"] = float(10 ** rng.uniform(-10 if single else -15, -0.5))
    if rng.random() < 0.2:
        start, knee = 10 ** rng.uniform(-6, 1, size=2)
        inner["anneal"] = phinmf.Anneal(
            start=float(start), knee=float(knee), length=int(rng.integers(1, 20)),
            shape=float(rng.uniform(0.3, 4)), sample=float(rng.choice([0, 0.4, 1, 3])),
            all_frames=float(rng.choice([0, 2e-3, 1])),
        )  # fmt: skip
    if how.get("solver") == "jacobi" and how.get("engine") == "compiled":
        how["engine"] = "array"
    return how | {"method": phinmf.Method(**inner), "random_state": int(rng.integers(2**32))}


def frames(rng, large=False):
    """Frames of some sound, one to three channels, odd sizes, silence and repeats included."""
    C, M = int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 2, 3, 5, 8, 16, 31, 64]))
    N = int(np.exp(rng.uniform(0, 6)))
    if large:  # on either side of the size from which single precision is used
        M = int(rng.choice([16, 33, 64, 100]))
        N = 2**17 // (C * M) + int(rng.integers(-3, 60))
    Y = np.stack([SOUNDS[pick(rng, sorted(SOUNDS))](M, N, rng) for _ in range(C)])
    kind = rng.integers(8)
    if kind == 0:
        Y = Y[:, :, rng.integers(0, N, N)]
    elif kind == 1:
        Y[:, :, rng.integers(N)] *= 1e4
    elif kind == 2:
        Y[:, :, :: int(rng.integers(1, 3))] = 0
    if not Y.any():
        Y[0, 0, 0] = 1
    dtype = pick(rng, [np.float64, np.float64, np.float32])
    Y = (Y * 10 ** rng.uniform(-12, 12)).astype(dtype)
    return Y[0] if C == 1 and rng.random() < 0.7 else Y


def weights_of(rng, Y):
    """Weights of frames, some of them 0, or none; the loudest frame always counts.

    They reach 1e9: more than 2³² is refused.
    """
    N = Y.shape[-1]
    w = pick(rng, [None, None, rng.integers(0, 4, N).astype(float), rng.random(N),
                   10.0 ** (3 * rng.integers(0, 4, N))])  # fmt: skip
    if w is None:
        return {}
    if rng.random() < 0.4:
        w[rng.random(N) < 0.4] = 0
    w[int(abs(Y).reshape(-1, N).max(axis=0).argmax())] = 1
    return {"sample_weight": w}


def initial_factors(rng, Y, K):
    """W, H, dead components of them, and what is fixed, now and then."""
    M, N = Y.shape[-2:]
    how = {}
    if rng.random() < 0.3:
        how["W"] = rng.random((M, int(rng.integers(1, K + 1)))) ** 3
        if rng.random() < 0.4:
            how["fixed"] = {"W": [0]} if rng.random() < 0.5 else "W"
        elif rng.random() < 0.3:
            how["W"][:, 0] = 0
    if rng.random() < 0.2:
        how["H"] = rng.random((K, N)) * float(np.square(Y, dtype=float).mean())
        if rng.random() < 0.4:
            how["fixed"] = "H"
        elif rng.random() < 0.3:
            how["H"][-1] = 0
    if rng.random() < 0.1:
        how["fixed"] = "Phi"
    return how


def problem(rng, large=False, most_iter=12):
    """Frames, the number of components and options for `tl_nmf`."""
    Y = frames(rng, large)
    M, N = Y.shape[-2:]
    how = weights_of(rng, Y)
    n = np.count_nonzero(how.get("sample_weight", np.ones(N)))
    K = int(rng.integers(1, min(M, n, 12) + 1))
    how |= options(rng, Y.dtype == np.float32, most_iter) | initial_factors(rng, Y, K)
    if how.get("solver") == "jacobi" and Y.size > 20000:
        how["solver"] = "quasi-newton"
    return Y, K, how


def fit(Y, K, how):
    """Call `tl_nmf` without its warnings of convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        return phinmf.tl_nmf(Y, K, **how)


def checked_fit(Y, K, how):
    """Fit; nothing of the caller's changes, and the formulas hold for the result."""
    with nothing_changes(Y, *(how.get(name) for name in ("W", "H", "sample_weight"))):
        result = fit(Y, K, how)
    check_fit(Y, result, how)
    entries = Y.shape[-2] * max(Y.shape[-1], np.sum(how.get("sample_weight", 0)))
    assert_never_rises(result.history, 1e-5 if Y.dtype == np.float32 else 1e-12, entries)
    return result


def sane(rng):
    """A random problem, which must be solved."""
    large = rng.random() < 0.1
    must_not_be_refused(checked_fit, *problem(rng, large, 5 if large else 12))


def zero_floor(rng):
    """The paper's exact objective, in double precision."""
    Y, K, how = problem(rng)
    try:
        checked_fit(Y.astype(np.float64), K, how | {"floor": 0.0})
    except Wrong as wrong:
        if "by the formula" not in str(wrong):  # -log of what rounding leaves
            raise


def hostile_numbers(rng):
    """Scales at the end of the range, weights that are huge, everything equal."""
    Y, K, how = problem(rng)
    exponent = rng.uniform(-330, 308) if Y.dtype == np.float64 else rng.uniform(-46, 38)
    with np.errstate(all="ignore"):
        Y = (Y / abs(Y).max() * Y.dtype.type(10.0**exponent)).astype(Y.dtype)
        if rng.random() < 0.2:
            how["sample_weight"] = rng.random(Y.shape[-1]) * 10 ** rng.uniform(-300, 300)
        for name in ("sparsity", "floor"):
            if rng.random() < 0.2:
                how[name] = float(10 ** rng.uniform(-300, 300))
        for name in {"W", "H"} & set(how):
            how[name] = how[name] * 10 ** rng.uniform(-300, 300)
    checked_fit(Y, K, how)


def junk(rng):
    """One option is junk: it is refused, or a fit is right."""
    Y, K, how = problem(rng, most_iter=3)
    name, value = pick(rng, NAMES), pick(rng, JUNK)
    if name == "Y":
        fit(value, K, {})
        return
    how = {"n_components": K, **how, "max_time": 1.0, name: value}
    result = fit(Y, how.pop("n_components"), how)
    for number in (result.Phi, result.W, result.H, result.objective):
        demand(np.isfinite(np.asarray(number)).all(), f"{name}={value!r}: {number} is not finite")
    check_orthogonal(np.asarray(result.Phi))


def same_numbers(rng):
    """Another layout in memory, another type of whole numbers, other threads: the same bits."""
    Y, K, how = problem(rng)
    if "H" in how:
        del how["H"]
        how.pop("fixed", None)
    read_only = Y.copy()
    read_only.flags.writeable = False
    whole = np.round(Y / abs(Y).max() * 100)
    other_type = pick(rng, [np.int8, np.int16, np.int64, np.float16, np.longdouble])
    layouts = {
        "F": (Y, np.asfortranarray(Y)),
        "backwards": (Y, Y[..., ::-1].copy()[..., ::-1]),
        "read-only": (Y, read_only),
        "swapped": (Y, Y.astype(Y.dtype.newbyteorder())),
        "whole": (whole.astype(np.float64), whole.astype(other_type)),
        "threads": (Y, Y),
    }
    kind = pick(rng, list(layouts))
    one, other = layouts[kind]
    more = {"n_threads": int(rng.integers(1, 6))} if kind == "threads" else {}
    results = [
        must_not_be_refused(fit, one, K, how),
        must_not_be_refused(fit, other, K, how | more),
    ]
    same_bits(*results, kind)


def checkpoints(rng):
    """A run that stops anywhere continues to the same bits, also after its file was damaged."""
    Y, K, how = problem(rng, large=rng.random() < 0.2, most_iter=25)
    how |= {"tol": 0.0}
    after = int(rng.integers(1, 25))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        writing = how | {"checkpoint": phinmf.Checkpoint(path, every=0, resume=True)}
        stop = {"callback": lambda state: state.iteration == after}
        must_not_be_refused(fit, Y, K, writing | stop)
        demand({p.name for p in path.parent.iterdir()} <= {"run"}, "files are left")
        intact = rng.random() < 0.6
        if not intact and path.exists():
            damage(path, rng)
        result = must_not_be_refused(fit, Y, K, writing) if intact else fit(Y, K, writing)
        same_bits(must_not_be_refused(fit, Y, K, how), result, f"resumed after {after}")


def damage(path, rng):
    """Change, cut or double bytes of a file anywhere."""
    raw = bytearray(path.read_bytes())
    a, b = np.sort(rng.integers(0, len(raw) + 1, 2)).tolist()
    kind = pick(rng, ["flip", "cut", "tail", "noise", "double"])
    if kind == "flip" and raw:
        raw[min(a, len(raw) - 1)] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del raw[a:b]
    elif kind == "tail":
        del raw[a:]
    elif kind == "noise":
        raw[a:b] = rng.bytes(b - a)
    else:
        raw[a:a] = raw[a:b]
    path.write_bytes(raw)


def recordings(rng):
    """`unmix`: components add up; a model from a file does the same; junk is refused."""
    n, channels = int(rng.integers(200, 6000)), int(rng.choice([1, 1, 2, 3]))
    y = np.stack([SOUNDS[pick(rng, sorted(SOUNDS))](n, 1, rng)[:, 0] for _ in range(channels)], 1)
    y = y / max(abs(y).max(), 1e-300) * 10 ** rng.uniform(-3, 0)
    y = y.astype(pick(rng, [np.float64, np.float32]))
    y = y[:, 0] if channels == 1 else y
    how = {"sample_rate": 8000, "n_components": int(rng.integers(1, 4)), "seed": 0,
           "max_time": 0.2, "window": pick(rng, ["5ms", "10ms", "40ms", 64])}  # fmt: skip
    if rng.random() < 0.5:
        how = {"y": y, **how, pick(rng, UNMIX_NAMES): pick(rng, JUNK)}
        check_components(unmixed(**how), np.asarray(how["y"]))
        return
    u = unmixed(y, **how)
    check_components(u, y)
    with tempfile.TemporaryDirectory() as folder:
        u.model.save(Path(folder) / "model.npz")
        again = unmixed(y, 8000, model=Path(folder) / "model.npz")
    off = abs(again.components - u.components).max()
    demand(off <= 1e-6 * abs(y).max(), f"the model in the file gives other components: {off}")


def unmixed(*args, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return phinmf.unmix(*args, **how)


def check_components(u, y):
    """Raise unless the components add up to the recording."""
    demand(u.components.shape[1:] == y.shape, f"components of shape {u.components.shape}")
    demand(np.isfinite(u.components).all(), "a component is not finite")
    eps = np.finfo(u.components.dtype).eps
    off = abs(u.components.sum(axis=0) - y).max()
    demand(off <= 30 * eps * abs(y).max(), f"components add up but for {off:.2g}")


#: attacks and how often each is chosen; those that take longer are rarer
SHARES = {
    sane: 4, zero_floor: 0.7, hostile_numbers: 2, junk: 2, same_numbers: 2, checkpoints: 3,
    recordings: 2,
}  # fmt: skip


def attack(rng):
    """One attack of a random kind; return what broke, or nothing."""
    share = np.array(list(SHARES.values()))
    function = list(SHARES)[rng.choice(len(share), p=share / share.sum())]
    fault = judged(function, rng)
    return fault and f"{function.__name__}: {fault}"


if __name__ == "__main__":
    main(attack)
