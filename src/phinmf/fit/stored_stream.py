"""The progress of a fit that learns block by block, as arrays and values for JSON, and back.

Every number is checked before it is used.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phinmf import arrays
from phinmf._types import Array
from phinmf.algorithm.statistics import Exponents, FadingSums
from phinmf.algorithm.window import Window
from phinmf.fit.online import BLOCKS_IN_WINDOW, Learned, OnlineFit, Progress
from phinmf.storage import Stored, shown
from phinmf.stored_values import array, is_number, orthogonal

COUNTS = ("step", "n_frames", "evaluations")
NUMBERS = ("clock", "energy", "count", "divergence", "penalty")


def pack(at: Progress) -> Stored:
    """Return the values and the arrays of a progress."""
    header: dict[str, Any] = {name: getattr(at, name) for name in (*COUNTS, *NUMBERS)}
    parts: dict[str, Array] = {}
    if at.window is not None:
        parts |= {f"window_{name}": value for name, value in vars(at.window).items()}
    if at.learned is not None:
        header["fitted_at"] = at.learned.fitted_at
        sums = at.learned.sums
        parts |= {"Phi": at.learned.Phi, "W": at.learned.W, "numerator": sums.numerator}
        parts |= {"denominator": sums.denominator, "activation": sums.activation}
    return Stored(header, {name: arrays.to_numpy(part) for name, part in parts.items()})


def unpack(stored: Stored, fit: OnlineFit, frames: Array) -> Progress:
    """Return the progress of a fit to such frames (C, M, …), with arrays on their device."""
    said = stored.header
    for name in (*COUNTS, *NUMBERS):
        least = -math.inf if name in ("divergence", "penalty") else 0
        if not is_number(said.get(name), least) or (
            name in COUNTS and not isinstance(said[name], int)
        ):
            raise ValueError(f"its {name} is {shown(said.get(name))}")
    values = {name: said[name] for name in (*COUNTS, *NUMBERS)}
    if said["step"] == 0:
        return Progress(**values)
    if not (said["energy"] > 0 and said["count"] > 0):
        raise ValueError("it has seen frames, but no sound")
    C, M = frames.shape[:2]
    n = length(stored, "window_Y")
    if not 0 < n <= BLOCKS_IN_WINDOW * fit.block_size:
        raise ValueError(f"its window has {n} frames")
    K = length(stored, "W") if "fitted_at" in said else 0
    dtype = arrays.dtype_of(frames)
    step = said["step"]
    window = Window(
        arrays.like(array(stored, "window_Y", (C, M, n), dtype, any_number), frames),
        array(stored, "window_weights", (n,), np.float64, lambda a: a > 0),
        array(stored, "window_keys", (n,), np.float64, any_number),
        array(stored, "window_births", (n,), np.int64, lambda a: (a > 0) & (a <= step)),
    )
    if not K:
        return Progress(window=window, **values)
    at = said["fitted_at"]
    if not (is_number(at, 0) and isinstance(at, int) and at <= step):
        raise ValueError(f"its fitted_at is {shown(at)}")
    shapes = {"numerator": (M, K), "denominator": (M, K), "activation": (K,), "W": (M, K)}
    found = {
        name: arrays.like(array(stored, name, shape, np.float64, not_negative), frames)
        for name, shape in shapes.items()
    }
    W = found.pop("W")
    sums = FadingSums(**found, exponents=Exponents.of(fit.options.divergence))
    Phi = arrays.like(orthogonal(stored, "Phi", M, dtype), frames)
    return Progress(window=window, learned=Learned(Phi, W, sums, at), **values)


def length(stored: Stored, name: str) -> int:
    """Return the length of the last axis of an array; 0 if there is none."""
    found = stored.arrays.get(name)
    return 0 if found is None or found.ndim < 2 else int(found.shape[-1])


def any_number(a: Any) -> Any:
    """True everywhere: that numbers are finite is checked anyway."""
    return np.ones(a.shape, bool)


def not_negative(a: Any) -> Any:
    """Whether each number is at least 0."""
    return a >= 0
