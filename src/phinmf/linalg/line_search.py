"""Line searches: they see three numbers per trial (η, loss, slope) and choose the step length."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

SUFFICIENT = 1e-4  #: share of the decrease that the slope at the start predicts, at least
FLAT = 0.9  #: share of the slope at the start, at most
TRIALS, HALVINGS = 20, 40  #: maximum numbers of trials


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


def strong_wolfe(
    trial: Callable[[float], P],
    start: Origin,
    eta: float = 1.0,
    c2: float = FLAT,
    max_trials: int = TRIALS,
) -> P | None:
    """Search along a curve for a point that satisfies the strong Wolfe conditions.

    Nocedal & Wright, Numerical Optimization, Algorithms 3.5 (bracket) and 3.6 (zoom), with
    cubic interpolation (pp. 59-60).

    Parameters
    ----------
    trial : callable
        Called with a step length η, it returns the point of the curve, with `eta`, `loss` and
        `slope`.
    start : Origin
        The point η = 0.
    eta : float
        Step length of the first trial.
    c2 : float
        The slope must be at most this share of the slope at the start, in absolute value.
    max_trials : int
        Maximum number of trials.

    Returns
    -------
    point or None
        What `trial` returned. If no trial satisfies both conditions, the lowest one of sufficient
        decrease; None if there is none.
    """
    if not start.slope < 0:
        return None
    best: P | None = None  # lowest point of sufficient decrease so far
    high: P | Origin | None = None  # with the lowest point, brackets an acceptable one
    for _ in range(max_trials):
        point, low = trial(eta), start if best is None else best
        enough = point.loss <= start.loss + SUFFICIENT * eta * start.slope
        if not (enough and point.loss < low.loss):
            high = point  # too far, or not finite
        else:
            if abs(point.slope) <= -c2 * start.slope:
                return point
            if point.slope * ((math.inf if high is None else high.eta) - low.eta) >= 0:
                high = low  # the slope has changed its sign
            low = best = point
        if high is None:
            eta *= 4
        elif abs(high.eta - low.eta) <= 1e-12 * max(high.eta, low.eta):
            break
        else:
            eta = _between(low, high)
    return best


def backtracking(trial: Callable[[float], P], start: Origin, eta: float) -> P | None:
    """Halve the step until the decrease is sufficient (Armijo).

    Parameters
    ----------
    trial, start, eta
        As in `strong_wolfe`; slopes of trials are not used.

    Returns
    -------
    point or None
        What `trial` returned; None if no trial decreases the loss enough.
    """
    if not start.slope < 0:
        return None
    for _ in range(HALVINGS):
        point = trial(eta)
        if point.loss <= start.loss + SUFFICIENT * eta * start.slope:
            return point
        eta /= 2
    return None


def _between(a: Point, b: Point) -> float:
    """Minimiser of the cubic through two points and their slopes, not close to either."""
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
