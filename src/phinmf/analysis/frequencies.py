"""Frequencies of atoms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import next_fast_len

from phinmf import checks
from phinmf._types import Array
from phinmf.analysis.matching import unit_atoms

PADDING = (
    32  #: length of the padded atom, in lengths of the atom; enough for a parabola at the peak
)


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
