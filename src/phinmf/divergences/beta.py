"""β-divergences: from Itakura–Saito (β = 0) over Kullback–Leibler (1) to the Euclidean one (2).

With a = v + ε and b = v̂: d(a|b) = [a^β + (β-1) b^β - β a b^(β-1)] / (β(β-1)), and its limits where
that is 0/0. The larger β, the more the strong entries count: d(sa|sb) = s^β d(a|b).
"""

from __future__ import annotations

from dataclasses import dataclass

from phinmf import checks
from phinmf.arrays import namespace
from phinmf.divergences.base import Divergence, Entries, Family
from phinmf.divergences.itakura_saito import ItakuraSaito

LEAST, MOST = -1.0, 3.0  #: values of β that are allowed
FAMILIES = {
    0.0: Family.ITAKURA_SAITO,
    0.5: Family.SQUARE_ROOT,
    1.0: Family.KULLBACK_LEIBLER,
    2.0: Family.EUCLIDEAN,
}


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
        object.__setattr__(self, "beta", checks.number("beta", self.beta, LEAST, most=MOST))

    @property
    def family(self) -> Family | None:  # type: ignore[override]
        """The compiled family, if β is 0, ½, 1 or 2."""
        return FAMILIES.get(self.beta)

    @property
    def max_exponent(self) -> float:  # type: ignore[override]
        """1 if 0 ≤ β ≤ 2; outside, that of majorisation-minimisation."""
        return 1 / max(1.0, 2 - self.beta if self.beta < 0 else self.beta - 1)

    @property
    def smooth_updates(self) -> bool:  # type: ignore[override]
        """True if 0 ≤ β ≤ 1."""
        return 0 <= self.beta <= 1

    def value(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f(x) = d(x²+ε | v̂), as b^β times a function of the ratio r = a/b."""
        if self.beta == 0:
            return ItakuraSaito().value(v, v_hat, eps)
        r = (v + eps) / v_hat
        if self.beta == 1:
            return v_hat * (namespace(r).log(r) * r - r + 1)
        growth = (to_the(r, self.beta) - 1) / self.beta
        return to_the(v_hat, self.beta) * (growth - (r - 1)) / (self.beta - 1)

    def slope(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f'(x)/x = 2 ∂d/∂a = 2 (a^(β-1) - b^(β-1)) / (β-1); 2 log(a/b) if β = 1."""
        a = v + eps
        if self.beta == 1:
            return 2 * namespace(a).log(a / v_hat)
        power = self.beta - 1
        return 2 / power * (to_the(a, power) - to_the(v_hat, power))

    def curvature(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """f''(x) = 2 ∂d/∂a + 4x² a^(β-2); negative near x = 0 where the model is larger."""
        return self.slope(v, v_hat, eps) + 4 * v * to_the(v + eps, self.beta - 2)

    def bound(self, v: Entries, v_hat: Entries, eps: float) -> Entries:
        """b(x) = 2 |∂d/∂a| + 4x² a^(β-2); that of the paper if β = 0."""
        if self.beta == 0:
            return ItakuraSaito().bound(v, v_hat, eps)
        size = abs(self.slope(v, v_hat, eps))
        return size + 4 * v * to_the(v + eps, self.beta - 2)

    def nmf_split(self, v: Entries, v_hat: Entries, eps: float) -> tuple[Entries, Entries]:
        """P = a b^(β-2) and Q = b^(β-1)."""
        Q = to_the(v_hat, self.beta - 1) + 0 * v
        return (v + eps) * to_the(v_hat, self.beta - 2), Q


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
