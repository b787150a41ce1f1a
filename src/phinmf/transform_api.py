"""Learn a transform alone, and convert the units of the paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Device, RandomState
from phinmf.algorithm.options import Method, Options, method_of
from phinmf.divergences import Divergence, DivergenceName
from phinmf.engines import EngineName
from phinmf.fit import devices
from phinmf.fit.advice import advise
from phinmf.fit.data import data_of
from phinmf.fit.restarts import print_end, printed
from phinmf.fit.transform_alone import learned_transform, model_of_power
from phinmf.inits import Init, InitName
from phinmf.result import Callback, Result
from phinmf.solvers import Solver, SolverName


@devices.computed_on_device
def learn_transform(
    Y: ArrayLike,
    V_hat: ArrayLike,
    *,
    solver: SolverName | Solver = "lbfgs",
    init: InitName | Init | ArrayLike = Options.init,
    divergence: DivergenceName | Divergence = Options.divergence,
    n_atoms: int | float | None = Options.n_atoms,
    floor: float = Options.floor,
    method: Method = Method(n_iter_transform=5),  # noqa: B008 - frozen
    max_iter: int = 200,
    max_time: float | None = Options.max_time,
    tol: float = 1e-6,
    random_state: RandomState = None,
    callback: Callback | None = None,
    verbose: bool = False,
    engine: EngineName = Options.engine,
    device: Device = Options.device,
    n_threads: int | None = Options.n_threads,
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
    floor
        As in `tl_nmf`.
    method : Method
        As in `tl_nmf`, but five solver steps in each outer iteration, and no NMF.
    max_iter : int
        Maximum number of outer iterations.
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
    options = Options(
        solver=solver, init=init, divergence=divergence, sparsity=0.0, n_atoms=n_atoms, floor=floor,
        method=replace(method_of("method", method), n_iter_nmf=0), max_iter=max_iter,
        max_time=max_time, tol=tol, engine=engine, device=device, n_threads=n_threads,
    )  # fmt: skip
    data = data_of(checks.frames(Y), options, may_merge=False)
    model = model_of_power(V_hat, data, options.floor)
    advise(data.frames, options)
    callback = checks.function("callback", callback)
    if verbose:
        callback = printed("learn_transform", callback)
    result = learned_transform(data, model, options, random_state, callback)
    if verbose:
        print_end("learn_transform", result)
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
