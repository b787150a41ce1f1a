"""Checks of arguments: an error is one sentence that says what was passed and what to pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays
from phinmf._types import AnyArray, Array, RandomState
from phinmf.arrays import namespace
from phinmf.arrays.lazy import is_lazy, lazy_array, unchunked
from phinmf.errors import InvalidType, InvalidValue
from phinmf.storage import shown

#: Arguments of scikit-learn's NMF, and fields of `phinmf.Method`: what is passed here instead.
NAMES_HERE = {
    "beta_loss": "divergence",
    "alpha_H": "sparsity",
    "alpha_W": "sparsity",
    "n_iter": "max_iter",
} | {
    name: f"method=phinmf.Method({name}=...)"
    for name in ("anneal", "n_iter_nmf", "n_iter_transform", "nmf_exponent")
}
#: What is needed where something else was passed.
NUMBERS = "an array of real numbers is needed"
FRAMES = (
    "frames of samples are needed: phinmf.to_frames makes them of a sound, phinmf.frames_from_files"
    " of sound files"
)
P = ParamSpec("P")
R = TypeVar("R")
Function = TypeVar("Function")
Choice = TypeVar("Choice")


def translates_names(function: Callable[P, R]) -> Callable[P, R]:
    """Let the error about an argument that we call otherwise name ours."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in NAMES_HERE.keys() & kwargs.keys():
            raise InvalidType(
                f"{name} is not an argument of phinmf: use {NAMES_HERE[name]} instead"
            )
        return function(*args, **kwargs)

    return call


def real_array(name: str, x: ArrayLike, needed: str = NUMBERS) -> Array:
    """Return a finite real array: float32 and float64 stay, other numbers become float64.

    A tensor stays one, on its device, without its gradient. `needed` says what to pass instead of
    a value that is no array of real numbers.
    """
    plain = type(x) is np.ndarray and x.dtype in (np.float32, np.float64)
    array = cast(Array, x) if plain else dense(name, x, needed)
    bad = math.prod(array.shape) - int(namespace(array).sum(namespace(array).isfinite(array)))
    if bad:
        raise InvalidValue(f"{name} has {bad} NaN or infinite values: remove or replace them")
    return array


def dense(name: str, x: Any, needed: str = NUMBERS) -> Array:
    """Return a masked or nested array, a table or a tensor as real numbers, or raise.

    Masked values would be used as if they were not masked, and of a sparse array NumPy makes an
    array of one object, as of the name of a file, a generator or a sound with its rate.
    """
    variable = name.split()[0]  # "piece" for "piece 1 of the sound"
    if hasattr(x, "toarray"):
        raise InvalidType(
            f"{name} is sparse, but a dense array is needed: pass {variable}.toarray()"
        )
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise InvalidValue(
            f"{name} has {int(np.ma.getmaskarray(x).sum())} masked values, but every value is used:"
            f" pass {variable}.filled(0), and a sample_weight of 0 to leave whole frames out of a"
            " fit"
        )
    if arrays.is_tensor(x):
        if x.device.type == "meta" or x.is_sparse:
            what = "sparse" if x.is_sparse else "on the device 'meta'"
            raise InvalidValue(
                f"{name} is {what}, but numbers are needed: pass a dense tensor of them"
            )
        array = x.detach()
    else:
        try:
            array = np.asarray(x)
        except ValueError:  # arrays of different shapes
            raise InvalidValue(f"{name} is {shown(x)}, but {needed}") from None
        if array.dtype.kind not in "fiubc":
            raise InvalidType(f"{name} is {shown(x)}, but {needed}")
        array = array.astype(array.dtype.newbyteorder("="), copy=False)  # of this machine
    xp = namespace(array)
    if xp.isdtype(array.dtype, "complex floating"):
        raise InvalidValue(f"Complex data not supported: {name} is complex, but {needed}")
    return array if array.dtype in (xp.float32, xp.float64) else arrays.cast(array, np.float64)


def frames(Y: AnyArray) -> Any:
    """Return frames of shape (C, M, N); a dask array stays one, its values are looked at later."""
    array = lazy_array("Y", Y) if is_lazy(Y) else real_array("Y", Y, FRAMES)
    if array.ndim not in (2, 3):
        raise InvalidValue(
            f"Y has {array.ndim} dimensions, but frames of shape (M, N) or (C, M, N) are needed:"
            " phinmf.to_frames makes them from a signal"
        )
    if 0 in array.shape:
        raise InvalidValue(f"Y has shape {tuple(array.shape)}, but at least one sample is needed")
    if is_lazy(array):
        return unchunked("Y", array, array.ndim - 1)
    if not namespace(array).any(array):
        raise InvalidValue("Y is all zero: there is nothing to learn from silence")
    return array if array.ndim == 3 else array[None]


def factor(name: str, x: ArrayLike, shape: tuple[int, int], dtype: Any) -> Array:
    """Return a copy of a nonnegative factor of the right shape."""
    array = real_array(name, x)
    if tuple(array.shape) != shape:
        raise InvalidValue(f"{name} has shape {tuple(array.shape)}, but {shape} is needed")
    xp = namespace(array)
    if xp.any(array < 0):
        least = float(xp.min(array))
        raise InvalidValue(
            f"{name} has {int(xp.sum(array < 0))} negative values, the least {least:.3g}:"
            " factors are nonnegative"
        )
    return arrays.copied(array, dtype)


def number(
    name: str, x: object, least: float = 0, strict: bool = False, most: float | None = None
) -> float:
    """Return a finite float, at least (or strictly above) a bound, and at most another one."""
    try:
        value = math.nan if isinstance(x, (str, bytes)) else float(x)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    enough = value > least if strict else value >= least
    if not (math.isfinite(value) and enough and (most is None or value <= most)):
        also = "" if most is None else f" and ≤ {most:g}"
        raise InvalidValue(
            f"{name} is {x!r}, but a finite number {'>' if strict else '≥'} {least:g}{also} is"
            " needed"
        )
    return value


def count(name: str, x: object, least: int = 0, most: int | None = None, why: str = "") -> int:
    """Return an int between bounds; `why` explains the largest one."""
    if isinstance(x, bool) or not (
        isinstance(x, (int, np.integer)) or (isinstance(x, float) and x % 1 == 0)
    ):
        raise InvalidType(f"{name} is {x!r}, but a whole number is needed")
    if x < least or (most is not None and x > most):
        needed = f"≥ {least}" if most is None else f"from {least} to {most}{why}"
        raise InvalidValue(f"{name} is {x}, but a whole number {needed} is needed")
    return int(x)


def function(name: str, value: Function) -> Function:
    """Return something to call, or None."""
    if value is not None and not callable(value):
        raise InvalidType(f"{name} is {value!r}, but a function or None is needed")
    return value


def choice(name: str, value: Any, choices: Iterable[Choice]) -> Choice:
    """Return the value if it is one of the choices, such as the names of a registry."""
    options = list(choices)
    if np.ndim(value) or value not in options:
        listed = ", ".join(map(repr, options))
        raise InvalidValue(f"{name} is {value!r}, which is not known: choose one of {listed}")
    return options[options.index(value)]


def generator(random_state: RandomState, name: str = "random_state") -> np.random.Generator:
    """Return a Generator from None, an int, a RandomState or a Generator."""
    try:
        if isinstance(random_state, np.random.RandomState):
            return np.random.default_rng(random_state.randint(2**31, size=4))
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidType(
            f"{name} is {random_state!r}, but None, a whole number ≥ 0, a RandomState or a"
            " Generator is needed"
        ) from None


def generators(random_state: RandomState, n: int) -> list[np.random.Generator]:
    """Return n independent generators, so that drawing from one does not change the others."""
    entropy = generator(random_state).integers(2**63, size=4)
    return list(map(np.random.default_rng, np.random.SeedSequence(list(entropy)).spawn(n)))
