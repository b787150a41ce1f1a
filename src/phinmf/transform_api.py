"""Learn a transform alone, and convert the units of the paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Device, RandomState
from phinmf.algorithm.annealing import Anneal
from phinmf.algorithm.options import Options
from phinmf.divergences import Divergence, DivergenceName
from phinmf.engines import EngineName
from phinmf.fit import devices
from phinmf.fit.advice import advise
from phinmf.fit.options import fit_options
from phinmf.fit.transform_alone import TransformProblem
from phinmf.fit.verbose import print_end, printed
from phinmf.inits import Init, InitName
from phinmf.result import Callback, Result
from phinmf.solvers import Solver, SolverName


@devices.computed_on_device
def learn_transform(
    Y: ArrayLike,
    V_hat: ArrayLike,
    *,
    solver: SolverName | Solver = "lbfgs",
    init: InitName | Init | ArrayLike = "dct",
    divergence: DivergenceName | Divergence = "itakura-saito",
    n_atoms: int | float | None = None,
    floor: float = Options.floor,
    anneal: bool | Anneal | None = None,
    n_iter_transform: int = 5,
    max_iter: int = 200,
    max_time: float | None = None,
    tol: float = 1e-6,
    random_state: RandomState = None,
    callback: Callback | None = None,
    verbose: bool = False,
    engine: EngineName = "auto",
    device: Device = None,
    n_threads: int | None = None,
) -> Result:
    """Learn Φ alone, so that the power of ΦY fits a given model V̂: the paper's first experiments.

    Parameters
    ----------
    Y : array of shape (M, N) or (C, M, N)
        Frames.
    V_hat : array of shape (M, N)
        The model of |ΦY|², in the units of Y²; the floor is added to it.
    solver, init, divergence
        As in `tl_nmf`; the solver cannot be None.
    n_atoms : int or float, optional
        As in `tl_nmf`. The strongest rows of V̂ are fitted by the atoms that are learned, the others
        by the other eigenvectors, both by falling power.
    floor, anneal, n_iter_transform
        As in `tl_nmf`.
    max_iter : int
        Maximum number of outer iterations, of `n_iter_transform` solver steps each.
    max_time : float, optional
        As in `tl_nmf`.
    tol : float
        Stop when the gradient or the decrease of an outer iteration, both relative, is below.
    random_state, callback, verbose, engine, device, n_threads
        As in `tl_nmf`.

    Returns
    -------
    Result
        With W and H None; the penalty is 0.
    """
    if solver is None:
        raise ValueError("solver is None, which leaves Φ alone: name a solver to learn it")
    options = fit_options(
        solver=solver, init=init, divergence=divergence, sparsity=0.0, n_atoms=n_atoms, floor=floor,
        anneal=anneal, n_iter_nmf=0, n_iter_transform=n_iter_transform, nmf_exponent=1.0,
        max_iter=max_iter, max_time=max_time, tol=tol, engine=engine, n_threads=n_threads,
        for_nmf=False,
    )  # fmt: skip
    problem = TransformProblem.of(Y, V_hat, options)
    advise(problem.data.frames, problem.options)
    seen = printed("learn_transform", checks.function("callback", callback), verbose)
    result = problem.solve(random_state, seen)
    print_end("learn_transform", result, verbose)
    return result


def sparsity_from_lambda(lam: float, Y: ArrayLike, n_components: int) -> float:
    """Convert the paper's λ to the unit of `sparsity`.

    The paper weighs ‖H‖₁ by λM/K, which changes meaning with the level of the recording;
    ``sparsity`` is the same weight for a recording of unit power: λ (M/K) mean(Y²).

    Parameters
    ----------
    lam : float
        The paper's λ.
    Y : array of shape (M, N) or (C, M, N)
        Frames, not scaled.
    n_components : int
        Number K of components.

    Returns
    -------
    float
        The argument `sparsity` of `tl_nmf`.

    Examples
    --------
    >>> import numpy as np, phinmf
    >>> float(np.round(phinmf.sparsity_from_lambda(1.0, np.full((440, 20), 0.1), 10), 6))
    0.44
    """
    frames = checks.frames(Y)
    M = frames.shape[1]
    mean_power = float(arrays.namespace(frames).mean(arrays.cast(frames, np.float64) ** 2))
    K = checks.count("n_components", n_components, 1)
    return checks.number("lam", lam, 0) * M / K * mean_power
