"""Planes that two atoms span: which of them two transforms share, and canonical atoms for each.

A steady partial meets the frames at any phase, so it needs two atoms, a cosine and a sine of the
same envelope. Whichever two atoms of this plane are learned, the fit is nearly the same: another
start returns the same plane and other atoms.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from phinmf.analysis import match_atoms

#: Atoms i and j of a plane with |t_ij| below this are an even and an odd atom already.
COUPLED = 1e-3


class Canonical(NamedTuple):
    """Atoms after `canonical`, and the planes in which they were rotated."""

    atoms: np.ndarray  #: (n, M)
    planes: np.ndarray  #: (p, 2): the rows that span each plane, the most strongly coupled first
    symmetry: np.ndarray  #: (p,), from `least` to 1: 1 for a plane that is its own mirror image


class Block(NamedTuple):
    """A plane that two sets of atoms share."""

    first: tuple[int, int]  #: rows of the first set
    second: tuple[int, int]  #: rows of the second set
    cosine: float  #: of the larger principal angle: 1 for equal planes


def canonical(atoms: np.ndarray, least: float = 0.8) -> Canonical:
    """Rotate every plane that is its own mirror image in time to an even and an odd atom.

    Time reversal J maps the plane of a steady partial onto itself, so it has exactly one pair of
    atoms of which one is even about the middle of the frame and the other odd. T = ΦJΦᵀ shows such
    planes: the 2×2 block of rows i and j has the eigenvalues 1 and -1, and its eigenvectors are
    that pair. The rule looks at one transform alone; two transforms that have a plane in common get
    the same two atoms from it, up to their signs. Spans and energies of planes stay the same.

    `atoms` (n, M) are orthonormal rows. `least`, from 0 to 1, is the minimum symmetry of a plane:
    the smaller |φᵀJφ| of its two new atoms φ. Each atom is replaced by the new one nearer to it.
    """
    rows = atoms.astype(np.float64)
    T = rows @ rows[:, ::-1].T
    T = (T + T.T) / 2
    d = np.diagonal(T)
    # the smaller of 1st and minus 2nd eigenvalue of each 2×2 block of T
    symmetry = np.hypot((d[:, None] - d) / 2, T) - np.abs(d[:, None] + d) / 2
    p, q = _disjoint_pairs(np.where(symmetry >= least, np.abs(T), 0.0))
    difference = T[p, p] - T[q, q]
    towards = np.where(difference < 0, -1.0, 1.0)  # p becomes even if it is the more even one
    angle = np.arctan2(2 * towards * T[p, q], np.abs(difference))[:, None] / 2
    c, s = np.cos(angle), np.sin(angle)
    rows[p], rows[q] = c * rows[p] + s * rows[q], c * rows[q] - s * rows[p]
    return Canonical(rows.astype(atoms.dtype), np.stack([p, q], axis=1), symmetry[p, q])


def _disjoint_pairs(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pair rows that are each other's largest weight, until none is left: the greedy choice."""
    weight = np.where(weight < COUPLED, 0.0, weight)
    np.fill_diagonal(weight, 0.0)
    each = np.arange(len(weight))
    pairs = [(each[:0], each[:0], weight[:0, 0])]
    while weight.any():
        best = weight.argmax(axis=1)
        (p,) = np.nonzero((best[best] == each) & (each < best) & (weight[each, best] > 0))
        pairs.append((p, best[p], weight[p, best[p]]))
        used = np.concatenate([p, best[p]])
        weight[used] = 0.0
        weight[:, used] = 0.0
    first, second, size = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    order = np.argsort(-size, kind="stable")
    return first[order], second[order]


def subspace_overlap(A: np.ndarray, B: np.ndarray) -> float:
    """‖ABᵀ‖²_F / n of orthonormal rows (n, M): 1 for equal spans, n/M for unrelated ones."""
    return float(np.square(A @ B.T).sum() / len(A))


def atom_blocks(A: np.ndarray, B: np.ndarray, least: float = 0.95) -> list[Block]:
    """Return the disjoint pairs of atoms of two sets that span the same plane, most equal first.

    `A` (n, M) and `B` (m, M) are orthonormal rows. Two planes are equal when both principal angles
    between them are zero, that is when both singular values of the 2×2 matrix of inner products
    are one; `least` (at least 0.85) is the minimum of the smaller one. Atoms that agree one to one
    (|cos| ≥ `least`) are left out, so a block is always a rotated pair.
    """
    T = A @ B.T
    match = match_atoms(A, B)
    alike = match.similarity >= least
    rows = np.setdiff1d(np.arange(len(A)), match.first[alike])
    columns = np.setdiff1d(np.arange(len(B)), match.second[alike])
    # The norm of a row of T is at most 1. So for least² > 2/3 at most two columns are near the
    # plane of two rows, those of largest norm; if there is a block, it consists of these.
    candidates = []
    for i, j in combinations(rows.tolist(), 2) if len(columns) > 1 else ():
        near = np.hypot(T[i, columns], T[j, columns])
        k, l = columns[np.sort(np.argpartition(-near, 1)[:2])].tolist()
        cosine = np.linalg.svd(T[np.ix_((i, j), (k, l))], compute_uv=False)[1]
        if cosine >= least:
            candidates.append(Block((i, j), (k, l), float(cosine)))
    blocks: list[Block] = []
    for block in sorted(candidates, key=lambda block: -block.cosine):
        if not any({*block.first} & {*b.first} or {*block.second} & {*b.second} for b in blocks):
            blocks.append(block)
    return blocks


def block_order(A: np.ndarray, B: np.ndarray, least: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Order two sets of n atoms so that |ABᵀ| is as block-diagonal as possible (Fig. 3b).

    Return the orders of the rows of `A` and of `B`: atoms that agree one to one come first, then
    blocks, then the rest, each by similarity.
    """
    T = A @ B.T
    match = match_atoms(A, B)
    alike = match.similarity >= least
    rows, columns = [*match.first[alike]], [*match.second[alike]]
    for block in atom_blocks(A, B, least):
        corner = np.abs(T[np.ix_(block.first, block.second)])
        straight = corner[0, 0] + corner[1, 1] >= corner[0, 1] + corner[1, 0]
        rows += block.first
        columns += block.second if straight else block.second[::-1]
    rest_of_A = np.setdiff1d(np.arange(len(A)), rows)
    rest_of_B = np.setdiff1d(np.arange(len(B)), columns)
    if len(rest_of_A):
        match = match_atoms(A[rest_of_A], B[rest_of_B])
        rows += [*rest_of_A[match.first]]
        columns += [*rest_of_B[match.second]]
    return np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp)
