"""Attacks on fits, on files that are damaged, on the estimator and on `unmix`."""

import copy
import os
import signal
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sounds import KINDS as SOUNDS

import phinmf
from fuzz.attacks import judged, main, must_not_be_refused
from fuzz.formulas import (
    Wrong,
    check_fit,
    check_orthogonal,
    check_story,
    demand,
    divergence_of,
    power,
    same_bits,
)
from fuzz.random_fits import fit, options, pick, problem

JUNK = [None, True, -1, 0, 1, 2.5, np.nan, np.inf, -np.inf, 10**400, "x", "", [], [[]], {}, 1j,
        object(), b"x", (1, 2), np.zeros(3), np.zeros((0, 2)), np.array("x"), np.array([None]),
        2**63, np.float32(1), np.int8(3), np.array(2), np.array([2.0]), "auto", "W", set(),
        lambda *_: None]  # fmt: skip
NAMES = ["n_components", "solver", "init", "divergence", "sparsity", "floor", "max_iter",
         "max_time", "tol", "method", "W", "H", "fixed", "sample_weight", "random_state",
         "callback", "checkpoint", "engine", "device", "n_threads", "Y"]  # fmt: skip
UNMIX_NAMES = ["y", "sample_rate", "n_components", "model", "window", "sparsity", "solver", "init",
               "seed", "max_time", "learn_on", "n_threads", "device", "callback"]  # fmt: skip


def checked_fit(Y, K, how):
    """Fit and check the result by the formulas; what was passed is unchanged."""
    before = copy.deepcopy((Y, how))
    result = fit(Y, K, how)
    for a, b in ((before[0], Y), *((before[1][k], how[k]) for k in how)):
        if isinstance(a, np.ndarray):
            demand(np.array_equal(a, b) and a.dtype == b.dtype, "an input was changed")
    check_fit(Y, result, how)
    return result


def sane(rng):
    """A random problem, which must be solved."""
    must_not_be_refused(checked_fit, *problem(rng))


def around_single(rng):
    """Frames on either side of the size from which a run begins in single precision."""
    must_not_be_refused(checked_fit, *problem(rng, large=True, most_iter=5))


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
    for factor in (result.Phi, result.W, result.H):
        demand(np.isfinite(np.asarray(factor)).all(), f"{name}={value!r}: a factor is not finite")
    check_orthogonal(np.asarray(result.Phi))
    demand(np.isfinite(result.objective), f"{name}={value!r}: objective {result.objective}")


def tensors(rng):
    """Tensors on the CPU."""
    import torch

    Y, K, how = problem(rng)
    how.pop("n_threads", None)
    how["engine"] = pick(rng, ["auto", "array"])
    result = must_not_be_refused(fit, torch.from_numpy(Y.copy()), K, how)
    demand(all(isinstance(a, torch.Tensor) for a in (result.Phi, result.W, result.H)), "no tensor")
    check_fit(Y, result, how)


def transform_alone(rng):
    """`learn_transform`, whose objective is the divergence from V̂."""
    Y, _, _ = problem(rng)
    how = options(rng, Y.dtype == np.float32)
    how.pop("sparsity", None)
    if how.get("solver", 0) is None:
        how.pop("solver")
    scale = np.sqrt(np.square(Y, dtype=np.float64).mean())
    V_hat = rng.exponential(size=Y.shape[-2:]) * scale**2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = must_not_be_refused(phinmf.learn_transform, Y, V_hat, **how)
    single = Y.dtype == np.float32
    check_orthogonal(result.Phi)
    check_story(result, single, Y.size)
    floor = how.get("floor", 1e-8)
    v, v_hat = power(Y, result.Phi, scale), V_hat / scale**2
    d = divergence_of(v + floor, v_hat + floor, how.get("divergence", "itakura-saito")).sum()
    slack = (1e-3 if single else 1e-6) * (abs(d) + V_hat.size)
    demand(abs(d - result.objective) <= slack, f"objective {result.objective!r}, formula {d!r}")


def same_numbers(rng):
    """Another layout in memory, another type of whole numbers, other threads: the same bits."""
    Y, K, how = problem(rng)
    if "H" in how:
        del how["H"]
        how.pop("fixed", None)
    kind, other = pick(rng, ["F", "backwards", "read-only", "swapped", "whole", "threads"]), Y
    if kind == "F":
        other = np.asfortranarray(Y)
    elif kind == "backwards":
        other = Y[..., ::-1].copy()[..., ::-1]
    elif kind == "read-only":
        other = Y.copy()
        other.flags.writeable = False
    elif kind == "swapped":
        other = Y.astype(Y.dtype.newbyteorder())
    elif kind == "whole":
        whole = np.round(Y / abs(Y).max() * 100)
        Y = whole.astype(np.float64)
        other = whole.astype(pick(rng, [np.int8, np.int16, np.int64, np.float16, np.longdouble]))
    more = {"n_threads": int(rng.integers(1, 6))} if kind == "threads" else {}
    one = must_not_be_refused(fit, Y, K, how)
    same_bits(one, must_not_be_refused(fit, other, K, how | more), kind)


def interrupts(rng):
    """Ctrl-C at any time: a correct result, or KeyboardInterrupt; the next fit is correct."""
    Y, K, how = problem(rng, large=rng.random() < 0.3, most_iter=30)
    how |= {"tol": 0.0}
    fit(Y, K, how | {"max_iter": 1})  # Python does not recover from an import that is interrupted
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    delay = float(rng.exponential(0.05)) + 1e-4
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        result = fit(Y, K, how)
        timer.cancel()
        timer.join()
    except KeyboardInterrupt:
        result = None
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    if result is not None:
        check_fit(Y, result, how)
    if Y[..., :50].any():
        checked_fit(Y[..., :50], 1, {"max_iter": 2})


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
        demand({p.name for p in path.parent.iterdir()} <= {"run", "run.previous"}, "files are left")
        intact = rng.random() < 0.6
        if not intact and path.exists():
            damage(path, rng)
            path.with_name("run.previous").unlink(missing_ok=True)
        result = (must_not_be_refused if intact else call)(fit, Y, K, writing)
        same_bits(must_not_be_refused(fit, Y, K, how), result, f"resumed after {after}")


def call(function, *args):
    return function(*args)


def damage(path, rng):
    """Change, cut or double bytes of a file anywhere."""
    raw = bytearray(path.read_bytes())
    a, b = np.sort(rng.integers(0, len(raw), 2)).tolist()
    kind = pick(rng, ["flip", "cut", "tail", "noise", "double"])
    if kind == "flip":
        raw[a] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del raw[a:b]
    elif kind == "tail":
        del raw[a:]
    elif kind == "noise":
        raw[a:b] = rng.bytes(b - a)
    else:
        raw[a:a] = raw[a:b]
    path.write_bytes(raw)


def estimators(rng):
    """fit, transform, score, inverse_transform, files; a refit that fails changes nothing."""
    Y, K, how = problem(rng)
    X = (Y if Y.ndim == 2 else Y[0]).T
    weights = how.get("sample_weight")
    if not X[slice(None) if weights is None else weights > 0].any():
        return
    how = {k: v for k, v in how.items() if k not in ("W", "H", "fixed", "sample_weight")}
    if rng.random() < 0.3:
        how |= {"n_init": int(rng.integers(1, 4)), "n_jobs": pick(rng, [None, 1, 2])}
    model = phinmf.TLNMF(K, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        H = must_not_be_refused(model.fit_transform, X, sample_weight=weights)
    check_model(model, X, H)
    spoilers = [X * np.nan, X[:0], X[0], X * 0, "x", None, X.astype(object) * 1j]
    try:
        model.fit(pick(rng, spoilers))
    except (ValueError, TypeError):
        demand(np.array_equal(model.transform(X), H), "a failed refit changes the model")


def check_model(model, X, H):
    """Raise what is wrong with a fitted estimator."""
    room = 1e-2 if X.dtype == np.float32 else 1e-4
    demand(np.isfinite(H).all() and (H >= 0).all(), "activations are not finite")
    demand(H.dtype == X.dtype, f"{H.dtype} of {X.dtype}")
    demand(np.array_equal(model.transform(X), H), "fit_transform is not fit, then transform")
    few = np.arange(len(X))[:: max(1, len(X) // 3)]
    off = abs(model.transform(X[few]) - H[few])
    demand((off <= room * H[few].max(axis=1, keepdims=True)).all(), "a frame depends on the others")
    powers = H.astype(float) @ model.components_.astype(float) + model.floor_
    demand(np.allclose(model.inverse_transform(H), powers, rtol=room / 100), "inverse")
    demand(np.isfinite(model.score(X)), f"score {model.score(X)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        demand(os.listdir(folder) == ["model.npz"], "files left behind")
        loaded = phinmf.TLNMF.load(path)
    demand(np.array_equal(loaded.transform(X), H), "a loaded model transforms otherwise")


def recordings(rng):
    """`unmix`: components add up to the recording; a model from a file does the same."""
    n, channels = int(rng.integers(200, 6000)), int(rng.choice([1, 1, 2, 3]))
    y = np.stack([SOUNDS[pick(rng, sorted(SOUNDS))](n, 1, rng)[:, 0] for _ in range(channels)], 1)
    y = (y / max(abs(y).max(), 1e-300) * 10 ** rng.uniform(-3, 0)).astype(
        pick(rng, [np.float64, np.float32])
    )
    y = y[:, 0] if channels == 1 else y
    how = {"seed": 0, "max_time": 0.2, "window": pick(rng, ["5ms", "10ms", "40ms", 64])}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        u = phinmf.unmix(y, 8000, int(rng.integers(1, 4)), **how)
        check_components(u, y)
        u.model.save(Path(folder) / "model.npz")
        again = phinmf.unmix(y, 8000, model=Path(folder) / "model.npz")
    off = abs(again.components - u.components).max()
    demand(off <= 1e-6 * abs(y).max(), f"the model in the file gives other components: {off}")


def junk_for_recordings(rng):
    """One argument of `unmix` is junk: it is refused, or the components add up."""
    y = rng.standard_normal(900) * 10 ** (rng.uniform(-300, 300) if rng.random() < 0.1 else 0)
    how = {"sample_rate": 8000, "n_components": 2, "window": 16, "max_time": 0.05, "seed": 0}
    how = {"y": y, **how, pick(rng, UNMIX_NAMES): pick(rng, JUNK)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        u = phinmf.unmix(**how)
    check_components(u, np.asarray(how["y"]))


def check_components(u, y):
    """Raise unless the components add up to the recording."""
    demand(u.components.shape[1:] == y.shape, f"components of shape {u.components.shape}")
    demand(np.isfinite(u.components).all(), "a component is not finite")
    eps = np.finfo(u.components.dtype).eps
    off = abs(u.components.sum(axis=0) - y).max()
    demand(off <= 30 * eps * abs(y).max(), f"components add up but for {off:.2g}")


#: kinds of attacks and how often each is chosen; kinds that take longer are rarer
SHARES = {
    sane: 3, around_single: 0.3, zero_floor: 0.7, hostile_numbers: 2, junk: 2, tensors: 1.5,
    transform_alone: 1, same_numbers: 2, interrupts: 1.5, checkpoints: 3, estimators: 2,
    recordings: 1, junk_for_recordings: 1,
}  # fmt: skip


def attack(rng):
    """One attack of a random kind."""
    share = np.array(list(SHARES.values()))
    function = list(SHARES)[rng.choice(len(share), p=share / share.sum())]
    return judged(function.__name__.replace("_", " "), function, rng)


if __name__ == "__main__":
    main(attack)
