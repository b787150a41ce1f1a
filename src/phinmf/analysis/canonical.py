"""A canonical pair of atoms for every plane that a transform can turn freely.

A steady partial meets the frames at any phase, so it needs two atoms, a cosine and a sine of the
same envelope, and whichever two of this plane are learned, the fit is nearly the same: another
start returns the same plane and other atoms. But the plane of a steady partial is its own mirror
image: time reversal maps it onto itself. So it has exactly one pair of atoms of which one is even
about the middle of the frame and the other odd. With J the reversal, T = ΦJΦᵀ shows such planes:
the 2×2 block of rows i and j has the eigenvalues 1 and -1, and its eigenvectors are that pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from phinmf import checks
from phinmf._types import Array, Indices

#: Atoms i and j of a plane with |t_ij| below this are an even and an odd atom already.
COUPLED = 1e-3


class Canonical(NamedTuple):
    """Atoms after `canonical`, and the planes in which they were turned."""

    atoms: Array  #: (n, M), as given but for the planes
    planes: Indices  #: (p, 2), the rows that span each plane, the most strongly coupled first
    symmetry: Array  #: (p,), from `least` to 1: 1 for a plane that is its own mirror image


def canonical(atoms: ArrayLike, least: float = 0.8) -> Canonical:
    """Turn every plane that is its own mirror image in time to an even and an odd atom.

    The rule looks at one transform alone. Two transforms that have a plane in common get the same
    two atoms from it, up to their signs. The span of each plane, and so the energy that its two
    atoms hold together, stays the same. W and H should be fitted again (``solver=None``), or all
    of it (`consensus`).

    Parameters
    ----------
    atoms : array of shape (n, M)
        Orthonormal atoms of M samples in time as rows, for instance the transform of a fit.
    least : float
        Minimum symmetry of a plane, from 0 to 1: the smaller |φᵀJφ| of its two new atoms φ, where
        J reverses time. Of an even or an odd atom it is 1.

    Returns
    -------
    Canonical
        Each atom of a plane is replaced by the new one that is nearer to it.

    Examples
    --------
    >>> import numpy as np
    >>> from phinmf.analysis import canonical
    >>> from phinmf.linalg.manifold import dct, givens
    >>> turned = givens(6, 2, 3, 0.7) @ dct(6)  # rows of the DCT are even, odd, even, …
    >>> found = canonical(turned)
    >>> found.planes.tolist(), np.allclose(found.atoms, dct(6))
    ([[2, 3]], True)
    """
    given = checks.real_array("atoms", atoms)
    if given.ndim != 2 or given.size == 0:
        raise ValueError(f"atoms has shape {given.shape}, but atoms as rows (n, M) are needed")
    least = checks.number("least", least, 0)
    rows = given.astype(np.float64)
    T = rows @ rows[:, ::-1].T
    T = (T + T.T) / 2
    symmetry = _symmetry(T)
    p, q = _disjoint_pairs(np.where(symmetry >= least, np.abs(T), 0.0))
    difference = T[p, p] - T[q, q]
    towards = np.where(difference < 0, -1.0, 1.0)  # p becomes even if it is the more even one
    angle = np.arctan2(2 * towards * T[p, q], np.abs(difference))[:, None] / 2
    c, s = np.cos(angle), np.sin(angle)
    rows[p], rows[q] = c * rows[p] + s * rows[q], c * rows[q] - s * rows[p]
    return Canonical(rows.astype(given.dtype), np.stack([p, q], axis=1), symmetry[p, q])


def _symmetry(T: Array) -> Array:
    """Return the smaller of 1st and minus 2nd eigenvalue of each 2×2 block of T."""
    d = np.diagonal(T)
    return np.hypot((d[:, None] - d) / 2, T) - np.abs(d[:, None] + d) / 2


def _disjoint_pairs(weight: Array) -> tuple[Indices, Indices]:
    """Pair rows that are each other's largest weight, until none is left: the greedy choice."""
    weight = np.where(weight < COUPLED, 0.0, weight)
    np.fill_diagonal(weight, 0.0)
    each = np.arange(len(weight))
    pairs = []
    while weight.any():
        best = weight.argmax(axis=1)
        (p,) = np.nonzero((best[best] == each) & (each < best) & (weight[each, best] > 0))
        pairs.append((p, best[p], weight[p, best[p]]))
        taken = np.concatenate([p, best[p]])
        weight[taken] = 0.0
        weight[:, taken] = 0.0
    if not pairs:
        return each[:0], each[:0]
    first, second, size = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    order = np.argsort(-size, kind="stable")
    return first[order], second[order]
