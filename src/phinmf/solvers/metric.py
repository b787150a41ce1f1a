"""The curvature of each pair of atoms, and the direction that follows from it."""

from __future__ import annotations

from phinmf._types import Array
from phinmf.arrays import divided, namespace
from phinmf.engines import Objective

FLOOR = 0.2  #: the exact curvature is kept above this share of its bound


def bounded(objective: Objective, G: Array) -> Array:
    """h_ij + h_ji: the paper's sparse Hessian (12), acting on antisymmetric matrices."""
    h = objective.bound()
    return h + h.mT


def exact(objective: Objective, G: Array) -> Array:
    """Second derivative for a rotation of the pair (i,j) alone, kept above a share of its bound.

    c_ij = Σ_n f''(x_in) x_jn² + Σ_n f''(x_jn) x_in² - G_ii - G_jj, from (9). (With several
    channels Σ f''v is an upper bound of the first two terms, by Cauchy-Schwarz.)
    """
    return floored(objective.curvature(), bounded(objective, G), G)


def floored(c: Array, bound: Array, G: Array) -> Array:
    """c_ij from Σ_n f''(x_in) x_jn², kept above a share of its bound."""
    xp = namespace(G)
    diagonal = xp.linalg.diagonal(G)
    pairs = c + c.mT - (diagonal[..., :, None] + diagonal[..., None, :])
    return xp.maximum(pairs, FLOOR * bound)


METRICS = {"bound": bounded, "exact": exact}


def precondition(G: Array, pair_curvature: Array) -> Array:
    """E_ij = (G_ij - G_ji) / pair_curvature_ij, 0 where that is 0.

    -E minimises the quadratic model ⟨G|E⟩ + ½ Σ_{i<j} pair_curvature_ij e_ij² over the
    antisymmetric matrices, so it always points downhill.
    """
    return divided(G - G.mT, pair_curvature, namespace(G).zeros_like(G))
