"""Pictures of a fit; each function draws on the axes that it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phinmf._types import Array
from phinmf.result import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from phinmf.analysis import RankPath

#: colours that colour-blind readers can tell apart (Okabe and Ito)
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"


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
    seconds = np.concatenate([[0.0], history.seconds])
    best = np.minimum.accumulate(np.concatenate([[history.start], history.target_objective]))
    ax.plot(seconds, best / unit, **style)
    ax.set(xlabel="seconds", ylabel="best objective so far")


def plot_energy(ax: Axes, curve: Array, **style: Any) -> None:
    """Draw the share of the energy in the strongest atoms, in percent."""
    ax.plot(np.arange(1, len(curve) + 1), 100 * curve, **style)
    ax.set(xlabel="strongest atoms", ylabel="% of the energy", ylim=(0, 102))


def plot_rank_path(ax: Axes, path: RankPath, **style: Any) -> None:
    """Draw the error of prediction against the number of components; mark the best."""
    style = {"color": BLUE, "marker": "o"} | style
    ax.plot(path.ranks, path.held_out, **style)
    ax.axvline(path.best, color=GREY, lw=1, ls=":")
    ax.set(xlabel="components", ylabel="held-out error per entry", title=f"best: {path.best}")
    ax.set_xticks(path.ranks)


def plot_atom(ax: Axes, atom: Array, sample_rate: float, **style: Any) -> None:
    """Draw an atom against milliseconds, titled with the frequency of its spectral peak."""
    spectrum = np.abs(np.fft.rfft(atom, 16 * len(atom)))
    peak = spectrum.argmax() * sample_rate / (16 * len(atom))
    ax.plot(1000 * np.arange(len(atom)) / sample_rate, atom, **style)
    ax.set_ylim(*(np.array([-1.1, 1.1]) * np.abs(atom).max()))  # a constant is a straight line
    ax.set_title(f"{peak:.0f} Hz", fontsize=9)
    ax.set_yticks([])
    ax.spines[["left", "right", "top"]].set_visible(False)
