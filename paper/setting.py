"""Shared by the experiments: time limits, data, and the files they write."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from music import SAMPLE_RATE, frames, guitar
from sklearn.exceptions import ConvergenceWarning

import phinmf

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))  # the machine and the timing are those of the benchmarks
from _common import (  # noqa: E402
    NOTES,
    RECORDING,
    SOURCES,
    commit,
    data_folder,
    interleaved,
    machine,
    median,
    sklearn_nmf,
    timed,
    write_csv,
)

__all__ = [
    "BUDGETS", "COLOURS", "NOTES", "RECORDING", "SOURCES", "Budget", "Setting", "axes_style",
    "commit", "data_folder", "interleaved", "machine", "median", "quietly", "sklearn_nmf",
    "sooner", "timed",
]  # fmt: skip

#: colours that colour-blind readers can distinguish (Okabe and Ito)
COLOURS = {
    "quasi-newton": "#0072B2",
    "projected-gradient": "#777777",
    "jacobi": "#009E73",
    "annealed lbfgs": "#D55E00",
    "as printed": "#CC79A7",
}

MEDIUM = {
    "method": phinmf.Method(anneal=phinmf.Anneal(length=100, sample=6), n_iter_nmf=8),
    "max_iter": 150,
}
PATIENT = {
    "method": phinmf.Method(anneal=phinmf.Anneal(length=300, sample=6), n_iter_nmf=8),
    "max_iter": 400, "tol": 5e-5,
}  # fmt: skip


@dataclass(frozen=True)
class Budget:
    """Sizes, numbers and time limits; one preset for each length of run."""

    synthetic: tuple[tuple[int, int, float], ...]  #: of Fig. 1: M, seeds, seconds for a solver
    M: int  #: window of the recording
    excerpt: float | None  #: seconds of a recording that are used; None is all of it
    solver_seconds: float  #: for one solver in Fig. 2
    paper_seconds: float  #: for one fit by the paper's method in Fig. 3
    starts: int  #: random starts of Fig. 3b
    groups: int  #: consensus transforms that are compared
    consensus: int  #: starts of each of them
    medium: dict[str, Any]  #: how each of these is run
    patient: dict[str, Any]  #: how the long annealed fit is run
    repeats: int  #: of timings
    realisations: int  #: of the two notes
    note_seeds: int  #: for each of them
    few_atoms: tuple[int, ...]  #: numbers of atoms that are learned instead of all
    K: int = 10
    sparsities: tuple[float, ...] = (0.29, 10.0, 150.0)


BUDGETS = {
    "full": Budget(
        synthetic=((10, 5, 2.0), (100, 5, 6.0), (500, 3, 20.0)), M=440, excerpt=None,
        solver_seconds=40, paper_seconds=70, starts=6, groups=4, consensus=7,
        medium=MEDIUM, patient=PATIENT, repeats=3,
        realisations=10, note_seeds=3,
        few_atoms=(50, 90, 120, 195, 270, 350),
    ),
    "quick": Budget(
        synthetic=((10, 3, 0.5), (100, 2, 1.0), (500, 1, 3.0)), M=220, excerpt=20.0,
        solver_seconds=2, paper_seconds=3, starts=3, groups=2, consensus=3,
        medium={}, patient={}, repeats=1,
        realisations=2, note_seeds=1,
        few_atoms=(50, 95),
    ),
    "tiny": Budget(
        synthetic=((10, 2, 0.1), (20, 2, 0.1)), M=64, excerpt=4.0,
        solver_seconds=0.2, paper_seconds=0.2, starts=2, groups=2, consensus=2,
        medium={}, patient={}, repeats=1,
        realisations=1, note_seeds=1,
        few_atoms=(16, 40),
    ),
}  # fmt: skip


@dataclass
class Setting:
    """What an experiment reads, how long it may take and where it writes."""

    budget: Budget
    output: Path  #: folder of the files
    mark: str = ""  #: why the next files cannot be compared with the paper
    fits: dict[Any, phinmf.Result] = field(default_factory=dict)

    @cached_property
    def recording(self) -> np.ndarray:
        """Frames of the paper's recording, or of music of its length."""
        folder = data_folder(RECORDING)
        y, rate = soundfile.read(folder / RECORDING) if folder else guitar(108.09)
        return frames(y, rate, self.budget.excerpt, SAMPLE_RATE, self.budget.M)

    def fit(
        self, how: dict[str, Any], Y: np.ndarray | None = None, name: str = "recording", **more: Any
    ) -> phinmf.Result:
        """TL-NMF from a random start, at the paper's floor; cached for several figures."""
        Y = self.recording if Y is None else Y
        options = {
            "floor": phinmf.PAPER["floor"],
            "init": "random",
            "sparsity": 150.0,
            "random_state": 0,
        }
        options |= {**how, **more}
        key = name, repr(sorted(options.items(), key=lambda item: item[0]))
        if key not in self.fits:
            self.fits[key] = quietly(phinmf.tl_nmf, Y, self.budget.K, **options)
        return self.fits[key]

    @cached_property
    def long_paper(self) -> dict[str, Any]:
        """The paper's method with as many iterations as the budget allows.

        Single precision and Cayley steps, which agree with exp to second order, make its
        iterations several times cheaper and change nothing else.
        """
        from phinmf.solvers import QuasiNewton

        limit = {"max_time": self.budget.paper_seconds, "max_iter": 100_000, "tol": 1e-5}
        return {**phinmf.PAPER, "solver": QuasiNewton(retraction="cayley"), **limit}

    def csv(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Write rows, machine and commit in the first line."""
        write_csv(name, rows, self.mark, self.output)

    def save(self, figure: Figure, name: str) -> None:
        """Write a picture."""
        if self.mark:
            figure.suptitle(self.mark, fontsize=8)
        figure.savefig(self.output / f"{name}.png", dpi=110)


def quietly(work: Any, *args: Any, **how: Any) -> Any:
    """Run without the warning that a time limit came before convergence: the page says so.

    Ctrl-C makes a fit return what it has so far; that must not be measured.
    """
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        result = work(*args, **how)
    if getattr(result, "status", None) is phinmf.Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def axes_style(ax: Any, **what: Any) -> None:
    """Set labels and limits, without a frame around the axes."""
    ax.set(**what)
    ax.spines[["right", "top"]].set_visible(False)
    if what.get("xscale") == "log":
        low, high = ax.get_xlim()
        subs = (1.0,) if high / low > 60 else (1.0, 2.0, 5.0)
        ax.xaxis.set_major_locator(LogLocator(subs=subs))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())


def sooner(ratio: float) -> str:
    """By how much a level is reached sooner, in words; 0 stands for never."""
    return f"{ratio:.2g} times sooner" if ratio > 0 else "not at all within the limit"
