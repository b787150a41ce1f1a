"""Where W and H start, which of them stay as given, and in which units they come back."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import checks
from phinmf._types import Array, Indices
from phinmf.assembly import Data
from phinmf.nmf import Kept, flat_activations, normalise
from phinmf.result import Result


@dataclass(frozen=True)
class Given:
    """What the caller gave; double precision, H at unit power and for the frames of the fit."""

    shape: tuple[int, int, int]  #: M, number of frames of the fit, K
    dtype: np.dtype[Any]
    W: Array  #: (M, n): the first n ≤ K columns
    H: Array | None
    H_as_given: Array | None  #: for all frames, in the units of the data
    keeps_Phi: bool
    kept: Kept

    def start(self, powers: Array, mu: float, rng: np.random.Generator) -> tuple[Array, Array]:
        """W and H at the start, given or random or flat."""
        M, N, K = self.shape
        n = self.W.shape[1]
        W: Array = rng.exponential(size=(M, K))  # columns of sum 1, all equally likely
        W[:, :n] = self.W
        if self.kept.H is not None:  # W carries the scale
            assert self.H is not None
            mean = float(W[:, n:].sum(axis=0) @ self.H[n:].sum(axis=1)) / (M * N)
            W[:, n:] /= mean if mean > 0 else 1
            return W.astype(self.dtype), self.H.astype(self.dtype)
        W, s = normalise(W)
        H = flat_activations(powers, M, K, mu) if self.H is None else self.H * s[:, None]
        return W.astype(self.dtype), H.astype(self.dtype)

    def in_its_units(self, result: Result, place: Indices | slice) -> Result:
        """The result with what stayed exactly as it was given, each frame where it was."""
        assert result.W is not None
        assert result.H is not None
        W, H, columns = result.W.copy(), result.H[:, place], self.kept.columns
        if columns is not None:
            W[:, columns] = self.W[:, columns]
            if self.kept.H is None:
                _, s = normalise(self.W)
                H[columns] /= s[columns, None].astype(self.dtype)
        return dataclasses.replace(result, W=W, H=H)


def given(
    W: ArrayLike | None, H: ArrayLike | None, fixed: Any, n_components: int, N: int, data: Data
) -> Given:
    """Check the factors that were given for N frames, some of which are used."""
    M, K = data.Y.shape[1], n_components
    columns: Array = np.zeros((M, 0))
    activations, unit = None, None
    if W is not None:
        columns = checks.real_array("W", W)
        n = columns.shape[1] if columns.ndim == 2 else K
        columns = checks.factor("W", W, (M, min(n, K)), np.float64)
    if H is not None:
        activations = checks.factor("H", H, (K, N), np.float64)
        unit = activations[:, data.used] / data.scale**2
    keeps_Phi, kept_columns, keeps_H = checks.fixed(fixed, columns.shape[1], H is not None)
    kept = Kept(kept_columns, unit if keeps_H else None)
    shape = (M, data.Y.shape[2], K)
    return Given(shape, data.Y.dtype, columns, unit, activations, keeps_Phi, kept)
