"""Attacks on what people use: the estimator, its models, and recordings."""

import importlib
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sounds import KINDS as SOUNDS

import phinmf
from fuzz.fits import JUNK, Kind
from fuzz.formulas import demand
from fuzz.judging import must_not_be_refused
from fuzz.random_fits import pick, problem
from fuzz.runs import folder


def estimator_of(rng, Y, K, how):
    """A TLNMF with the options of `tl_nmf`."""
    how = {k: v for k, v in how.items() if k not in ("W", "H", "sample_weight")}
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
            u.model.save(here / "model.npz")
            again = phinmf.unmix(y, 8000, model=here / "model.npz")
        check_parts(again, y)
        off = abs(again.components - u.components).max()
        demand(off <= 1e-6 * abs(y).max(), f"the model in the file gives other parts: {off}")


def junk_for_recordings(rng):
    """One argument of `unmix` is junk: it is refused, or the parts add up."""
    y = rng.standard_normal(900)
    names = ["sample_rate", "n_components", "model", "window", "sparsity", "solver", "init", "seed",
             "max_time", "learn_on", "n_threads", "device", "callback", "y", "scale"]  # fmt: skip
    name, value = pick(rng, names), pick(rng, JUNK)
    how = {"sample_rate": 8000, "n_components": 2, "window": 16, "max_time": 0.05, "seed": 0}
    if name == "y":
        phinmf.unmix(value, 8000)
        return
    if name == "scale":
        y *= 10 ** rng.uniform(-300, 300)
    else:
        how[name] = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        u = phinmf.unmix(y, **how)
    check_parts(u, y)


def check_parts(u, y):
    """Raise unless the parts add up to the recording."""
    demand(u.components.shape[1:] == y.shape, f"parts of shape {u.components.shape}")
    demand(np.isfinite(u.components).all(), "a part is not finite")
    eps = np.finfo(u.components.dtype).eps
    off = abs(u.components.sum(axis=0) - y).max()
    demand(off <= 30 * eps * abs(y).max(), f"parts add up but for {off:.2g}")


KINDS = {
    "estimators": Kind(estimators, 2),
    "rows held otherwise": Kind(held_otherwise, 1.5),
    "recordings": Kind(recordings, 1),
    "junk for recordings": Kind(junk_for_recordings, 1),
}
