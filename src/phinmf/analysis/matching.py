"""Matching the atoms of one transform with those of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from phinmf import checks
from phinmf._types import Array, Indices


class Matching(NamedTuple):
    """Pairs of atoms, the most similar pair first."""

    first: Indices  #: rows of the first set
    second: Indices  #: rows of the second set, the partner of each
    similarity: Array  #: |cos| of each pair


def match_atoms(A: ArrayLike, B: ArrayLike) -> Matching:
    """Pair the atoms of two sets one to one so that the sum of their |cos| is maximal.

    Parameters
    ----------
    A, B : arrays of shape (n, M) and (m, M)
        Atoms as rows, for instance the strongest of two transforms; their lengths and signs do
        not matter.

    Returns
    -------
    Matching
        The min(n, m) pairs (by the Hungarian method), the most similar first.

    Examples
    --------
    >>> import numpy as np
    >>> from phinmf.analysis import match_atoms
    >>> match = match_atoms(np.eye(3), -np.eye(3)[[2, 0, 1]])
    >>> match.second[match.first.argsort()].tolist(), match.similarity.tolist()
    ([1, 2, 0], [1.0, 1.0, 1.0])
    """
    unit_A, unit_B = unit_atoms("A", A), unit_atoms("B", B)
    if unit_A.shape[1] != unit_B.shape[1]:
        raise ValueError(
            f"A has atoms of {unit_A.shape[1]} samples and B of {unit_B.shape[1]},"
            " but atoms of the same length are needed"
        )
    T = np.abs(unit_A @ unit_B.T)
    first, second = linear_sum_assignment(T, maximize=True)
    order = np.argsort(-T[first, second], kind="stable")
    first, second = first[order], second[order]
    return Matching(first, second, T[first, second])


def unit_atoms(name: str, rows: ArrayLike) -> Array:
    """Return atoms as rows of unit length, in double precision."""
    atoms = checks.real_array(name, rows).astype(np.float64)
    if atoms.ndim != 2 or atoms.size == 0:
        raise ValueError(f"{name} has shape {atoms.shape}, but atoms as rows (n, M) are needed")
    lengths = np.linalg.norm(atoms, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError(f"{name} has a row of zeros, which is not an atom: remove it")
    return atoms / lengths
