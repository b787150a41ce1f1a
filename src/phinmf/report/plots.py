"""Pictures of a fit; each function draws on the axes that it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phinmf._types import Array
from phinmf.result.plots import BLUE, GREY, ORANGE, plot_atom, plot_best

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from phinmf.analysis import RankPath

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "plot_atom",
    "plot_best",
    "plot_energy",
    "plot_rank_path",
]


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
