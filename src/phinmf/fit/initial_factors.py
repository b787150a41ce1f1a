"""Where W and H start, which of them are fixed, and in which units they come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Array, Fixed, Indices, Precision
from phinmf.algorithm.nmf import FixedFactors, flat_activations, normalise
from phinmf.divergences import Penalty
from phinmf.fit import scaling
from phinmf.fit.data import Data


@dataclass(frozen=True)
class InitialFactors:
    """The factors of the caller: in double precision, H at unit power and for frames of the fit."""

    shape: tuple[int, int, int]  #: M, number of frames of the fit, K
    dtype: Precision
    W: Array  #: (M, n): the first n ≤ K columns
    H: Array | None
    H_original: Array | None  #: for all frames, in the units of the data
    fixes_Phi: bool
    fixed: FixedFactors

    @property
    def used(self) -> bool:
        """Whether W or H starts from numbers of the caller."""
        return bool(self.W.shape[1]) or self.H is not None

    def start(
        self, powers: Array, penalty: Penalty, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return W and H at the start: those of the caller, or random and flat."""
        M, N, K = self.shape
        n = self.W.shape[1]
        drawn = rng.exponential(size=(M, K))  # columns of sum 1, all equally likely
        W: Array = arrays.like(drawn, powers)
        W[:, :n] = self.W
        if (H := self.fixed.H) is not None:  # W carries the scale
            sum_of = arrays.namespace(W).sum
            mean = float(sum_of(W[:, n:], axis=0) @ sum_of(H[n:], axis=1)) / (M * N)
            W[:, n:] /= mean if mean > 0 else 1
            return self.in_range(W, H)
        W, s = normalise(W)
        with np.errstate(over="ignore", invalid="ignore"):  # looked for next
            H = flat_activations(powers, M, K, penalty) if self.H is None else self.H * s[:, None]
        return self.in_range(W, H)

    def in_range(self, W: Array, H: Array) -> tuple[Array, Array]:
        """The factors in the precision of the data, if powers can be computed from them in it."""
        xp = arrays.namespace(W)
        w, h = float(xp.max(xp.sum(W, axis=0))), float(xp.max(H))
        largest = scaling.largest_power(self.dtype)
        if not (w < largest and h < largest and w * h < largest):
            raise ValueError(
                f"the given W and H have columns of sum up to {w:.3g} and activations up to {h:.3g}"
                f" times the mean power of the frames, which leaves the range of {self.dtype}:"
                " scale them to the frames"
            )
        return arrays.copied(W, self.dtype), arrays.cast(H, self.dtype)

    def in_units_of_caller(
        self, W: Array, H: Array, columns: Indices | slice
    ) -> tuple[Array, Array]:
        """Return W with fixed columns exactly as the caller has them, and H for his frames.

        `columns` (n,) are those of H that belong to his n frames.
        """
        W, H = arrays.copied(W), arrays.take_frames(H, columns)
        if (fixed := self.fixed.columns) is not None:
            W[:, fixed] = arrays.cast(self.W[:, fixed], self.dtype)
            if self.fixed.H is None:
                _, s = normalise(self.W)
                H[fixed] /= arrays.cast(s[fixed, None], self.dtype)
        return W, H


def initial_factors(
    W: ArrayLike | None, H: ArrayLike | None, fixed: Fixed, n_components: int, data: Data
) -> InitialFactors:
    """Check the factors that a caller passes for all of his frames."""
    M, K, N = data.Y.shape[1], n_components, data.frames.shape[2]
    columns = arrays.zeros((M, 0), data.Y, np.float64)
    activations, unit = None, None
    if W is not None:
        shape = checks.real_array("W", W).shape
        n = shape[1] if len(shape) == 2 else K
        columns = arrays.like(checks.factor("W", W, (M, min(n, K)), np.float64), data.Y)
    if H is not None:
        activations = arrays.like(checks.factor("H", H, (K, N), np.float64), data.Y)
        with np.errstate(over="ignore"):  # looked for at the start
            unit = arrays.take_frames(activations, data.used) / data.scale**2
    fixes_Phi, fixed_columns, fixes_H = fixed_parts(fixed, columns.shape[1], H is not None)
    if fixed_columns is not None:
        fixed_columns = arrays.indices(fixed_columns, data.Y)
        scaling.check_fixed_columns(columns[:, fixed_columns], data.scale, arrays.dtype_of(data.Y))
    fixed_factors = FixedFactors(fixed_columns, unit if fixes_H else None)
    shape, dtype = (M, data.Y.shape[2], K), arrays.dtype_of(data.Y)
    return InitialFactors(shape, dtype, columns, unit, activations, fixes_Phi, fixed_factors)


def fixed_parts(fixed: Any, n_columns: int, has_H: bool) -> tuple[bool, Indices | None, bool]:
    """Return whether Φ is fixed, which columns of the caller's W are, and whether H is."""
    names = () if fixed is None else (fixed,) if isinstance(fixed, str) else fixed
    if not isinstance(names, (dict, list, tuple, set)):
        raise TypeError(
            f"fixed is {fixed!r}, but 'Phi', 'W', 'H', a list of them or a dict such as"
            " {'W': [0, 1]} is needed"
        )
    for name in names:
        checks.choice("fixed", name, ("Phi", "W", "H"))
    chosen = dict(names) if isinstance(names, dict) else dict.fromkeys(names, True)
    if chosen.get("H") and not has_H:
        raise ValueError(
            "fixed asks for H to stay, but no H is given: pass it as H, or as activations to fit"
        )
    columns = chosen.get("W", False)
    if columns is False:
        return bool(chosen.get("Phi")), None, bool(chosen.get("H"))
    if n_columns == 0:
        raise ValueError(
            "fixed asks for W to stay, but no W is given: pass it as W, or as components of TLNMF"
        )
    listed = np.arange(n_columns) if columns is True else np.asarray(columns)
    if listed.dtype == bool and listed.shape == (n_columns,):
        listed = np.flatnonzero(listed)
    if listed.dtype.kind not in "iu" or not ((listed >= 0) & (listed < n_columns)).all():
        raise ValueError(
            f"fixed asks for columns {columns!r} of W to stay, but those that are given are"
            f" 0 to {n_columns - 1}"
        )
    return bool(chosen.get("Phi")), np.unique(listed), bool(chosen.get("H"))
