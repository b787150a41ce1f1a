"""Figures of an unmixing; each function makes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phinmf.analysis import energy_curve, strongest_atoms
from phinmf.audio.frames import to_frames
from phinmf.linalg.manifold import dct
from phinmf.report import plots
from phinmf.unmixing.in_memory import Unmixing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def atoms(unmixing: Unmixing, n: int = 6) -> Figure:
    """The atoms that carry the most energy."""
    figure = _figure(8, 1.2 * -(-n // 2))
    strongest = strongest_atoms(unmixing.Phi, to_frames(unmixing.mixture, unmixing.model.M), n)
    for ax, atom in zip(
        figure.subplots(-(-n // 2), 2, squeeze=False).flat, strongest, strict=False
    ):
        plots.plot_atom(ax, atom, unmixing.sample_rate, color=plots.BLUE, lw=1)
    return figure


def activations(unmixing: Unmixing) -> Figure:
    """How loud each component is over time."""
    K, N = unmixing.H.shape
    figure = _figure(8, 0.8 * K)
    seconds = np.arange(N) * unmixing.model.M / 2 / unmixing.sample_rate
    for k, ax in enumerate(figure.subplots(K, 1, sharex=True, squeeze=False)[:, 0]):
        ax.fill_between(seconds, np.sqrt(unmixing.H[k]), color=plots.BLUE, lw=0)
        ax.set(ylabel=k + 1, yticks=[])
        ax.spines[["left", "right", "top"]].set_visible(False)
    figure.supxlabel("seconds", fontsize=9)
    return figure


def energy(unmixing: Unmixing) -> Figure:
    """How few atoms carry the energy, learned and in the DCT."""
    figure = _figure(5, 3.5)
    ax = figure.subplots()
    Y = to_frames(unmixing.mixture, unmixing.model.M)
    plots.plot_energy(ax, energy_curve(dct(unmixing.model.M), Y), color=plots.GREY, label="DCT")
    plots.plot_energy(ax, energy_curve(unmixing.Phi, Y), color=plots.ORANGE, label="learned")
    ax.legend(frameon=False)
    return figure


def cost(unmixing: Unmixing) -> Figure:
    """The best objective so far, at the target floor, against seconds of learning."""
    figure = _figure(5, 3.5)
    plots.plot_best(figure.subplots(), unmixing.history, color=plots.BLUE)
    return figure


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
