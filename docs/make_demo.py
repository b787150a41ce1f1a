"""Draw the built-in example in the fixed and in the learned transform: docs/images/demo.png."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning

from phinmf._types import Array
from phinmf.analysis import atom_energies, atoms_for_energy, energy_curve
from phinmf.api import tl_nmf
from phinmf.audio.example import example
from phinmf.audio.frames import to_frames
from phinmf.divergences import Divergence
from phinmf.linalg.manifold import dct
from phinmf.report import plots
from phinmf.result import Result

WINDOW = 0.04  # seconds
COMPONENTS = 8
SPARSITY = Divergence.default_sparsity
PICTURE = Path(__file__).parent / "images" / "demo.png"


def main() -> None:
    """Fit the example in both transforms, print how they compare, and write the picture."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console()

    sound = example()
    M = 2 * round(WINDOW * sound.sample_rate / 2)
    Y = to_frames(sound.mixture, M)
    console.print(
        f"The built-in example: {', '.join(sound.stems)};"
        f" {len(sound.mixture) / sound.sample_rate:g} s at {sound.sample_rate} Hz,"
        f" {Y.shape[1]} frames of {M} samples, {COMPONENTS} components"
    )
    fit(Y, max_iter=2)  # compiles the kernels, so that this is not timed
    clock = time.perf_counter()
    fixed = fit(Y, solver=None)
    between = time.perf_counter()
    learned = fit(Y)
    end = time.perf_counter()

    table = Table(title="The same NMF in the DCT and in a learned transform")
    for heading in ("transform", "objective per entry", "atoms for 90 / 95 / 99 %", "seconds"):
        table.add_column(heading, justify="left" if heading == "transform" else "right")
    for name, result, took in (
        ("DCT", fixed, between - clock),
        ("learned", learned, end - between),
    ):
        atoms = " / ".join(str(n) for n in atoms_for_energy(result.Phi, Y))
        table.add_row(name, f"{result.objective / Y.size:.3f}", atoms, f"{took:.1f}")
    console.print(table)
    console.print(f"Learning {learned.status.value}.")

    draw(learned, fixed, Y, sound.sample_rate)
    console.print(f"Picture: {PICTURE}")


def fit(Y: Array, **options: Any) -> Result:
    """Call `tl_nmf` with the options of the demo; the status is printed, so nothing warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return tl_nmf(Y, COMPONENTS, sparsity=SPARSITY, random_state=0, **options)


def draw(learned: Result, fixed: Result, Y: Array, sample_rate: int) -> None:
    """Write a picture: the cost, the energy and the six strongest atoms."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=[1, 1.1])
    top, bottom = halves
    cost, energy = top.subplots(1, 2)
    plots.plot_best(cost, fixed.history, Y.size, color=plots.GREY, label="DCT, fixed")
    plots.plot_best(cost, learned.history, Y.size, color=plots.ORANGE, label="learned transform")
    cost.set_ylim(bottom=0)
    cost.set_title("a learned transform fits better")
    M = len(learned.Phi)
    plots.plot_energy(energy, energy_curve(dct(M), Y), color=plots.GREY, label="DCT")
    plots.plot_energy(energy, energy_curve(learned.Phi, Y), color=plots.ORANGE, label="learned")
    energy.set(xlim=(0, M // 4), title="and needs fewer atoms for the energy")
    for ax in (cost, energy):
        ax.legend(frameon=False)
        ax.spines[["right", "top"]].set_visible(False)
    bottom.suptitle("the six strongest learned atoms, with the frequency of their peak")
    strongest = atom_energies(learned.Phi, Y).argsort()[::-1][:6]
    for ax, atom in zip(bottom.subplots(2, 3, sharex=True).flat, strongest, strict=True):
        plots.plot_atom(ax, learned.Phi[atom], sample_rate, color=plots.BLUE, lw=1)
    bottom.supxlabel("milliseconds", fontsize=9)
    figure.savefig(PICTURE, dpi=120)


if __name__ == "__main__":
    main()
