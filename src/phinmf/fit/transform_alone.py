"""The transform alone, for a given model of the power: the paper's first experiments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf.algorithm.alternate import Callback
from phinmf.algorithm.annealing import Anneal
from phinmf.algorithm.model import Iterate, Model
from phinmf.arrays.levels import levels
from phinmf.divergences import Divergence
from phinmf.fit import assembly, devices
from phinmf.inits import Frames, Init, init_of
from phinmf.result import Result
from phinmf.solvers import Solver


@devices.door
def learn_transform(
    Y: ArrayLike,
    V_hat: ArrayLike,
    *,
    solver: str | Solver = "lbfgs",
    init: str | Init | ArrayLike = "dct",
    divergence: str | Divergence = "itakura-saito",
    floor: float = 1e-8,
    anneal: bool | Anneal | None = None,
    n_iter_transform: int = 5,
    max_iter: int = 200,
    max_time: float | None = None,
    tol: float = 1e-6,
    random_state: Any = None,
    callback: Callback | None = None,
    engine: str = "auto",
    device: Any = None,
    n_threads: int | None = None,
) -> Result:
    """Learn Φ alone, so that the power of ΦY fits a given model V̂: the paper's first experiments.

    Parameters
    ----------
    Y : array of shape (M, N) or (C, M, N)
        Frames.
    V_hat : array of shape (M, N)
        The model of |ΦY|², in the units of Y²; the floor is added to it.
    solver, init, divergence, floor, anneal, n_iter_transform, max_time, random_state, callback
        As in `tl_nmf`.
    max_iter : int
        Most outer iterations, of `n_iter_transform` solver steps each.
    tol : float
        Stop when the gradient or the decrease of an outer iteration, both relative, is below.
    engine, device, n_threads
        As in `tl_nmf`.

    Returns
    -------
    Result
        With W and H None; the penalty is 0.
    """
    frames = checks.frames(Y)
    _, M, N = frames.shape
    if solver is None:
        raise ValueError("solver is None, which leaves Φ alone: name a solver to learn it")
    rng_Phi, rng_frames = assembly.streams(random_state, 2)
    run = assembly.settings(
        frames.shape, solver, floor, anneal, max_iter, max_time, n_iter_transform, tol,
        mu=0.0, gamma=1.0, n_iter_nmf=0, callback=callback, rng=rng_frames,
    )  # fmt: skip
    known, dtype = checks.audible(levels(frames)), arrays.dtype_of(frames)
    checks.in_range(dtype, floor=run.schedule.target)
    checks.floor_of(run.schedule.target, known, dtype)
    frames, scale = checks.unit_power(frames, None, known)
    V_unit = arrays.like(checks.factor("V_hat", V_hat, (M, N), np.float64), frames) / scale**2
    V_unit = arrays.frames_contiguous(V_unit, dtype)
    if run.schedule.target == 0 and (zeros := int(arrays.namespace(V_unit).sum(V_unit == 0))):
        raise ValueError(
            f"floor is 0 but V_hat has {zeros} zeros, which cost infinitely"
            " much: set floor to a small number such as 1e-8"
        )
    Phi = arrays.like(init_of(init).start(Frames(frames), rng_Phi, dtype), frames)
    if run.schedule.target == 0:
        checks.entries(Phi, frames, learned=True)
    no_factors = arrays.zeros((M, 0), frames), arrays.zeros((0, N), frames)
    with assembly.engine_of(engine, frames, divergence, n_threads) as held:
        return assembly.solve(Model(held, 0.0, V_unit), Iterate(Phi, *no_factors), run, scale)
