"""What a fit is asked to do: the options of Algorithm 1, the divergence, and where to compute."""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from phinmf import checks
from phinmf.algorithm.annealing import Anneal
from phinmf.algorithm.options import (
    Options,
    annealing_for,
    solver_named,
)
from phinmf.divergences import Divergence, DivergenceName, Penalty
from phinmf.engines import ENGINES, EngineName
from phinmf.fit.engine import divergence_of
from phinmf.fit.few_atoms import checked_atoms
from phinmf.inits import Init, InitName, init_of
from phinmf.solvers import Solver, SolverName


@dataclass(frozen=True)
class FitOptions:
    """The options of a fit, each checked once; they say nothing of the frames."""

    algorithm: Options
    divergence: Divergence
    init: Init
    n_atoms: int | float | None  #: how many are learned, or the share of the energy they hold
    engine: EngineName
    n_threads: int | None

    def __post_init__(self) -> None:
        checks.known("engine", self.engine, ["auto", *ENGINES])
        if self.n_atoms is not None and self.algorithm.solver is None:
            raise ValueError(
                f"n_atoms is {self.n_atoms}, but solver is None, which learns no atoms: leave"
                " n_atoms out, or name a solver"
            )
        if self.algorithm.penalty.smoothness and not self.divergence.smooth_updates:
            raise ValueError(
                f"smoothness is {self.algorithm.penalty.smoothness:g}, but the updates of"
                f" {self.divergence!r} cannot be combined with it: use a β-divergence with β from 0"
                " to 1 or 'gaussian', or leave smoothness out"
            )
        if self.n_threads is not None:
            object.__setattr__(self, "n_threads", checks.count("n_threads", self.n_threads, 1))

    @property
    def begins_coarse(self) -> bool:
        """Whether a run begins with few atoms; not if Φ starts from a given transform."""
        o = self.algorithm
        annealed = o.anneal is not None and o.anneal.start > o.floor and o.anneal.coarse > 0
        return bool(annealed and o.solver and o.max_iter > 0 and not self.init.all_atoms)

    def after(self, seconds: float) -> FitOptions:
        """The same with less time, if time is limited."""
        if self.algorithm.max_time is None:
            return self
        left = max(0.0, self.algorithm.max_time - seconds)
        return replace(self, algorithm=replace(self.algorithm, max_time=left))

    def keeping_Phi(self) -> FitOptions:
        """The same without a solver."""
        return replace(self, algorithm=replace(self.algorithm, solver=None), n_atoms=None)


def fit_options(
    *,
    solver: SolverName | Solver | None = "lbfgs",
    init: InitName | Init | ArrayLike = "dct",
    divergence: DivergenceName | Divergence = "itakura-saito",
    sparsity: float | None = None,
    smoothness: float = 0.0,
    floor: float = Options.floor,
    n_atoms: int | float | None = None,
    anneal: bool | Anneal | None = None,
    n_iter_nmf: int = Options.n_iter_nmf,
    n_iter_transform: int = Options.n_iter_transform,
    nmf_exponent: float = Options.nmf_exponent,
    max_iter: int = Options.max_iter,
    max_time: float | None = Options.max_time,
    tol: float = Options.tol,
    engine: EngineName = "auto",
    n_threads: int | None = None,
    for_nmf: bool = True,
) -> FitOptions:
    """Turn the arguments of `tl_nmf` into options: names become what they name.

    NMF needs a divergence that has an `nmf_split`.
    """
    chosen, measure = solver_named(solver), divergence_of(divergence, for_nmf)
    algorithm = Options(
        solver=chosen,
        anneal=annealing_for(anneal, chosen),
        penalty=penalty_for(measure, sparsity, smoothness),
        floor=floor,
        n_iter_nmf=n_iter_nmf,
        n_iter_transform=n_iter_transform,
        nmf_exponent=nmf_exponent,
        max_iter=max_iter,
        max_time=max_time,
        tol=tol,
    )
    exponent = min(algorithm.nmf_exponent, measure.max_exponent)
    algorithm = replace(algorithm, nmf_exponent=exponent)
    return FitOptions(algorithm, measure, init_of(init), checked_atoms(n_atoms), engine, n_threads)


def penalty_for(
    divergence: Divergence, sparsity: float | None = None, smoothness: float = 0.0
) -> Penalty:
    """Return the penalty of a fit; `sparsity` is that of the divergence by default."""
    return Penalty(divergence.default_sparsity if sparsity is None else sparsity, smoothness)
