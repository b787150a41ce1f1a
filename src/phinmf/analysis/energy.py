"""How the energy of a recording is distributed over the atoms of a transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Array, Indices
from phinmf.inits import Frames


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
    Phi : array of shape (M, M)
        A transform; its rows are the atoms.
    Y : array of shape (M, N) or (C, M, N)
        Frames.

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
    Phi : array of shape (M, M)
        A transform; its rows are the atoms.
    Y : array of shape (M, N) or (C, M, N)
        Frames.
    shares : float or sequence of float
        Shares of the energy.

    Returns
    -------
    array of int
        The number of atoms for each share.
    """
    return np.searchsorted(energy_curve(Phi, Y), np.asarray(shares) - 1e-12) + 1


def strongest_atoms(Phi: ArrayLike, Y: ArrayLike, n: int) -> Array:
    """The n atoms of a transform that carry the most energy, the strongest first.

    Parameters
    ----------
    Phi : array of shape (M, M)
        A transform; its rows are the atoms.
    Y : array of shape (M, N) or (C, M, N)
        Frames.
    n : int
        How many atoms, at most M.

    Returns
    -------
    array of shape (n, M)
        These atoms as rows.
    """
    rows = checks.real_array("Phi", Phi)
    n = checks.count("n", n, 1, len(rows), f" = the {len(rows)} rows of Phi")
    order = np.argsort(-atom_energies(rows, Y), kind="stable")
    return rows[order[:n]]


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
