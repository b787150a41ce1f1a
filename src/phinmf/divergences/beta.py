"""β-divergences: from Itakura–Saito (β = 0) over Kullback–Leibler (1) to the Euclidean one (2).

With a = v + ε and b = v̂: d(a|b) = [a^β + (β-1) b^β - β a b^(β-1)] / (β(β-1)), and its limits where
that is 0/0. The larger β, the more the strong entries count: d(sa|sb) = s^β d(a|b).
"""

from __future__ import annotations

from dataclasses import dataclass

from phinmf import checks
from phinmf.arrays import namespace
from phinmf.divergences.base import Divergence, Entries
from phinmf.divergences.itakura_saito import ItakuraSaito

LEAST, MOST = -1.0, 3.0  #: values of β that are allowed
LEAST_POSITIVE = 2.0**-126  #: the least normal number of single precision


@dataclass(frozen=True)
class Beta(Divergence):
    """The β-divergence of powers.

    Parameters
    ----------
    beta : float
        From -1 to 3: 0 is Itakura–Saito, 1 Kullback–Leibler, 2 half the squared difference.

    Examples
    --------
    >>> import phinmf
    >>> float(phinmf.Beta(2).value(3.0, 1.5, 0.5))
    2.0
    """

    beta: float

    def __post_init__(self) -> None:
        # rounded, because the formulas are 0/0 at 0 and 1, which sums of decimals may just miss
        beta = round(checks.number("beta", self.beta, LEAST, most=MOST), 9)
        object.__setattr__(self, "beta", beta)

    @property
    def max_exponent(self) -> float:  # type: ignore[override]
        """1 if 0 ≤ β ≤ 2; outside, that of majorisation-minimisation."""
        return 1 / max(1.0, 2 - self.beta if self.beta < 0 else self.beta - 1)

    @property
    def smooth_updates(self) -> bool:  # type: ignore[override]
        """True if 0 ≤ β ≤ 1."""
        return 0 <= self.beta <= 1

    @property
    def degree(self) -> float:  # type: ignore[override]
        """β."""
        return self.beta

    @property
    def default_sparsity(self) -> float:  # type: ignore[override]
        """10 (1-β), from 0 to 10: a penalty only scales the model down if β = 1.

        (W and H are then those of no penalty, with H divided by 1 + μ.) If β is larger, it removes
        all entries of the model below some power.
        """
        return super().default_sparsity * min(1.0, max(0.0, 1 - self.beta))

    def value(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f(x) = d(x²+ε | v̂), in a form that neither overflows nor is 0·∞."""
        if self.beta == 0:
            return ItakuraSaito().value(v, v_hat, eps)
        a, beta = v + eps, self.beta
        if beta == 1:
            return a * log_ratio(a, v_hat) - (a - v_hat)
        if beta == 2:
            return (a - v_hat) * (a - v_hat) / 2
        if beta > 1:
            tangent = to_the(v_hat, beta) + beta * to_the(v_hat, beta - 1) * (a - v_hat)
            return (to_the(a, beta) - tangent) / (beta * (beta - 1))
        r = a / v_hat
        growth = (to_the(r, beta) - 1) / beta
        return to_the(v_hat, beta) * (growth - (r - 1)) / (beta - 1)

    def slope(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f'(x)/x = 2 ∂d/∂a = 2 (a^(β-1) - b^(β-1)) / (β-1); 2 log(a/b) if β = 1."""
        a = v + eps
        if self.beta == 1:
            return 2 * log_ratio(a, v_hat)
        power = self.beta - 1
        return 2 / power * (to_the(a, power) - to_the(v_hat, power))

    def curvature(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f''(x) = 2 ∂d/∂a + 4x² a^(β-2); negative near x = 0 where the model is larger."""
        return self.slope(v, v_hat, eps) + 4 * v * to_the(positive(v + eps), self.beta - 2)

    def bound(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """b(x) = 2 |∂d/∂a| + 4x² a^(β-2); that of the paper if β = 0."""
        if self.beta == 0:
            return ItakuraSaito().bound(v, v_hat, eps)
        size = abs(self.slope(v, v_hat, eps))
        return size + 4 * v * to_the(positive(v + eps), self.beta - 2)

    def nmf_split(self, v: Entries, v_hat: Entries, eps: float) -> tuple[Entries, Entries]:
        """P = a b^(β-2) and Q = b^(β-1)."""
        Q = to_the(v_hat, self.beta - 1) + 0 * v
        return (v + eps) * to_the(v_hat, self.beta - 2), Q


def positive(x: Entries) -> Entries:
    """Return x, but the least normal number of single precision where x is smaller."""
    return namespace(x).where(x > LEAST_POSITIVE, x, LEAST_POSITIVE)


def log_ratio(a: Entries, b: Entries) -> Entries:
    """Return log(a/b); a finite number also if a is 0, so that a log(a/b) is 0."""
    r = positive(a / b)
    return namespace(r).log(r)


def to_the(x: Entries, power: float) -> Entries:
    """Return x^power without the general power function where products and roots are enough."""
    if power < 0:
        return 1 / to_the(x, -power)
    if power == 0:
        return 0 * x + 1
    if power in (1, 2, 3):
        return x if power == 1 else x * to_the(x, power - 1)
    if power in (0.5, 1.5):
        root = x**0.5
        return root if power == 0.5 else x * root
    return x**power
