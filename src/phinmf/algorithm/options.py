"""The options of Algorithm 1, for frames at unit power."""

from __future__ import annotations

from dataclasses import dataclass

from phinmf import checks
from phinmf.algorithm.annealing import Anneal
from phinmf.divergences import Divergence, Penalty
from phinmf.solvers import SOLVERS, Solver

DEFAULT_SPARSITY = Divergence.default_sparsity
DEFAULT_FLOOR = 1e-8


@dataclass(frozen=True)
class Options:
    """The checked options of Algorithm 1; `tl_nmf` explains each of them.

    The defaults of `tl_nmf` and `TLNMF` are those of this class.
    """

    solver: Solver | None
    anneal: Anneal | None
    penalty: Penalty = Penalty(DEFAULT_SPARSITY)  # noqa: RUF009 - frozen
    floor: float = DEFAULT_FLOOR
    n_iter_nmf: int = 3
    n_iter_transform: int = 2
    nmf_exponent: float = 1.0
    max_iter: int = 100
    max_time: float | None = None
    tol: float = 2e-4

    def __post_init__(self) -> None:
        if self.solver is not None and not isinstance(self.solver, Solver):
            raise TypeError(f"solver is {self.solver!r}, but a Solver or None is needed")
        if self.anneal is not None and not isinstance(self.anneal, Anneal):
            raise TypeError(f"anneal is {self.anneal!r}, but an Anneal or None is needed")
        if not isinstance(self.penalty, Penalty):
            raise TypeError(f"penalty is {self.penalty!r}, but a Penalty is needed")
        checked = {
            "floor": checks.number("floor", self.floor, 0),
            "n_iter_nmf": checks.count("n_iter_nmf", self.n_iter_nmf, 0),
            "n_iter_transform": checks.count("n_iter_transform", self.n_iter_transform, 1),
            "nmf_exponent": checks.number("nmf_exponent", self.nmf_exponent, 0, strict=True),
            "max_iter": checks.count("max_iter", self.max_iter, 0),
            "tol": checks.number("tol", self.tol, 0),
        }
        if self.max_time is not None:
            checked["max_time"] = checks.number("max_time", self.max_time, 0)
        if float(self.nmf_exponent) > 1:
            raise ValueError(
                f"nmf_exponent is {self.nmf_exponent}, but updates are monotone only up to 1: use 1"
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def solver_named(solver: str | Solver | None) -> Solver | None:
    """Return the registered solver of this name; an object is returned unchanged."""
    if solver is None or isinstance(solver, Solver):
        return solver
    return SOLVERS[checks.known("solver", solver, [*SOLVERS, None])]()


def annealing_for(anneal: bool | Anneal | None, solver: Solver | None) -> Anneal | None:
    """Return the annealing schedule; by default plain NMF has one, and the solvers that say so."""
    if isinstance(anneal, Anneal):
        return anneal
    if anneal is None:
        anneal = solver is None or solver.anneals_by_default
    return Anneal() if checks.known("anneal", anneal, (True, False)) else None
