"""Figures of an unmixing; each function makes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phinmf._types import Array
from phinmf.analysis import energy_curve, strongest_atoms
from phinmf.audio.frames import to_frames
from phinmf.linalg.manifold import dct
from phinmf.report import plots
from phinmf.result import History
from phinmf.unmixing.model import UnmixModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def atoms(model: UnmixModel, mixture: Array, n: int = 6) -> Figure:
    """Draw the atoms that carry the most energy of a mixture."""
    figure = _figure(8, 1.2 * -(-n // 2))
    strongest = strongest_atoms(model.Phi, to_frames(mixture, model.M), n)
    axes = figure.subplots(-(-n // 2), 2, squeeze=False).flat
    for ax, atom in zip(axes, strongest, strict=False):
        plots.plot_atom(ax, atom, model.sample_rate, color=plots.BLUE, lw=1)
    return figure


def activations(model: UnmixModel, H: Array) -> Figure:
    """Draw how loud each component is over time."""
    K, N = H.shape
    figure = _figure(8, 0.8 * K)
    seconds = np.arange(N) * model.M / 2 / model.sample_rate
    for k, ax in enumerate(figure.subplots(K, 1, sharex=True, squeeze=False)[:, 0]):
        ax.fill_between(seconds, np.sqrt(H[k]), color=plots.BLUE, lw=0)
        ax.set(ylabel=k + 1, yticks=[])
        ax.spines[["left", "right", "top"]].set_visible(False)
    figure.supxlabel("seconds", fontsize=9)
    return figure


def energy(model: UnmixModel, mixture: Array) -> Figure:
    """Draw how few atoms carry the energy, learned and in the DCT."""
    figure = _figure(5, 3.5)
    ax = figure.subplots()
    Y = to_frames(mixture, model.M)
    plots.plot_energy(ax, energy_curve(dct(model.M), Y), color=plots.GREY, label="DCT")
    plots.plot_energy(ax, energy_curve(model.Phi, Y), color=plots.ORANGE, label="learned")
    ax.legend(frameon=False)
    return figure


def cost(history: History) -> Figure:
    """Draw the best objective so far, at the target floor, against seconds of learning."""
    figure = _figure(5, 3.5)
    plots.plot_best(figure.subplots(), history, color=plots.BLUE)
    return figure


def _figure(width: float, height: float) -> Figure:
    """Make a figure that no window shows."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
