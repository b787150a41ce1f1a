"""Curves of several runs on one grid, and the time at which a curve reaches a level."""

from __future__ import annotations

import numpy as np

Curve = tuple[np.ndarray, np.ndarray]


def loss_curves(
    curves: list[Curve], points: int = 200
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Grid, minimum, median and maximum loss; a run that has ended keeps its last value."""
    first = min(x[1] for x, _ in curves if len(x) > 1)
    last = max(x[-1] for x, _ in curves)
    grid = np.geomspace(max(first, 1e-9), max(last, 2 * first), points)
    on_grid = [y[np.searchsorted(x, grid * (1 + 1e-12), side="right") - 1] for x, y in curves]
    return grid, np.min(on_grid, axis=0), np.median(on_grid, axis=0), np.max(on_grid, axis=0)


def time_to(seconds: np.ndarray, losses: np.ndarray, level: float) -> float:
    """Seconds until the loss is at the level or below; infinite if it never is."""
    reached = np.flatnonzero(losses <= level * (1 + 1e-9))
    return float(seconds[reached[0]]) if len(reached) else float("inf")
