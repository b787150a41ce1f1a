"""Where W and H start, and which of them are fixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Array, Fixed, Indices, Precision
from phinmf.algorithm.nmf import FixedFactors, flat_activations, normalise
from phinmf.divergences import Penalty
from phinmf.errors import InvalidType, InvalidValue
from phinmf.fit.data import Data


@dataclass(frozen=True)
class InitialFactors:
    """The factors of the caller: in double precision, H at unit power and for frames of the fit."""

    shape: tuple[int, int, int]  #: rows of W, number of frames of the fit, K
    dtype: Precision
    W: Array  #: (P, n): the first n ≤ K columns
    H: Array | None
    H_original: Array | None  #: for all frames, in the units of the data
    fixes_Phi: bool
    fixed: FixedFactors

    def start(
        self, powers: Array, penalty: Penalty, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return W and H at the start: those of the caller, or random and flat."""
        P, N, K = self.shape
        n = self.W.shape[1]
        drawn = rng.exponential(size=(P, K))  # columns of sum 1, all equally likely
        W: Array = arrays.like(drawn, powers)
        W[:, :n] = self.W
        if (H := self.fixed.H) is not None:  # W carries the scale
            sum_of = arrays.namespace(W).sum
            mean = float(sum_of(W[:, n:], axis=0) @ sum_of(H[n:], axis=1)) / (P * N)
            W[:, n:] /= mean if mean > 0 else 1
        else:
            W, s = normalise(W)
            H = flat_activations(powers, P, K, penalty) if self.H is None else self.H * s[:, None]
        return arrays.copied(W, self.dtype), arrays.cast(H, self.dtype)

    def in_units_of_caller(self, W: Array, H: Array, data: Data) -> tuple[Array, Array]:
        """Return W with fixed columns exactly as the caller has them, and H for his frames.

        These are the frames that have a weight.
        """
        unit = float(self.dtype.type(data.scale) ** 2)
        vanishes = False  # whether activations of a fixed column are too small for their type
        with np.errstate(over="ignore"):
            W, H = arrays.copied(W), arrays.take_frames(H * unit, data.columns)
            if (columns := self.fixed.columns) is not None:
                W[:, columns] = arrays.cast(self.W[:, columns], self.dtype)
                if self.fixed.H is None:
                    _, s = normalise(self.W)
                    scaled = H[columns] / arrays.cast(s[columns, None], self.dtype)
                    had, has = ((A > 0).any(axis=1) for A in (H[columns], scaled))
                    vanishes = bool((had & ~has).any())
                    H[columns] = scaled
        xp = arrays.namespace(H)
        if vanishes or not (xp.isfinite(H).all() and xp.isfinite(W).all()):
            raise InvalidValue(
                f"the factors leave the range of {self.dtype}: give W and H whose product is"
                " nearer to the power of Y, and fixed columns of W whose sums are nearer to 1"
            )
        return W, H


def initial_factors(
    W: ArrayLike | None,
    H: ArrayLike | None,
    fixed: Fixed,
    n_components: int,
    data: Data,
    n_powers: int,
) -> InitialFactors:
    """Check the factors that a caller passes for all of his frames; W has `n_powers` rows."""
    P, K, N = n_powers, n_components, data.frames.shape[2]
    columns = arrays.zeros((P, 0), data.Y, np.float64)
    activations, unit = None, None
    if W is not None:
        shape = checks.real_array("W", W).shape
        n = shape[1] if len(shape) == 2 else K
        columns = arrays.like(checks.factor("W", W, (P, min(n, K)), np.float64), data.Y)
    if H is not None:
        activations = arrays.like(checks.factor("H", H, (K, N), np.float64), data.Y)
        with np.errstate(over="ignore"):  # then the objective is not finite at the start
            unit = arrays.take_frames(activations, data.used) / data.scale**2
    fixes_Phi, fixed_columns, fixes_H = fixed_parts(fixed, columns.shape[1], H is not None)
    if fixed_columns is not None:
        fixed_columns = arrays.indices(fixed_columns, data.Y)
    fixed_factors = FixedFactors(fixed_columns, unit if fixes_H else None)
    shape, dtype = (P, data.Y.shape[2], K), arrays.dtype_of(data.Y)
    return InitialFactors(shape, dtype, columns, unit, activations, fixes_Phi, fixed_factors)


def fixed_parts(fixed: Fixed, n_columns: int, has_H: bool) -> tuple[bool, Indices | None, bool]:
    """Return whether Φ is fixed, which columns of the caller's W are, and whether H is."""
    names = () if fixed is None else (fixed,) if isinstance(fixed, str) else fixed
    if not isinstance(names, (dict, list, tuple, set)):
        raise InvalidType(
            f"fixed is {fixed!r}, but 'Phi', 'W', 'H', a list of them or a dict such as"
            " {'W': [0, 1]} is needed"
        )
    for name in names:
        checks.choice("fixed", name, ("Phi", "W", "H"))
    parts = dict(names) if isinstance(names, dict) else dict.fromkeys(names, True)
    fixes_Phi, fixes_H = bool(parts.get("Phi")), bool(parts.get("H"))
    if fixes_H and not has_H:
        raise InvalidValue(
            "fixed asks for H to stay, but no H is given: pass it as H, or as activations to fit"
        )
    columns = parts.get("W", False)
    if columns is False:
        return fixes_Phi, None, fixes_H
    if n_columns == 0:
        raise InvalidValue(
            "fixed asks for W to stay, but no W is given: pass it as W, or as components of TLNMF"
        )
    listed = np.arange(n_columns) if columns is True else np.asarray(columns)
    if listed.dtype == bool and listed.shape == (n_columns,):
        listed = np.flatnonzero(listed)
    if listed.dtype.kind not in "iu" or not ((listed >= 0) & (listed < n_columns)).all():
        raise InvalidValue(
            f"fixed asks for columns {columns!r} of W to stay, but those that are given are"
            f" 0 to {n_columns - 1}"
        )
    return fixes_Phi, np.unique(listed), fixes_H
