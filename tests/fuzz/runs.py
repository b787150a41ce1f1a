"""Attacks on runs: callbacks, interrupts, limits, checkpoints, the estimator, recordings."""

import importlib
import os
import shutil
import signal
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from sounds import KINDS as SOUNDS

import phinmf
from fuzz.fits import Kind
from fuzz.formulas import check_fit, demand, same_bits
from fuzz.judging import must_not_be_refused
from fuzz.random_fits import effective, fit, pick, problem
from phinmf.audio.model_files import load_model, save_model


@contextmanager
def folder():
    """A folder that is removed."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


class Stop(Exception):
    """What a callback raises."""


def callbacks(rng):
    """A callback stops, raises, forks, spoils what it sees, or fits something itself."""
    Y, K, how = problem(rng)
    when, kind = int(rng.integers(1, 6)), pick(rng, ["stop", "raise", "fork", "fit", "interrupt"])

    def callback(state):
        if state.iteration != when:
            return False
        if kind == "raise":
            raise Stop
        if kind == "interrupt":
            raise KeyboardInterrupt
        if kind == "fork":
            child_fits(Y, K, how)
        if kind == "fit":
            fit(Y, K, how)
        return kind == "stop"

    try:
        result = must_not_be_refused(fit, Y, K, how | {"callback": callback})
    except Stop:
        return
    check_fit(Y, result, how, effective(how, Y.shape[-1]))
    if kind in ("fork", "fit"):
        same_bits(result, fit(Y, K, how), kind)
    elif len(result.history) >= when:
        wanted = phinmf.Status.CALLBACK if kind == "stop" else phinmf.Status.INTERRUPTED
        demand(result.status is wanted, f"{kind}: {result.status}")
        demand(len(result.history) == when, f"{kind}: {len(result.history)} iterations")


def child_fits(Y, K, how):
    """A fit in a forked process ends, and well."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            fit(Y, K, how)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    demand(status == 0, f"a fit in a forked process ended with {status}")


def interrupts(rng):
    """Ctrl-C at any time: a result that is right, or KeyboardInterrupt; the next fit is well."""
    Y, K, how = problem(rng, large=rng.random() < 0.3, most_iter=30)
    how |= {"tol": 0.0}
    delay = float(rng.exponential(0.05)) + 1e-4
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
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
        check_fit(Y, result, how, effective(how, Y.shape[-1]))
    again = fit(Y[..., :50], 1, {"max_iter": 2}) if Y[..., :50].any() else None
    if again is not None:
        check_fit(Y[..., :50], again, {})


def limits(rng):
    """max_time: kept but for one iteration, and the result is right."""
    Y, K, how = problem(rng, large=rng.random() < 0.5)
    how |= {
        "max_time": float(pick(rng, [0.0, 1e-9, 0.01, 0.1, 0.5])),
        "max_iter": 10**6,
        "tol": 0.0,
    }
    began = time.perf_counter()
    result = must_not_be_refused(fit, Y, K, how)
    taken = time.perf_counter() - began
    check_fit(Y, result, how, effective(how, Y.shape[-1]))
    demand(taken < how["max_time"] + 8, f"max_time {how['max_time']} took {taken:.1f} s")


def resumed(rng):
    """A run continued from a checkpoint of any iteration has the bits of one without."""
    Y, K, how = problem(rng, large=rng.random() < 0.2, most_iter=25)
    with folder() as here:
        path = here / "run"
        how |= {"tol": 0.0}
        if rng.random() < 0.2:
            how["random_state"] = np.random.default_rng(3)
        whole = must_not_be_refused(fit, Y, K, fresh(how))
        after, way = int(rng.integers(1, 25)), pick(rng, ["stop", "raise", "interrupt", "end"])

        def callback(state):
            if state.iteration == after and way == "raise":
                raise Stop
            if state.iteration == after and way == "interrupt":
                raise KeyboardInterrupt
            return state.iteration == after and way == "stop"

        keeping = fresh(how) | {"checkpoint": path, "checkpoint_every": 0}
        with suppress(Stop):
            must_not_be_refused(fit, Y, K, keeping | {"callback": callback})
        kept = sorted(p.name for p in here.iterdir())
        demand(set(kept) <= {"run", "run.previous"}, f"left behind: {kept}")
        if "run.previous" in kept and rng.random() < 0.3:
            shutil.copy(here / "run.previous", path)
        other = {"n_threads": int(rng.integers(1, 4))} if rng.random() < 0.3 else {}
        result = must_not_be_refused(fit, Y, K, keeping | fresh(how) | {"resume": True} | other)
        same_bits(whole, result, f"resumed after {way} at {after}")


def fresh(how):
    """Options whose generator is as it was."""
    return (
        how | {"random_state": np.random.default_rng(3)}
        if not isinstance(how["random_state"], int)
        else dict(how)
    )


def estimator_of(rng, Y, K, how):
    """A TLNMF with the options of `tl_nmf`."""
    how = {k: v for k, v in how.items() if k not in ("W", "H", "sample_weight", "frame_mask")}
    how.pop("fixed", None)
    if rng.random() < 0.3:
        how |= {"n_init": int(rng.integers(1, 4)), "n_jobs": pick(rng, [None, 1, 2])}
    return phinmf.TLNMF(K, **how)


def estimators(rng):
    """fit, transform, score, inverse_transform, files; a refit that fails changes nothing."""
    Y, K, how = problem(rng)
    X = (Y if Y.ndim == 2 else Y[0]).T
    weights = how.get("sample_weight")
    if not X[slice(None) if weights is None else weights > 0].any():
        return
    model = estimator_of(rng, Y, K, how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        H = must_not_be_refused(model.fit_transform, X, sample_weight=weights)
    check_model(model, X, H)
    before = {k: (v.copy() if isinstance(v, np.ndarray) else v) for k, v in vars(model).items()}
    spoilers = [X[:, :-1], X * np.nan, X[:0], X[0], X * 0, "x", None, X.astype(object) * 1j]
    try:
        model.set_params(tol=-1 if rng.random() < 0.5 else 0.1).fit(pick(rng, spoilers))
        return  # a model of fewer features
    except (ValueError, TypeError):
        model.set_params(tol=before["tol"])
    demand(vars(model).keys() == before.keys(), "a failed refit leaves other attributes")
    for name, value in before.items():
        demand(np.array_equal(getattr(model, name), value) if isinstance(value, np.ndarray)
               else getattr(model, name) is value or getattr(model, name) == value,
               f"a failed refit changes {name}")  # fmt: skip


def held_otherwise(rng):
    """The same rows as a data frame, a memory map, objects, a dask array or a tensor."""
    Y, K, how = problem(rng)
    X = np.ascontiguousarray((Y if Y.ndim == 2 else Y[0]).T)
    if not X.any():
        return
    way = pick(rng, ["pandas", "memmap", "object", "dask", "tensor", "sparse"])
    if way in ("dask", "tensor"):
        how.pop("engine", None)
    model, other = (estimator_of(np.random.default_rng(0), Y, K, how) for _ in range(2))
    with folder() as here, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        H = must_not_be_refused(model.fit_transform, X)
        if way == "sparse":
            other.fit_transform(importlib.import_module("scipy.sparse").csr_array(X))
            return
        held = held_as(way, X, here)
        found = must_not_be_refused(other.fit_transform, held)
        found = np.asarray(found.compute() if way == "dask" else found)
        again = other.transform(held)
        again = np.asarray(again.compute() if way == "dask" else again)
    demand(found.shape == H.shape and np.isfinite(found).all(), f"{way}: {found.shape}")
    if way == "object":  # which scikit-learn takes as float64
        return
    if way != "tensor":
        demand(np.array_equal(other.transform_matrix_, model.transform_matrix_), f"{way}: Φ")
        demand(np.array_equal(found, H), f"{way}: other activations")
    room = (1e-2 if X.dtype == np.float32 else 1e-4) * found.max(axis=1, keepdims=True)
    demand((abs(again - found) <= room).all(), f"{way}: transform is not fit_transform")


def held_as(way, X, here):
    """The same numbers in something else than an array."""
    if way == "pandas":
        return importlib.import_module("pandas").DataFrame(X)
    if way == "memmap":
        np.save(here / "X.npy", X)
        return np.load(here / "X.npy", mmap_mode="r")
    if way == "object":
        return X.astype(object)
    if way == "dask":
        return importlib.import_module("dask.array").from_array(X, chunks=(max(1, len(X) // 2), -1))
    return importlib.import_module("torch").from_numpy(X.copy())


def check_model(model, X, H):
    """Raise what is wrong with a fitted estimator."""
    demand(np.isfinite(H).all() and (H >= 0).all(), "activations are not finite")
    demand(H.dtype == X.dtype, f"{H.dtype} of {X.dtype}")
    demand(np.array_equal(model.transform(X), H), "fit_transform is not fit, then transform")
    some = np.arange(len(X))[:: max(1, len(X) // 3)]
    alone = model.transform(X[some])
    room = (1e-2 if X.dtype == np.float32 else 1e-4) * H[some].max(axis=1, keepdims=True)
    demand((abs(alone - H[some]) <= room).all(), "a frame depends on the others")
    power = model.inverse_transform(H)
    wanted = H.astype(float) @ model.components_.astype(float) + model.floor_
    demand(np.allclose(power, wanted, rtol=1e-4 if X.dtype == np.float32 else 1e-10), "inverse")
    score = model.score(X)
    demand(np.isfinite(score), f"score {score}")
    with folder() as here:
        model.save(here / "model.npz")
        again = phinmf.TLNMF.load(here / "model.npz")
        demand([p.name for p in here.iterdir()] == ["model.npz"], "files left behind")
        demand(np.array_equal(again.transform(X), H), "a loaded model transforms otherwise")
        demand(again.score(X) == score, "a loaded model scores otherwise")


def recordings(rng):
    """`unmix`: the components add up to the recording; a model from a file does the same."""
    n, channels = int(rng.integers(200, 6000)), int(rng.choice([1, 1, 2, 3]))
    y = np.stack([SOUNDS[pick(rng, sorted(SOUNDS))](n, 1, rng)[:, 0] for _ in range(channels)], 1)
    y = (y / max(abs(y).max(), 1e-300) * 10 ** rng.uniform(-3, 0)).astype(
        pick(rng, [np.float64, np.float32])
    )
    y = y[:, 0] if channels == 1 else y
    how = {"seed": 0, "max_time": 0.2, "window": pick(rng, ["5ms", "10ms", "40ms", 64])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        u = phinmf.unmix(y, 8000, int(rng.integers(1, 4)), **how)
        check_parts(u, y)
        with folder() as here:
            save_model(u.model, here / "model.npz")
            again = phinmf.unmix(y, 8000, model=load_model(here / "model.npz", 8000))
        check_parts(again, y)
        off = abs(again.components - u.components).max()
        demand(off <= 1e-6 * abs(y).max(), f"the model in the file gives other parts: {off}")


def check_parts(u, y):
    """Raise unless the parts add up to the recording."""
    demand(u.components.shape[1:] == y.shape, f"parts of shape {u.components.shape}")
    demand(np.isfinite(u.components).all(), "a part is not finite")
    eps = np.finfo(u.components.dtype).eps
    off = abs(u.components.sum(axis=0) - y).max()
    demand(off <= 30 * eps * abs(y).max(), f"parts add up but for {off:.2g}")


def clusters(rng):
    """A cluster of two workers has the bits of one process."""
    import dask.array as da
    from clusters import cluster

    Y, K, how = problem(rng, most_iter=5)
    how = {k: v for k, v in how.items() if k != "engine"}
    chunks = (*Y.shape[:-1], max(1, Y.shape[-1] // 3))
    with cluster(2, processes=False):
        result = must_not_be_refused(fit, da.from_array(Y, chunks=chunks), K, how)
    same_bits(fit(Y, K, how), result, "on a cluster")


def side_by_side(rng):
    """Several fits in threads of one process have the bits of each alone."""
    problems = [problem(rng, most_iter=6) for _ in range(3)]
    alone = [must_not_be_refused(fit, *p) for p in problems]
    found, errors = {}, []

    def work(number):
        try:
            found[number] = fit(*problems[number])
        except BaseException as error:
            errors.append(error)

    fitters = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t in fitters:
            t.start()
        for t in fitters:
            t.join()
    demand(not errors, f"beside others: {errors}")
    for number, result in found.items():
        same_bits(alone[number], result, "beside others")


KINDS = {
    "callbacks": Kind(callbacks, 1.5),
    "interrupts": Kind(interrupts, 1.5),
    "time limits": Kind(limits, 0.5),
    "resumed runs": Kind(resumed, 2),
    "estimators": Kind(estimators, 2),
    "rows held otherwise": Kind(held_otherwise, 1.5),
    "recordings": Kind(recordings, 1),
    "cluster of threads": Kind(clusters, 0.1),
    "fits side by side": Kind(side_by_side, 0.5),
}
