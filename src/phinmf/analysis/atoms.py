"""Atoms: their share of the energy, their frequencies, and those of one transform in another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import next_fast_len
from scipy.optimize import linear_sum_assignment

from phinmf import arrays, checks
from phinmf._types import Array, Indices
from phinmf.errors import InvalidValue
from phinmf.inits import Frames

PADDING = 32  #: padded length of an atom, in lengths of the atom: a peak becomes a parabola


def atom_energies(Phi: ArrayLike, Y: ArrayLike) -> Array:
    """e_i = Σ_n [φ_i Y]²_n: the energy that each atom carries (mean over channels).

    Parameters
    ----------
    Phi : array of shape (M, M)
        A transform; its rows are the atoms.
    Y : array of shape (M, N) or (C, M, N)
        Frames.

    Returns
    -------
    array of shape (M,)
        The energy of each atom.
    """
    X = checks.real_array("Phi", Phi) @ checks.frames(Y)
    return np.square(X, dtype=np.float64).mean(axis=0).sum(axis=1)


def energy_curve(Phi: ArrayLike, Y: ArrayLike) -> Array:
    """Share of the energy in the 1, 2, … M strongest atoms (the paper's Fig. 3a).

    Parameters
    ----------
    Phi, Y
        As in `atom_energies`.

    Returns
    -------
    array of shape (M,)
        Shares from the energy of the strongest atom to 1.
    """
    strongest_first = np.sort(atom_energies(Phi, Y))[::-1]
    return np.cumsum(strongest_first) / strongest_first.sum()


def atoms_for_energy(
    Phi: ArrayLike, Y: ArrayLike, shares: ArrayLike = (0.9, 0.95, 0.99)
) -> Indices:
    """Number of the strongest atoms that together have these shares of the energy.

    Parameters
    ----------
    Phi, Y
        As in `atom_energies`.
    shares : float or sequence of float
        Shares of the energy.

    Returns
    -------
    array of int
        The number of atoms for each share.
    """
    return np.searchsorted(energy_curve(Phi, Y), np.asarray(shares) - 1e-12) + 1


def strongest_atoms(Phi: ArrayLike, Y: ArrayLike, n: int, *, pairs: bool = False) -> Array:
    """The n atoms, or pairs of atoms, that carry the most energy, the strongest first.

    Parameters
    ----------
    Phi, Y
        As in `atom_energies`.
    n : int
        How many atoms, at most M, or pairs, at most M/2.
    pairs : bool
        Whether the rows 2p and 2p + 1 of Φ are a pair.

    Returns
    -------
    array of shape (n, M)
        These atoms as rows; (2n, M) with pairs, whose atoms follow each other.
    """
    rows = checks.real_array("Phi", Phi)
    size = atoms_in_group("Phi", rows, pairs)
    most = len(rows) // size
    what = "pairs" if pairs else "rows"
    n = checks.count("n", n, 1, most, f" = the {most} {what} of Phi")
    energies = atom_energies(rows, Y).reshape(-1, size).sum(axis=1)
    order = np.argsort(-energies, kind="stable")[:n]
    return rows[(size * order[:, None] + np.arange(size)).ravel()]


def karhunen_loeve(Y: ArrayLike) -> Array:
    """Karhunen–Loève transform of frames: no orthogonal transform has more energy in n atoms.

    Parameters
    ----------
    Y : array of shape (M, N) or (C, M, N)
        Frames.

    Returns
    -------
    array of shape (M, M)
        The eigenvectors of YYᵀ (mean over channels) as rows, the strongest first.
    """
    frames = checks.frames(Y)
    rows, _ = Frames(frames).karhunen_loeve
    return arrays.contiguous(arrays.cast(rows, arrays.dtype_of(frames)))


class Frequencies(NamedTuple):
    """Location of the power spectrum of each atom, in Hz."""

    peak: Array  #: its maximum
    centroid: Array  #: its mean


def atom_frequencies(atoms: ArrayLike, sample_rate: float, *, pairs: bool = False) -> Frequencies:
    """Frequency of each atom: the peak of its power spectrum, and the spectrum's centroid.

    Parameters
    ----------
    atoms : array of shape (n, M)
        Atoms as rows.
    sample_rate : float
        Samples per second.
    pairs : bool
        Whether two rows that follow each other are a pair: then each pair has one frequency, that
        of the sum of both spectra.

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
    size = atoms_in_group("atoms", rows, pairs)
    power = power.reshape(-1, size, power.shape[1]).sum(axis=1)
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
        raise InvalidValue(
            f"A has atoms of {unit_A.shape[1]} samples and B of {unit_B.shape[1]},"
            " but atoms of the same length are needed"
        )
    T = np.abs(unit_A @ unit_B.T)
    first, second = linear_sum_assignment(T, maximize=True)
    order = np.argsort(-T[first, second], kind="stable")
    first, second = first[order], second[order]
    return Matching(first, second, T[first, second])


def atoms_in_group(name: str, rows: Array, pairs: bool) -> int:
    """Return 2 if rows are pairs of atoms, otherwise 1; refuse half a pair."""
    if pairs and len(rows) % 2:
        raise InvalidValue(f"{name} has {len(rows)} rows, but pairs need an even number of them")
    return 2 if pairs else 1


def unit_atoms(name: str, rows: ArrayLike) -> Array:
    """Return atoms as rows of unit length, in double precision."""
    atoms = checks.real_array(name, rows).astype(np.float64)
    if atoms.ndim != 2 or atoms.size == 0:
        raise InvalidValue(f"{name} has shape {atoms.shape}, but atoms as rows (n, M) are needed")
    lengths = np.linalg.norm(atoms, axis=1, keepdims=True)
    if not lengths.all():
        raise InvalidValue(f"{name} has a row of zeros, which is not an atom: remove it")
    return atoms / lengths
