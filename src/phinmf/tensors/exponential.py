"""exp(E) of antisymmetric matrices by matrix products only, which are fast on a GPU.

Bader, Blanes & Casas (Mathematics 7, 1174, 2019) evaluate the Taylor polynomial of degree 18 with
five products. Scaling and squaring extends the norm up to which it is exact. No branch depends on
the values: a bound of the norm is returned, and the caller compares it with `reach` later, when it
reads the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch

from phinmf._types import Tensor

Combine: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, ...]]

SQUARINGS = (1, 4, 8, 13, 18)  #: numbers of squarings; nearly always the first is enough

_A = (-0.10036558103014462001, -0.00802924648241156960, -0.00089213849804572995)
_B = (  # coefficients of A, A², A³ and A⁶
    (
        0.39784974949964507614,
        1.36783778460411719922,
        0.49828962252538267755,
        -6.3789819459472330e-4,
    ),
    (1.68015813878906197182, 0.05717798464788655127, -0.00698210122488052084, 3.349750170860705e-5),
    (
        -0.06764045190713819075,
        0.06759613017704596460,
        0.02955525704293155274,
        -1.391802575160607e-5,
    ),
    (0.0, -0.09233646193671185927, -0.01693649390020817171, -1.400867981820361e-5),
)
_I = (-10.9676396052962062593, -0.09043168323908105619)


def reach(dtype: torch.dtype, squarings: int) -> float:
    """Return the norm up to which the exponential is exact to rounding."""
    return (1.09 if dtype == torch.float64 else 3.01) * 2.0**squarings


def combinations(A: Tensor, A2: Tensor, A3: Tensor, A6: Tensor) -> tuple[Tensor, ...]:
    """Return B₁ … B₅ of the scheme."""
    B1 = _A[0] * A + _A[1] * A2 + _A[2] * A3
    B2, B3, B4, B5 = (a * A + b * A2 + c * A3 + d * A6 for a, b, c, d in _B)
    B3.diagonal(dim1=-2, dim2=-1).add_(_I[0])
    B4.diagonal(dim1=-2, dim2=-1).add_(_I[1])
    return B1, B2, B3, B4, B5


def exponential(
    E: Tensor, squarings: int, combine: Combine = combinations
) -> tuple[Tensor, Tensor]:
    """Return exp(E) of a batch (B, M, M), and an upper bound of the norm of each E."""
    A = E * 0.5**squarings
    A2 = A @ A
    A3 = A2 @ A
    A6 = A3 @ A3
    bound = A6.abs().sum(dim=-1).amax(dim=-1).double() ** (1 / 6) * 2.0**squarings
    B1, B2, B3, B4, B5 = combine(A, A2, A3, A6)
    A9 = torch.baddbmm(B4, B1, B5)
    T = torch.baddbmm(B2, B3.add_(A9), A9)
    for _ in range(squarings):
        T = T @ T
    return T, bound
