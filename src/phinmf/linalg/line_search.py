"""Line searches: they see three numbers per trial (η, loss, slope) and choose the step length."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar


class Point(Protocol):
    """A point on the curve η ↦ φ(η)."""

    @property
    def eta(self) -> float:
        """The step length."""

    @property
    def loss(self) -> float:
        """φ(η)."""

    @property
    def slope(self) -> float:
        """φ'(η)."""


P = TypeVar("P", bound=Point)


class Origin(NamedTuple):
    """The point η = 0, where a search starts."""

    loss: float  #: φ(0)
    slope: float  #: φ'(0)
    eta: float = 0.0  #: the step length


class StrongWolfe(Generic[P]):
    """A search for a point that satisfies the strong Wolfe conditions, one trial at a time.

    Nocedal & Wright, Numerical Optimization, Algorithms 3.5 (bracket) and 3.6 (zoom), with
    cubic interpolation (pp. 59-60). After `max_trials` trials the result is the lowest point of
    sufficient decrease, or None if there was none.
    """

    def __init__(
        self,
        start: Origin,
        eta: float = 1.0,
        c1: float = 1e-4,
        c2: float = 0.9,
        max_trials: int = 20,
    ) -> None:
        self.start, self.c1, self.c2, self.left = start, c1, c2, max_trials
        self.eta: float | None = eta if start.slope < 0 else None  #: next trial; None at the end
        self.low: P | Origin = start  #: lowest point of sufficient decrease so far
        self.high: P | Origin | None = None  #: with `low`, brackets an acceptable point

    @property
    def found(self) -> P | None:
        """The best point so far, or None."""
        return None if isinstance(self.low, Origin) else self.low

    def tell(self, here: P) -> None:
        """Record the trial at η and choose the next one."""
        start, low, eta = self.start, self.low, here.eta
        self.left -= 1
        if not (here.loss <= start.loss + self.c1 * eta * start.slope and here.loss < low.loss):
            self.high = here  # too far, or not finite
        else:
            self.low = here
            if abs(here.slope) <= -self.c2 * start.slope:
                self.eta = None
                return
            if here.slope * ((self.high.eta if self.high else math.inf) - low.eta) >= 0:
                self.high = low  # the slope has changed its sign
        low, high = self.low, self.high
        over = high is not None and abs(high.eta - low.eta) <= 1e-12 * max(high.eta, low.eta)
        if over or self.left == 0:
            self.eta = None
        else:
            self.eta = 4 * eta if high is None else _between(low, high)


def strong_wolfe(
    trial: Callable[[float], P], start: Origin, eta: float = 1.0, **how: Any
) -> P | None:
    """Search along a curve for a point that satisfies the strong Wolfe conditions.

    Parameters
    ----------
    trial : callable
        Called with a step length η, it returns the point there, with `eta`, `loss` and `slope`.
    start : Origin
        The point η = 0.
    eta : float
        Step length of the first trial.
    **how
        `c1` (0.0001) and `c2` (0.9), the constants of the two conditions, and `max_trials` (20).

    Returns
    -------
    point or None
        What `trial` returned. If no trial satisfies both conditions, the lowest one of sufficient
        decrease; None if there is none.
    """
    search: StrongWolfe[P] = StrongWolfe(start, eta, **how)
    while search.eta is not None:
        search.tell(trial(search.eta))
    return search.found


def backtracking(
    trial: Callable[[float], P],
    start: Origin,
    eta: float,
    c1: float = 1e-4,
    shrink: float = 0.5,
    max_trials: int = 40,
) -> P | None:
    """Shorten the step until the decrease is sufficient (Armijo).

    Parameters
    ----------
    trial : callable
        Called with a step length η, it returns the point there, with its `loss`.
    start : Origin
        The point η = 0.
    eta : float
        Step length of the first trial.
    c1 : float
        The decrease must be at least this share of the one that the slope at the start predicts.
    shrink : float
        Factor of the step length from one trial to the next.
    max_trials : int
        Maximum number of trials.

    Returns
    -------
    point or None
        What `trial` returned; None if no trial decreases the loss enough.
    """
    if not start.slope < 0:
        return None
    for _ in range(max_trials):
        here = trial(eta)
        if here.loss <= start.loss + c1 * eta * start.slope:
            return here
        eta *= shrink
    return None


def _between(a: Point, b: Point) -> float:
    """Minimiser of the cubic through two points and their slopes, kept away from both points."""
    width = b.eta - a.eta
    middle = a.eta + width / 2
    if not (math.isfinite(b.loss) and math.isfinite(b.slope)):
        return a.eta + width / 10
    d1 = a.slope + b.slope - 3 * (b.loss - a.loss) / width
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return middle
    d2 = math.copysign(math.sqrt(square), width)
    bottom = b.slope - a.slope + 2 * d2
    if bottom == 0:
        return middle
    eta = b.eta - width * (b.slope + d2 - d1) / bottom
    margin = abs(width) / 10
    return min(max(eta, min(a.eta, b.eta) + margin), max(a.eta, b.eta) - margin)
