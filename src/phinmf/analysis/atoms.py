"""Atoms alone: their frequencies, and which atom of one transform is which of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import next_fast_len
from scipy.optimize import linear_sum_assignment

from phinmf import checks
from phinmf._types import Array, Indices

PADDING = 32  #: padded length of an atom, in lengths of the atom: a peak becomes a parabola


class Frequencies(NamedTuple):
    """Location of the power spectrum of each atom, in Hz."""

    peak: Array  #: its maximum
    centroid: Array  #: its mean


def atom_frequencies(atoms: ArrayLike, sample_rate: float) -> Frequencies:
    """Frequency of each atom: the peak of its power spectrum, and the spectrum's centroid.

    Parameters
    ----------
    atoms : array of shape (n, M)
        Atoms as rows.
    sample_rate : float
        Samples per second.

    Returns
    -------
    Frequencies
        Peaks and centroids in Hz. The peak is interpolated between the bins of a zero-padded
        spectrum, much finer than the bins of an atom's own spectrum; its precision is limited by
        the atom itself, which has few periods of a low frequency.
    """
    rows = unit_atoms("atoms", atoms)
    rate = checks.number("sample_rate", sample_rate, 0, strict=True)
    n = next_fast_len(PADDING * rows.shape[1], real=True)
    power = np.square(np.abs(np.fft.rfft(rows, n)))
    f = np.fft.rfftfreq(n, 1 / rate)
    centroid = power @ f / power.sum(axis=1)
    return Frequencies(_peaks(power) * rate / n, centroid)


def _peaks(power: Array) -> Array:
    """Bin of each row's maximum, between bins: the top of the parabola through log power."""
    rows = np.arange(len(power))
    top = power.argmax(axis=1)
    inside = np.clip(top, 1, power.shape[1] - 2)
    log = np.log(np.maximum(power, np.finfo(np.float64).tiny))
    left, middle, right = (log[rows, inside + shift] for shift in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = np.zeros_like(bend)
    np.divide(left - right, 2 * bend, out=shift, where=bend < 0)
    return np.where(top == inside, inside + shift, top)  # at the ends there is no parabola


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
