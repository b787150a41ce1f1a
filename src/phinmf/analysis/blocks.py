"""Pairs of atoms that span the same plane in two transforms, though no single atom agrees.

An orthogonal transform that models a pair of atoms with the same power can rotate them freely:
what two runs have in common is their plane. Two planes are equal when both principal angles between
them are zero, that is when both singular values of the 2×2 matrix of inner products are one.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from phinmf import checks
from phinmf._types import Indices
from phinmf.analysis.matching import match_atoms, similarities, square_similarities


class Block(NamedTuple):
    """A plane that two sets of atoms share."""

    first: tuple[int, int]  #: rows of the first set
    second: tuple[int, int]  #: rows of the second set
    cosine: float  #: of the larger principal angle: 1 for equal planes


def atom_blocks(A: ArrayLike, B: ArrayLike, least: float = 0.95) -> list[Block]:
    """Find the pairs of atoms of two sets that span the same plane.

    Atoms that agree one to one (|cos| ≥ `least`) are taken out first, so a block is always a
    rotated pair.

    Parameters
    ----------
    A, B : arrays of shape (n, M) and (m, M)
        Orthonormal atoms as rows.
    least : float
        Minimum cosine of the larger principal angle, from 0.85 to 1.

    Returns
    -------
    list of Block
        Disjoint blocks, the largest cosine first.
    """
    T = similarities(A, B)
    least = checks.number("least", least, 0.85)
    rows, columns = _unmatched(A, B, least)
    # The norm of a row of T is at most 1. So for least² > 2/3 at most two columns are near the
    # plane of two rows, those of largest norm; if there is a block, it consists of these.
    found = []
    for i, j in combinations(rows, 2) if len(columns) > 1 else ():
        near = np.hypot(T[i, columns], T[j, columns])
        k, l = columns[np.sort(np.argpartition(-near, 1)[:2])]
        cosine = np.linalg.svd(T[np.ix_((i, j), (k, l))], compute_uv=False)[1]
        if cosine >= least:
            found.append(Block((int(i), int(j)), (int(k), int(l)), float(cosine)))
    found.sort(key=lambda block: -block.cosine)
    blocks: list[Block] = []
    for block in found:
        if not any({*block.first} & {*b.first} or {*block.second} & {*b.second} for b in blocks):
            blocks.append(block)
    return blocks


def block_order(A: ArrayLike, B: ArrayLike, least: float = 0.95) -> tuple[Indices, Indices]:
    """Order two sets of atoms so that |ABᵀ| is as block-diagonal as possible (Fig. 3b).

    Parameters
    ----------
    A, B : arrays of shape (n, M)
        Orthonormal atoms as rows, equally many in each.
    least : float
        As in `atom_blocks`.

    Returns
    -------
    rows : array of n indices
        Order of the first set. Atoms that agree one to one come first, then blocks, then the rest,
        each by similarity.
    columns : array of n indices
        Order of the second set.
    """
    T = square_similarities(A, B)
    match = match_atoms(A, B)
    alike = match.similarity >= least
    rows, columns = [*match.first[alike]], [*match.second[alike]]
    for block in atom_blocks(A, B, least):
        corner = np.abs(T[np.ix_(block.first, block.second)])
        straight = corner[0, 0] + corner[1, 1] >= corner[0, 1] + corner[1, 0]
        rows += block.first
        columns += block.second if straight else block.second[::-1]
    left = [i for i in range(len(T)) if i not in rows]
    over = [j for j in range(len(T)) if j not in columns]
    if left:
        rest = match_atoms(np.asarray(A)[left], np.asarray(B)[over])
        rows += [left[i] for i in rest.first]
        columns += [over[j] for j in rest.second]
    return np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp)


def _unmatched(A: ArrayLike, B: ArrayLike, least: float) -> tuple[Indices, Indices]:
    """Atoms of each set that agree with none of the other."""
    match = match_atoms(A, B)
    alike = match.similarity >= least
    rows = np.setdiff1d(np.arange(len(np.asarray(A))), match.first[alike])
    columns = np.setdiff1d(np.arange(len(np.asarray(B))), match.second[alike])
    return rows, columns
