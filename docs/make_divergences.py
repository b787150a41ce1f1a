"""Draw what β does: docs/images/divergences.png, from the built-in example.

Run it with ``python docs/make_divergences.py``.
"""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import energy_curve
from phinmf.audio.example import example
from phinmf.linalg.manifold import dct

mpl.use("Agg")
from matplotlib import pyplot as plt

M, K = 256, 8
BETAS = {
    "β = 0, Itakura–Saito": 0.0,
    "β = 0.5": 0.5,
    "β = 1, Kullback–Leibler": 1.0,
    "β = 2, Euclidean": 2.0,
}
COLOURS = ["#1b6ca8", "#2a9d8f", "#e9a03b", "#c8553d"]


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    Y = phinmf.to_frames(example().mixture, M)
    Y = Y / np.sqrt((Y**2).mean())
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    draw_costs(axes[0])
    draw_fits(axes[1], Y)
    draw_energies(axes[2], Y)
    figure.savefig(Path(__file__).parent / "images" / "divergences.png", dpi=110)


def draw_costs(axes: plt.Axes) -> None:
    """The cost of an entry that the model misses by a factor, at a loud and at a quiet level."""
    ratio = np.linspace(-15, 15, 201)
    for (name, beta), colour in zip(BETAS.items(), COLOURS, strict=True):
        for level, style in ((0.0, "-"), (-20.0, "--")):
            b = 10 ** (level / 10)
            cost = phinmf.Beta(beta).value(b * 10 ** (ratio / 10), b, 0.0)
            axes.plot(ratio, cost, style, color=colour, label=name if level == 0 else None)
    axes.set(
        yscale="log", ylim=(1e-5, 1e3), xlabel="power above its model (dB)",
        title="Cost of one entry\n(dashed: 20 dB quieter)",
    )  # fmt: skip
    axes.legend(fontsize=7, loc="upper left")


def draw_fits(axes: plt.Axes, Y: np.ndarray) -> None:
    """How far NMF in the DCT is from entries of each level."""
    V = (dct(M) @ Y) ** 2
    levels = 10 * np.log10(V + 1e-12)
    edges = np.arange(-60, 31, 5.0)
    for (name, beta), colour in zip(BETAS.items(), COLOURS, strict=True):
        how = {"solver": None, "method": phinmf.Method(anneal=False), "sparsity": 0,
               "random_state": 0, "max_iter": 200, "tol": 0}  # fmt: skip
        r = phinmf.tl_nmf(Y, K, divergence=phinmf.Beta(beta), **how)
        error = np.abs(10 * np.log10((r.W @ r.H + 1e-12) / (V + 1e-12)))
        middle = [
            np.median(error[(levels >= low) & (levels < high)])
            for low, high in itertools.pairwise(edges)
        ]
        axes.plot(edges[:-1] + 2.5, middle, color=colour, label=name)
    axes.set(
        xlabel="power of an entry (dB, 0 is the mean)", ylabel="median distance of the model (dB)",
        ylim=(0, 40), title="NMF in the DCT, no penalty",
    )  # fmt: skip


def draw_energies(axes: plt.Axes, Y: np.ndarray) -> None:
    """How much energy the strongest atoms of the learned transforms hold."""
    for (_, beta), colour in zip(BETAS.items(), COLOURS, strict=True):
        r = phinmf.tl_nmf(Y, K, divergence=phinmf.Beta(beta), random_state=0)
        axes.plot(np.arange(1, M + 1), 100 * energy_curve(r.Phi, Y), color=colour)
    curve = 100 * energy_curve(dct(M), Y)
    axes.plot(np.arange(1, M + 1), curve, ":", color="grey", label="DCT")
    axes.set(
        xlabel="number of atoms", ylabel="energy (%)", ylim=(0, 102),
        title="Learned transforms, default options",
    )  # fmt: skip
    axes.legend(fontsize=7, loc="lower right")


if __name__ == "__main__":
    main()
