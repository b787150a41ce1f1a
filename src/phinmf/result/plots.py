"""Pictures of what was learned; each function draws on the axes that it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phinmf._types import Array
from phinmf.result.atoms import periods
from phinmf.result.history import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: colours that colour-blind readers can tell apart (Okabe and Ito)
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
RANGE = 60.0  #: dB between the darkest and the brightest shade


def plot_cost(ax: Axes, history: History, entries: float, **style: Any) -> None:
    """Draw the objective per entry, at the target floor, against seconds."""
    seconds = np.concatenate([[0.0], history.seconds])
    ax.plot(seconds, np.concatenate([[history.start], history.target_objective]) / entries, **style)
    ax.set(xlabel="seconds", ylabel="objective per entry")


def plot_best(ax: Axes, history: History, unit: float = 1.0, **style: Any) -> None:
    """Draw the best objective so far, at the target floor, against seconds; it never rises.

    The objective itself rises while the floor falls: at a lower floor the same fit costs more, and
    factors that fit a high floor cost much at the target floor.
    """
    ax.plot(np.concatenate([[0.0], history.seconds]), history.best_so_far / unit, **style)
    ax.set(xlabel="seconds", ylabel="best objective so far")


def plot_atom(ax: Axes, atom: Array, sample_rate: float, **style: Any) -> None:
    """Draw an atom against milliseconds, titled with the frequency of its spectral peak."""
    ax.plot(1000 * np.arange(len(atom)) / sample_rate, atom, **style)
    ax.set_ylim(*(np.array([-1.1, 1.1]) * np.abs(atom).max()))  # a constant is a straight line
    ax.set_title(pitch(atom, sample_rate), fontsize=9)
    ax.set_yticks([])
    ax.spines[["left", "right", "top"]].set_visible(False)


def plot_atoms(ax: Axes, atoms: Array, sample_rate: float | None, **style: Any) -> None:
    """Draw atoms, the first at the top, each labelled with the frequency of its spectral peak."""
    n, M = atoms.shape
    at = np.arange(M) if sample_rate is None else 1000 * np.arange(M) / sample_rate
    places = np.arange(n)[::-1]
    for place, atom in zip(places, atoms, strict=True):
        ax.plot(at, place + 0.45 * atom / np.abs(atom).max(), **style)
    ax.set_yticks(places, [pitch(atom, sample_rate) for atom in atoms])
    ax.set(xlabel="samples" if sample_rate is None else "milliseconds", ylim=(-0.6, n - 0.4))


def plot_power(ax: Axes, power: Array, width: float | None = None, pixels: int = 1000) -> None:
    """Draw nonnegative power (rows, columns) in decibels, of so many columns at most.

    The horizontal axis ends at `width`, by default at the number of columns.
    """
    from matplotlib.ticker import MaxNLocator

    rows, columns = power.shape
    few = mean_columns(power, pixels)
    with np.errstate(divide="ignore"):
        level = 10 * np.log10(few / (few.max() or 1.0))
    ax.imshow(
        np.maximum(level, -RANGE), cmap="magma", vmin=-RANGE, vmax=0, aspect="auto",
        interpolation="nearest", origin="lower",
        extent=(0, columns if width is None else width, 0.5, rows + 0.5),
    )  # fmt: skip
    ax.yaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))


def mean_columns(power: Array, most: int) -> Array:
    """Return the mean of neighbouring columns, so that at most so many are left."""
    N = power.shape[1]
    edges = np.arange(min(N, most) + 1) * N // min(N, most)
    sums = np.add.reduceat(power.astype(np.float64), edges[:-1], axis=1)
    return sums / np.diff(edges)


def pitch(atom: Array, sample_rate: float | None) -> str:
    """Return the frequency of an atom in words, in periods per frame if no rate is known.

    Less than one period in a frame has no peak that could be located: "below 36 Hz".
    """
    found = float(periods(atom[None])[0])
    if sample_rate is None:
        return f"{found:.1f} periods"
    one_period = sample_rate / len(atom)
    if found < 1:
        return f"below {one_period:.{0 if one_period >= 1 else 2}f} Hz"
    return f"{found * one_period:.0f} Hz"
