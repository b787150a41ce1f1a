"""Pictures of a fit with axes.

Each function ``plot_…`` draws on the axes of the caller; the others return figures of the page.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from phinmf._types import Array
from phinmf.result import History
from phinmf.result.plots import BLUE, GREY, ORANGE, pitch, plot_atom, plot_best

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from phinmf.analysis import RankPath

__all__ = ["BLUE", "GREY", "ORANGE", "plot_atom", "plot_best", "plot_energy", "plot_rank_path"]


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


def atoms(strongest: Array, sample_rate: float, pairs: bool = False) -> Figure:
    """Draw atoms (n, M), each beside its spectrum; two that are a pair in one row."""
    size, M = 2 if pairs else 1, strongest.shape[1]
    n = len(strongest) // size
    spectra = np.abs(np.fft.rfft(strongest, 4 * M))
    spectra = np.sqrt(np.square(spectra).reshape(n, size, -1).sum(axis=1))
    hertz = np.fft.rfftfreq(4 * M, 1 / sample_rate)
    top = min(hertz[-1], 1.6 * hertz[spectra.argmax(axis=1)].max() + 100)  # room for the label
    figure = new_figure(0.75 * n + 0.7)
    axes = figure.subplots(n, 2, sharex="col", squeeze=False)
    rows = strongest.reshape(n, size, M)
    for (left, right), own, spectrum in zip(axes, rows, spectra, strict=True):
        for atom, color in zip(own, (BLUE, ORANGE), strict=False):
            left.plot(1000 * np.arange(M) / sample_rate, atom, color=color, lw=1)
        right.plot(hertz[hertz <= top], spectrum[hertz <= top], color=BLUE, lw=1)
        right.text(1, 0.6, pitch(own[0], sample_rate), ha="right", transform=right.transAxes)
        for ax in (left, right):
            ax.set_yticks([])
            ax.spines[["left", "right", "top"]].set_visible(False)
    axes[-1, 0].set_xlabel("milliseconds")
    axes[-1, 1].set(xlabel="Hz", xlim=(0, top))
    return figure


def energy(learned: Array, fixed: Array) -> Figure:
    """Draw the share of the energy in the strongest atoms, learned and of the DCT."""
    figure = new_figure(2.5)
    ax = figure.subplots()
    plot_energy(ax, fixed, color=GREY, lw=1.7, ls="--", label="DCT")
    plot_energy(ax, learned, color=ORANGE, lw=1.7, label="learned")
    ax.set_xlim(0, min(len(fixed), max(4, int(1.3 * np.searchsorted(fixed, 0.95)))))
    ax.legend(frameon=False)
    return figure


def cost(history: History) -> Figure:
    """Draw how the best objective so far, at the target floor, fell to the last, which is 100 %."""
    figure = new_figure(2.5)
    ax = figure.subplots()
    last = abs(float(history.best_so_far[-1])) or 1.0
    plot_best(ax, history, last / 100, color=BLUE, lw=1.8)
    ax.set(ylabel="% of the last", ylim=(0, None))
    return figure


def new_figure(height: float, width: float = 4.8) -> Figure:
    """Make a figure that no window shows; sizes in inches, narrow so that letters are large."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def svg(draw: Callable[[], Figure]) -> bytes:
    """Return a figure as SVG, in fonts of the reader; the same figure has the same bytes."""
    import matplotlib as mpl

    style: dict[Any, Any] = {
        "svg.fonttype": "none", "svg.hashsalt": "phinmf", "font.size": 11,
        "xtick.labelsize": 10, "ytick.labelsize": 10, "axes.edgecolor": GREY,
        "axes.spines.top": False, "axes.spines.right": False,
    }  # fmt: skip
    file = io.BytesIO()
    with mpl.rc_context(style):
        draw().savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue()
