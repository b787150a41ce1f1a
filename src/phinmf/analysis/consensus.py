"""One transform from several starts: what they have in common, fitted again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import checks
from phinmf._types import AnyArray, Array
from phinmf.algorithm.annealing import Anneal
from phinmf.analysis.canonical import canonical
from phinmf.analysis.matching import match_atoms
from phinmf.api import tl_nmf
from phinmf.linalg.manifold import polar
from phinmf.result import Result

ROUNDS = 4  #: number of times that every transform is matched to the current average
#: A low floor from the start keeps the atoms that the starts have in common.
REFINE: dict[str, Any] = {"anneal": Anneal(start=1e-3, length=40), "n_iter_nmf": 8}


def average_transform(transforms: Sequence[ArrayLike]) -> Array:
    """Return the orthogonal matrix nearest to the mean of transforms whose atoms are matched.

    Parameters
    ----------
    transforms : sequence of arrays of shape (M, M)
        Orthogonal matrices. The order and the signs of their atoms do not matter, except that
        the result has those of the first one.

    Returns
    -------
    array of shape (M, M)
        The average; its atoms are rows.
    """
    given = [checks.real_array(f"transforms[{i}]", Phi) for i, Phi in enumerate(transforms)]
    shapes = sorted({Phi.shape for Phi in given})
    if len(shapes) != 1 or len(shapes[0]) != 2 or shapes[0][0] != shapes[0][1]:
        raise ValueError(
            f"transforms has {len(given)} arrays of shapes {shapes}, but at least one, all of the"
            " same shape (M, M), are needed"
        )
    mean: Array = given[0].astype(np.float64)
    for _ in range(ROUNDS):
        total = np.zeros_like(mean)
        for Phi in given:
            match = match_atoms(mean, Phi)
            aligned = Phi[match.second[match.first.argsort()]]
            total += np.sign((aligned * mean).sum(axis=1))[:, None] * aligned
        mean = polar(total)
    return mean


def consensus(
    transforms: Sequence[ArrayLike], Y: AnyArray, n_components: int, **how: Any
) -> Result:
    """Fit from the average of several transforms, so that the atoms depend less on the start.

    Each transform is made `canonical`, so that planes which they share have the same two atoms in
    each; then their matched atoms are averaged (`average_transform`), and a fit goes on from there
    at a low floor, which keeps these atoms. The result is a minimum of the objective like that of
    any other start.

    Parameters
    ----------
    transforms : sequence of arrays of shape (M, M)
        Transforms that were learned from the same frames, from different random starts. One alone
        is possible: it gets canonical atoms.
    Y : array of shape (M, N) or (C, M, N)
        These frames.
    n_components : int
        Number of components.
    **how
        Further arguments of `tl_nmf`, those of the starts; by default annealed from a floor of
        1e-3 over 40 iterations with 8 NMF updates in each.

    Returns
    -------
    Result
        That of the last fit.

    Examples
    --------
    >>> import numpy as np, phinmf
    >>> from phinmf.analysis import consensus
    >>> Y = np.random.default_rng(0).standard_normal((16, 200))
    >>> fits = [phinmf.tl_nmf(Y, 2, init="random", random_state=seed) for seed in range(3)]
    >>> consensus([fit.Phi for fit in fits], Y, 2, random_state=0).Phi.shape
    (16, 16)
    """
    start = average_transform([canonical(Phi).atoms for Phi in transforms])
    return tl_nmf(Y, n_components, init=start, **{**REFINE, **how})
