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
)
from fuzz.judging import must_not_be_refused
from fuzz.random_fits import METHOD, effective, fit, options, pick, problem


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
NAMES = ["n_components", "solver", "init", "divergence", "sparsity", "floor", "method",
         "max_iter", "max_time", "tol", "W", "H", "fixed", "sample_weight", "random_state",
         "callback", "engine", "device", "n_threads", "Y", *METHOD]  # fmt: skip


def junk(rng):
    """One option is junk: it is refused, or a fit is right."""
    Y, K, how = problem(rng, most_iter=3)
    how = {"n_components": K, **how}
    name, value = pick(rng, NAMES), pick(rng, JUNK)
    if name == "Y":
        fit(value, K, {})
        return
    if name in METHOD:
        name, value = "method", phinmf.Method(**{name: value})
    how |= {"max_time": 1.0, name: value}
    result = fit(Y, how.pop("n_components"), how)
    for known in (result.Phi, result.W, result.H):
        demand(np.isfinite(np.asarray(known)).all(), f"{name}={value!r}: a factor is not finite")
    check_orthogonal(np.asarray(result.Phi))
    demand(np.isfinite(result.objective), f"{name}={value!r}: objective {result.objective}")


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
    "tensors": Kind(tensors, 1.5),
    "transform alone": Kind(transform_alone, 1),
}
