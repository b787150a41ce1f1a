"""The parameters and the fitted attributes of `TLNMF`, with their types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from phinmf import checks
from phinmf._types import Array, Components, Device, Fixed, RandomState
from phinmf.algorithm.options import Method, Options
from phinmf.divergences import Divergence, DivergenceName
from phinmf.engines import EngineName
from phinmf.fit.checkpoint import Checkpoint, File
from phinmf.fit.online import Learner
from phinmf.inits import Init, InitName
from phinmf.result import Callback, History
from phinmf.solvers import Solver, SolverName

FORGET_FACTOR = 0.95
ALL = [field.name for field in fields(Options)]


class Parameters(BaseEstimator):
    """What a TLNMF holds: `__init__` stores parameters, `fit` and `partial_fit` set attributes."""

    components_: Array
    transform_matrix_: Array
    atom_energies_: Array
    reconstruction_err_: float
    objective_: float
    scale_: float
    floor_: float
    n_iter_: int
    history_: History
    stop_reason_: str
    converged_: bool
    objectives_: Array
    n_atoms_: int
    energy_: float
    n_steps_: int
    n_frames_seen_: int
    n_components_: int
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _learner: Learner | None = None  #: what the next `partial_fit` continues from

    @checks.translates_names
    def __init__(
        self,
        n_components: Components = 10,
        *,
        solver: SolverName | Solver | None = Options.solver,
        init: InitName | Init | ArrayLike | None = Options.init,
        divergence: DivergenceName | Divergence = Options.divergence,
        sparsity: float | None = Options.sparsity,
        smoothness: float = Options.smoothness,
        n_atoms: int | float | None = Options.n_atoms,
        pairs: bool = Options.pairs,
        floor: float = Options.floor,
        method: Method | None = Options.method,
        max_iter: int = Options.max_iter,
        max_time: float | None = Options.max_time,
        tol: float = Options.tol,
        components: ArrayLike | None = None,
        fixed: Fixed = None,
        warm_start: bool = False,
        forget_factor: float = FORGET_FACTOR,
        block_size: int | None = None,
        n_init: int = 1,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: bool = False,
        checkpoint: File | Checkpoint | None = None,
        engine: EngineName = Options.engine,
        device: Device = None,
        n_threads: int | None = Options.n_threads,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.init = init
        self.divergence = divergence
        self.sparsity = sparsity
        self.smoothness = smoothness
        self.n_atoms = n_atoms
        self.pairs = pairs
        self.floor = floor
        self.method = method
        self.max_iter = max_iter
        self.max_time = max_time
        self.tol = tol
        self.components = components
        self.fixed = fixed
        self.warm_start = warm_start
        self.forget_factor = forget_factor
        self.block_size = block_size
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.engine = engine
        self.device = device
        self.n_threads = n_threads

    @property
    def _is_fitted(self) -> bool:
        """Whether anything was learned."""
        return "components_" in vars(self)

    def _options(self, names: Iterable[str] = ALL) -> Options:
        """Return the checked options of a fit: there is a parameter for each of them."""
        return Options(**{name: getattr(self, name) for name in names})
