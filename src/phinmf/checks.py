"""Checks of arguments: an error is one sentence that says what is given, needed and to be done."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays
from phinmf._types import AnyArray, Array, RandomState
from phinmf.arrays import namespace
from phinmf.arrays.lazy import is_lazy, lazy_array, unchunked

#: What is passed here in place of arguments of scikit-learn's NMF, and of earlier versions.
NAMES_HERE = {
    "beta_loss": "divergence",
    "alpha_H": "sparsity",
    "alpha_W": "sparsity",
    "n_iter": "max_iter",
    "frame_mask": "sample_weight, where 0 leaves a frame out,",
    "first_frames": "a frame of sample_weight 0 between two recordings",
    "checkpoint_every": "checkpoint=phinmf.Checkpoint(path, every=...)",
    "resume": "checkpoint=phinmf.Checkpoint(path, resume=True)",
} | {
    name: f"method=phinmf.Method({name}=...)"
    for name in ("anneal", "n_iter_nmf", "n_iter_transform", "nmf_exponent")
}
P = ParamSpec("P")
R = TypeVar("R")


def advises_names(function: Callable[P, R]) -> Callable[P, R]:
    """Let the error about an unknown argument say what it is called here; nothing else changes."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in NAMES_HERE.keys() & kwargs.keys():
            raise TypeError(f"{name} is not an argument of phinmf: use {NAMES_HERE[name]} instead")
        return function(*args, **kwargs)

    return call


def real_array(name: str, given: ArrayLike) -> Array:
    """Return a finite real array: float32 and float64 are kept, other numbers become float64.

    A tensor stays one, on its device, without its gradient.
    """
    refuse_sparse(name, given)
    refuse_masked(name, given)
    array = tensor(name, given) if arrays.is_tensor(given) else native(numbers(name, given))
    xp = namespace(array)
    if xp.isdtype(array.dtype, "complex floating"):
        raise ValueError(
            f"{name} is complex, but real numbers are needed: pass {variable(name)}.real"
        )
    if isinstance(array, np.ndarray) and array.dtype.kind not in "fiub":
        raise TypeError(f"{name} has dtype {array.dtype}, but real numbers are needed")
    if array.dtype not in (xp.float32, xp.float64):
        array = arrays.cast(array, np.float64)
    bad = math.prod(array.shape) - int(xp.sum(xp.isfinite(array)))
    if bad:
        raise ValueError(f"{name} has {bad} NaN or infinite values: remove or replace them")
    return array


def variable(name: str) -> str:
    """Return what code may call an argument: "piece" for "piece 1 of the sound"."""
    return name.split()[0]


def refuse_iterator(name: str, given: Any) -> None:
    """Raise if blocks of frames are given one by one in place of all of them."""
    if isinstance(given, Iterator):
        raise TypeError(
            f"{name} is a {type(given).__name__}, but one array of frames is needed: learn from"
            " blocks that arrive one by one with TLNMF.partial_fit"
        )


def refuse_path(name: str, given: Any, advice: str) -> None:
    """Raise if the name of a file, or a list of names, is given in place of what it holds."""
    first = given[0] if isinstance(given, (list, tuple)) and given else given
    if isinstance(first, (str, os.PathLike)):
        raise TypeError(f"{name} names the file {os.fspath(first)!r}, but {advice}")


FRAMES_NEEDED = "frames of samples are needed, as phinmf.to_frames makes them of a sound"


def is_complex(given: Any) -> bool:
    """Whether an array, a table or a list holds complex numbers."""
    if arrays.is_tensor(given):
        return bool(given.is_complex())
    if is_lazy(given):
        return bool(given.dtype.kind == "c")
    try:
        return bool(np.iscomplexobj(given if hasattr(given, "dtype") else np.asarray(given)))
    except ValueError:  # arrays of different shapes, which are refused later
        return False


def refuse_complex(name: str, given: Any, needed: str = FRAMES_NEEDED) -> None:
    """Raise if complex numbers are given in place of sound, in the words of scikit-learn."""
    if is_complex(given):
        raise ValueError(
            f"Complex data not supported: {name} is complex, as an STFT is, but {needed}"
        )


def refuse_sparse(name: str, given: Any) -> None:
    """Raise if a sparse array of SciPy is given, of which NumPy makes an array of one object."""
    if hasattr(given, "toarray"):
        raise TypeError(
            f"{name} is sparse, but a dense array is needed: pass {variable(name)}.toarray()"
        )


def refuse_masked(name: str, given: Any) -> None:
    """Raise if an array has masked values: they would be used as if they were not masked."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        n = int(np.ma.getmaskarray(given).sum())
        raise ValueError(
            f"{name} has {n} masked values, but every value is used: pass"
            f" {variable(name)}.filled(0), and frame_mask to leave whole frames out of a fit"
        )


def numbers(name: str, given: ArrayLike) -> Array:
    """Return an array of NumPy; raise if it is made of arrays of different shapes."""
    try:
        return np.asarray(given)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            f"{name} holds arrays of different shapes, but one array is needed"
        ) from None


def native(array: Array) -> Array:
    """The same numbers in the byte order of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def tensor(name: str, given: Any) -> Any:
    """Return a tensor that holds numbers, without its gradient."""
    if given.device.type == "meta" or given.is_sparse:
        what = "sparse" if given.is_sparse else "on the device 'meta'"
        raise ValueError(f"{name} is {what}, but numbers are needed: pass a dense tensor of them")
    return given.detach()


def frames(Y: AnyArray) -> Any:
    """Return frames of shape (C, M, N); a dask array stays one, its values are looked at later."""
    refuse_iterator("Y", Y)
    refuse_path("Y", Y, "frames are needed: pass those of phinmf.frames_from_files")
    refuse_complex("Y", Y)
    array = lazy_array("Y", Y) if is_lazy(Y) else real_array("Y", Y)
    if array.ndim not in (2, 3):
        raise ValueError(
            f"Y has {array.ndim} dimensions, but frames of shape (M, N) or (C, M, N) are needed:"
            " phinmf.to_frames makes them from a signal"
        )
    if 0 in array.shape:
        raise ValueError(f"Y has shape {tuple(array.shape)}, but at least one sample is needed")
    if is_lazy(array):
        return unchunked("Y", array, array.ndim - 1)
    if not namespace(array).any(array):
        raise ValueError("Y is all zero: there is nothing to learn from silence")
    return array if array.ndim == 3 else array[None]


def factor(name: str, given: ArrayLike, shape: tuple[int, int], dtype: Any) -> Array:
    """Return a copy of a nonnegative factor of the right shape."""
    array = real_array(name, given)
    if tuple(array.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(array.shape)}, but {shape} is needed")
    xp = namespace(array)
    if xp.any(array < 0):
        least = float(xp.min(array))
        raise ValueError(
            f"{name} has {int(xp.sum(array < 0))} negative values, the least {least:.3g}:"
            " factors are nonnegative"
        )
    return arrays.copied(array, dtype)


def number(
    name: str, given: Any, least: float, strict: bool = False, most: float | None = None
) -> float:
    """Return a finite float, at least (or strictly above) a bound, and at most another one."""
    try:
        value = math.nan if isinstance(given, (str, bytes)) else float(given)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    enough = value > least if strict else value >= least
    if not (math.isfinite(value) and enough and (most is None or value <= most)):
        also = "" if most is None else f" and ≤ {most:g}"
        raise ValueError(
            f"{name} is {given!r}, but a finite number {'>' if strict else '≥'} {least:g}{also} is"
            " needed"
        )
    return value


def count(name: str, given: Any, least: int, most: int | None = None, why: str = "") -> int:
    """Return an int between bounds."""
    whole = isinstance(given, (int, np.integer)) or (isinstance(given, float) and given % 1 == 0)
    if isinstance(given, bool) or not whole:
        raise TypeError(f"{name} is {given!r}, but a whole number is needed")
    if given < least or (most is not None and given > most):
        needed = f"≥ {least}" if most is None else f"from {least} to {most}{why}"
        raise ValueError(f"{name} is {given}, but a whole number {needed} is needed")
    return int(given)


def function(name: str, given: Any) -> Any:
    """Return something to call, or None."""
    if given is not None and not callable(given):
        raise TypeError(f"{name} is {given!r}, but a function or None is needed")
    return given


def known(name: str, given: Any, names: Iterable[Any]) -> Any:
    """Return a name that is in a registry."""
    names = list(names)
    if np.ndim(given) or given not in names:
        listed = ", ".join(repr(n) for n in names)
        raise ValueError(f"{name} is {given!r}, which is not known: choose one of {listed}")
    return given


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a Generator from None, an int, a RandomState or a Generator."""
    try:
        if isinstance(random_state, np.random.RandomState):
            return np.random.default_rng(random_state.randint(2**31, size=4))
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise TypeError(
            f"random_state is {random_state!r}, but None, a whole number ≥ 0, a RandomState or a"
            " Generator is needed"
        ) from None
