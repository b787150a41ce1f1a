"""One figure of a result: the cost, the strongest atoms, the patterns and the activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phinmf import arrays, checks
from phinmf.result import plots
from phinmf.result.atoms import periods, strongest
from phinmf.result.record import Record
from phinmf.result.summary import entries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ATOMS = 6  #: maximum number that are drawn


def figure_of(
    result: Record, sample_rate: float | None = None, axes: Sequence[Axes] | None = None
) -> Figure:
    """Draw what a result has, each on one of the axes, and return their figure."""
    rate = None
    if sample_rate is not None:
        rate = checks.number("sample_rate", sample_rate, 0, strict=True)
    drawings: list[Callable[[Record, Axes, float | None], None]] = [cost, atoms]
    drawings += [] if result.W is None else [patterns]
    drawings += [] if result.H is None else [activations]
    if axes is None:
        axes = new_axes(len(drawings))
    given: list[Any] = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(given) != len(drawings):
        names = ", ".join(draw.__name__ for draw in drawings)
        raise ValueError(
            f"axes has {len(given)} axes, but {len(drawings)} are needed, for {names}: pass as many"
        )
    for draw, ax in zip(drawings, given, strict=True):
        draw(result, ax, rate)
        ax.set_title(draw.__name__, loc="left", fontsize=10)
    figure: Figure = given[0].figure
    return figure


def new_axes(n: int) -> Sequence[Axes]:
    """Return n axes of a new figure that no window shows."""
    from matplotlib.figure import Figure

    rows = -(-n // 3)
    figure = Figure(figsize=(10, 3 + 3 * (rows - 1)), layout="constrained")
    return list(figure.subplots(rows, n // rows, squeeze=False).flat)


def cost(result: Record, ax: Axes, rate: float | None) -> None:
    """Draw the best objective so far, per entry."""
    n = entries(result)
    plots.plot_best(ax, result.history, n or 1.0, color=plots.BLUE)
    if n is not None:
        ax.set_ylabel("best objective so far, per entry")


def atoms(result: Record, ax: Axes, rate: float | None) -> None:
    """Draw the strongest atoms."""
    rows = arrays.to_numpy(result.Phi)[[atom.row for atom in strongest(result, ATOMS)]]
    plots.plot_atoms(ax, rows, rate, color=plots.BLUE, lw=1)


def patterns(result: Record, ax: Axes, rate: float | None) -> None:
    """Draw W, a row for each component, the atoms in the order of their frequencies."""
    order = periods(arrays.to_numpy(result.Phi), padding=2).argsort(kind="stable")
    plots.plot_power(ax, arrays.to_numpy(result.W)[order].T, pixels=pixels_across(ax))
    ax.set(xlabel="atoms, from low to high frequency", ylabel="component")


def activations(result: Record, ax: Axes, rate: float | None) -> None:
    """Draw H, a row for each component; frames overlap by half."""
    H, M = arrays.to_numpy(result.H), len(result.Phi)
    width = None if rate is None else H.shape[1] * M / 2 / rate
    plots.plot_power(ax, H, width, pixels_across(ax))
    ax.set(xlabel="frames" if rate is None else "seconds", ylabel="component")


def pixels_across(ax: Axes) -> int:
    """Return the number of pixels that axes are wide, at most."""
    return max(1, int(ax.figure.bbox.width))
