"""Attacks on fits: random problems, hostile numbers, and problems that are the same."""

import copy
import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import phinmf
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
from fuzz.judging import must_not_be_refused
from fuzz.random_fits import effective, fit, options, pick, problem


@dataclasses.dataclass
class Kind:
    """A kind of attack, and how often it is chosen."""

    attack: Callable[[np.random.Generator], Any]
    share: float = 1.0


def copies(Y, how):
    """Frames and options, to be compared with what they are after a call."""
    return copy.deepcopy((Y, how))


def check_untouched(before, Y, how):
    """Raise if a call has changed what it was given."""
    for a, b in ((before[0], Y), *((before[1][k], how[k]) for k in how)):
        if isinstance(a, np.ndarray):
            demand(np.array_equal(a, b) and a.dtype == b.dtype, "an input was changed")


def checked_fit(Y, K, how, numbers=None):
    """Fit and check; `numbers` are the frames as float arrays if Y is something else."""
    before = copies(Y, how)
    result = fit(Y, K, how)
    check_untouched(before, Y, how)
    numbers = np.asarray(Y if numbers is None else numbers)
    check_fit(numbers, result, how, effective(how, numbers.shape[-1]))
    return result


def sane(rng):
    """A random problem, which must be solved."""
    must_not_be_refused(checked_fit, *problem(rng))


def around_single(rng):
    """Frames on either side of the size from which a run begins in single precision."""
    Y, K, how = problem(rng, large=True, most_iter=5)
    must_not_be_refused(checked_fit, Y, K, how)


def zero_floor(rng):
    """The paper's exact objective, in double precision."""
    Y, K, how = problem(rng)
    how["floor"] = 0.0
    try:
        checked_fit(Y.astype(np.float64), K, how)
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
        if rng.random() < 0.2:
            how["sparsity"] = float(10 ** rng.uniform(-300, 300))
        if rng.random() < 0.2:
            how["floor"] = float(10 ** rng.uniform(-300, 300))
        if "H" in how:
            how["H"] = how["H"] * 10 ** rng.uniform(-300, 300)
        if "W" in how:
            how["W"] = how["W"] * 10 ** rng.uniform(-300, 300)
    checked_fit(Y, K, how)


JUNK = [None, True, -1, 0, 1, 2.5, np.nan, np.inf, -np.inf, 10**400, "x", "", [], [[]], {}, 1j,
        object(), b"x", (1, 2), np.zeros(3), np.zeros((0, 2)), np.array("x"), np.array([None]),
        2**63, np.float32(1), np.int8(3), np.array(2), np.array([2.0]), "auto", "W", set(),
        lambda *_: None]  # fmt: skip
NAMES = ["n_components", "solver", "init", "divergence", "sparsity", "floor", "anneal",
         "n_iter_nmf", "n_iter_transform", "nmf_exponent", "max_iter", "max_time", "tol", "W", "H",
         "fixed", "sample_weight", "frame_mask", "random_state", "callback", "checkpoint_every",
         "resume", "engine", "device", "n_threads", "Y"]  # fmt: skip


def junk(rng):
    """One option is junk: it is refused, or a fit is right."""
    Y, K, how = problem(rng, most_iter=3)
    how = {"n_components": K, **how}
    name, value = pick(rng, NAMES), pick(rng, JUNK)
    if name == "Y":
        fit(value, K, {})
        return
    how |= {"max_time": 1.0, name: value}
    result = fit(Y, how.pop("n_components"), how)
    for known in (result.Phi, result.W, result.H):
        demand(np.isfinite(np.asarray(known)).all(), f"{name}={value!r}: a factor is not finite")
    check_orthogonal(np.asarray(result.Phi))
    demand(np.isfinite(result.objective), f"{name}={value!r}: objective {result.objective}")


def alone(how, *names):
    return {k: v for k, v in how.items() if k not in names}


def twins(rng):
    """The same problem in other words has the same bits."""
    large = rng.random() < 0.1
    Y, K, how = problem(rng, large, most_iter=4 if large else 12)
    way = pick(rng, sorted(WAYS))
    other = WAYS[way](rng, Y, K, how)
    if other is None:
        return
    Y, how, other_Y, other_how, names = other
    one = must_not_be_refused(fit, Y, K, how)
    two = must_not_be_refused(fit, other_Y, K, other_how)
    same_bits(one, two, way, names)


ALL, NOT_H = ("Phi", "W", "H", "objective"), ("Phi", "W", "objective")


def layout(rng, Y, K, how):
    """Another layout, or read-only."""
    kind = pick(rng, ["F", "backwards", "read-only", "strided", "list", "swapped"])
    other = Y.copy()
    if kind == "F":
        other = np.asfortranarray(Y)
    elif kind == "backwards":
        other = Y[..., ::-1].copy()[..., ::-1]
    elif kind == "strided":
        other = np.repeat(Y, 2, axis=-1)[..., ::2]
    elif kind == "list" and Y.dtype == np.float64:
        other = Y.tolist()
    elif kind == "swapped":
        other = Y.astype(Y.dtype.newbyteorder())
    if isinstance(other, np.ndarray):
        other.flags.writeable = False
    return Y, how, other, how, ALL


def power_of_two(rng, Y, K, how):
    """Twice as loud, some times."""
    if "H" in how:
        return None
    factor = Y.dtype.type(2.0 ** int(rng.integers(-20, 21)))
    if abs(Y).min(where=Y != 0, initial=1) < 1e-30:
        return None
    return Y, how, Y * factor, how, NOT_H


def threads(rng, Y, K, how):
    """Another number of threads."""
    return Y, how, Y, how | {"n_threads": int(rng.integers(1, 6))}, ALL


def chunked(rng, Y, K, how):
    """As a dask array of any chunks."""
    import dask.array as da

    if how.get("engine") == "array":
        return None
    N = Y.shape[-1]
    cuts = np.sort(rng.integers(0, N, int(rng.integers(0, 4))))
    chunks = np.diff([0, *np.unique(cuts[cuts > 0]), N])
    lazy = da.from_array(Y, chunks=(*Y.shape[:-1], tuple(chunks.tolist())))
    return Y, how, lazy, alone(how, "engine"), ALL


def repeated(rng, Y, K, how):
    """A frame of weight n is that frame n times, where problems are small."""
    if "H" in how or Y.size * 3 >= 2**17 or "frame_mask" in how:
        return None
    counts = rng.integers(1, 4, Y.shape[-1])
    how = alone(how, "sample_weight")
    return np.repeat(Y, counts, axis=-1), how, Y, how | {"sample_weight": counts}, NOT_H


def shuffled(rng, Y, K, how):
    """Another order of the frames, where problems are small."""
    if "H" in how or Y.size >= 2**17 or "sample_weight" in how or "frame_mask" in how:
        return None
    return Y, how, Y[..., rng.permutation(Y.shape[-1])], how, NOT_H


def masked(rng, Y, K, how):
    """Frames left out are as if they were not there."""
    if "H" in how or "frame_mask" not in how:
        return None
    keep = ~how["frame_mask"]
    fewer = alone(how, "frame_mask")
    if "sample_weight" in fewer:
        fewer["sample_weight"] = fewer["sample_weight"][keep]
    return Y, how, Y[..., keep], fewer, NOT_H


def weighed(rng, Y, K, how):
    """Weights that are not whole numbers, times a power of two."""
    if "sample_weight" not in how:
        return None
    w = how["sample_weight"] + 0.5 * (how["sample_weight"] > 0)
    factor = 2.0 ** int(rng.integers(-200, 200)) if rng.random() < 0.5 else 0.25
    if ((w * factor) % 1 == 0).all():
        return None
    return Y, how | {"sample_weight": w}, Y, how | {"sample_weight": w * factor}, ("Phi", "W", "H")


def watched(rng, Y, K, how):
    """Somebody looks on."""
    return Y, how, Y, how | {"callback": lambda state: None}, ALL


def integers(rng, Y, K, how):
    """Whole numbers of any type."""
    if "H" in how:
        return None
    whole = np.round(Y / abs(Y).max() * 100)
    dtype = pick(rng, [np.int8, np.int16, np.int64, np.float16, np.longdouble])
    return whole.astype(np.float64), how, whole.astype(dtype), how, ALL


WAYS = {f.__name__: f for f in (layout, power_of_two, threads, chunked, repeated, shuffled, masked,
                                weighed, watched, integers)}  # fmt: skip


def tensors(rng):
    """Tensors on the CPU, by the fast way and the readable one."""
    import torch

    Y, K, how = problem(rng)
    how.pop("n_threads", None)
    how["engine"] = pick(rng, ["auto", "auto", "array"])
    result = must_not_be_refused(fit, torch.from_numpy(Y.copy()), K, how)
    demand(all(isinstance(a, torch.Tensor) for a in (result.Phi, result.W, result.H)), "no tensor")
    check_fit(Y, result, how, effective(how, Y.shape[-1]))


def transform_alone(rng):
    """`learn_transform`, whose objective is the divergence from V̂."""
    Y, _, how = problem(rng)
    how = options(rng, Y.dtype == np.float32)
    for name in ("sparsity", "nmf_exponent", "n_iter_nmf"):
        how.pop(name, None)
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
    v = power(Y, result.Phi, scale)
    d = divergence_of(
        v + floor, V_hat / scale**2 + floor, how.get("divergence", "itakura-saito")
    ).sum()
    slack = (1e-3 if single else 1e-6) * (abs(d) + V_hat.size)
    demand(abs(d - result.objective) <= slack, f"objective {result.objective!r}, formula {d!r}")


KINDS = {
    "sane problem": Kind(sane, 3),
    "around 131,072 samples": Kind(around_single, 0.3),
    "floor of zero": Kind(zero_floor, 0.7),
    "hostile numbers": Kind(hostile_numbers, 2),
    "junk as an option": Kind(junk, 2),
    "same problem, same bits": Kind(twins, 3),
    "tensors": Kind(tensors, 1.5),
    "transform alone": Kind(transform_alone, 1),
}
