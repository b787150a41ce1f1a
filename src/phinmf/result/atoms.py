"""Which atoms of a result are the strongest, and how fast they swing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phinmf import arrays
from phinmf._types import Array
from phinmf.result.record import Record

PADDING = 16  #: length of a padded atom, in lengths of the atom


class StrongAtom(NamedTuple):
    """A row of the transform, and its share of the power that the factors model."""

    row: int
    share: float | None  #: None if there are no factors


def strongest(result: Record, n: int) -> list[StrongAtom]:
    """Return at most n atoms, the strongest in the model first.

    Without activations all components count the same; without factors these are the first atoms,
    which are those that were learned.
    """
    n = min(n, len(result.Phi))
    if result.W is None:
        return [StrongAtom(row, None) for row in range(n)]
    W = arrays.to_numpy(result.W).astype(np.float64)
    loudness = np.ones(W.shape[1])
    if result.H is not None:
        loudness = arrays.to_numpy(result.H).sum(axis=1, dtype=np.float64)
    power = W @ loudness
    shares = power / (power.sum() or 1.0)
    return [
        StrongAtom(int(row), float(shares[row])) for row in np.argsort(-shares, kind="stable")[:n]
    ]


def periods(atoms: Array, padding: int = PADDING) -> Array:
    """Return the number of periods in a frame at which the spectrum of each atom is largest."""
    n = padding * atoms.shape[1]
    return np.array([np.abs(np.fft.rfft(atom, n)).argmax() / padding for atom in atoms])
