"""The paper's functions: transform-learning NMF, and the transform alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from phinmf import checks
from phinmf._types import Array
from phinmf.algorithm import Callback, Iterate, Settings, alternate, model, restore
from phinmf.divergences import DIVERGENCES, Divergence
from phinmf.engines import ENGINES, Engine
from phinmf.manifold import polish
from phinmf.nmf import flat_activations, normalise, penalty
from phinmf.result import Result, Status
from phinmf.solvers import SOLVERS, Solver

#: The paper's setting: ``tl_nmf(Y, 10, sparsity=150, **PAPER)``. The floor is not in the paper;
#: this one is as small as keeps every quantity finite in both precisions.
PAPER: dict[str, Any] = {
    "solver": "quasi-newton",
    "nmf_exponent": 0.5,
    "n_iter_nmf": 1,
    "n_iter_transform": 5,
    "anneal": False,
    "floor": 1e-16,
}


def tl_nmf(
    Y: ArrayLike,
    n_components: int,
    *,
    solver: str | Solver | None = "quasi-newton",
    init: str | ArrayLike = "dct",
    divergence: str | Divergence = "itakura-saito",
    sparsity: float = 10.0,
    floor: float = 1e-8,
    anneal: bool | None = None,
    n_iter_nmf: int = 3,
    n_iter_transform: int = 5,
    nmf_exponent: float = 1.0,
    max_iter: int = 300,
    max_time: float | None = None,
    tol: float = 1e-5,
    W: ArrayLike | None = None,
    H: ArrayLike | None = None,
    random_state: Any = None,
    callback: Callback | None = None,
    engine: str = "auto",
) -> Result:
    """Learn an orthogonal transform Φ together with the factors W and H of the power of ΦY.

    Minimises Σ d(v + ε | [WH] + ε) + μ Σ_k ‖w_k‖₁ ‖h_k‖₁ over orthogonal Φ and nonnegative W
    and H, where v = |ΦY|², by alternating multiplicative updates of the factors with steps of
    a solver on the orthogonal matrices (Ablin et al. 2018, Algorithm 1).

    Parameters
    ----------
    Y : array of shape (M, N) or (C, M, N)
        Frames, as made by `to_frames`: M samples each, N of them, on C channels that share Φ,
        W and H. float32 and float64 are kept, other numbers are converted to float64.
    n_components : int
        Number K of components, at most min(M, N).
    solver : {"quasi-newton", "projected-gradient", "jacobi"}, Solver or None
        How the transform is updated; None keeps it fixed: plain NMF in the given transform.
    init : {"dct", "random"} or array of shape (M, M)
        Where Φ starts.
    divergence : {"itakura-saito", "gaussian"}
        The measure d of fit.
    sparsity : float
        Weight of the penalty for a recording of unit power: μ = sparsity / mean(Y²).
        `sparsity_from_lambda` converts the paper's λ.
    floor : float
        ε relative to the mean power: ε = floor · mean(Y²). 1e-8 is -80 dB.
    anneal : bool, optional
        Lower the floor gradually. Not available in this version.
    n_iter_nmf, n_iter_transform : int
        NMF updates and transform steps (the paper's L) per outer iteration.
    nmf_exponent : float
        0.5 for majorisation-minimisation (the paper), 1 for the faster majorisation-equalisation.
    max_iter : int
        Most outer iterations.
    max_time : float, optional
        Seconds after which no further outer iteration is begun.
    tol : float
        Stop when an outer iteration lowers the objective by less than this share of it.
    W : array of shape (M, K), optional
        Where W starts; random if not given.
    H : array of shape (K, N), optional
        Where H starts, in the units of Y²; flat in each frame if not given.
    random_state : None, int, RandomState or Generator
        Seed of the random parts of the start.
    callback : callable, optional
        Called with a `State` after each outer iteration; stops the run by returning True.
    engine : {"auto", "array"}
        How frames are held.

    Returns
    -------
    Result
        Φ, W, H, the objective, the history, and why the run stopped. Ctrl-C returns the best
        result so far.

    Examples
    --------
    >>> import numpy as np, phinmf
    >>> y = np.sin(0.1 * np.arange(4000)) * np.exp(-0.001 * np.arange(4000))
    >>> result = phinmf.tl_nmf(phinmf.to_frames(y, 64), n_components=2, max_iter=5, tol=0)
    >>> result.Phi.shape, result.W.shape, result.H.shape
    ((64, 64), (64, 2), (2, 126))
    """
    frames = checks.frames(Y)
    _, M, N = frames.shape
    K = checks.count("n_components", n_components, 1, min(M, N), f" = min(M={M}, N={N})")
    if anneal:
        raise ValueError("anneal is True, but annealing is not in this version: leave it out")
    run = Settings(
        solver=_solver(solver, M),
        mu=checks.number("sparsity", sparsity, 0),
        floor=checks.number("floor", floor, 0),
        nmf_exponent=_exponent(nmf_exponent),
        n_iter_nmf=checks.count("n_iter_nmf", n_iter_nmf, 0),
        n_iter_transform=checks.count("n_iter_transform", n_iter_transform, 1),
        max_iter=checks.count("max_iter", max_iter, 0),
        max_time=None if max_time is None else checks.number("max_time", max_time, 0),
        tol=checks.number("tol", tol, 0),
        callback=callback,
    )
    frames, power = checks.unit_power(frames, run.floor)
    dtype = frames.dtype
    rng_Phi, rng_W = _streams(random_state, 2)
    Phi = checks.transform(init, M, rng_Phi, dtype)
    held = _engine(engine, frames, divergence)

    if W is None:
        W_start, s = normalise((0.5 + rng_W.random((M, K))).astype(dtype))[0], np.ones(K, dtype)
    else:
        W_start, s = normalise(checks.factor("W", W, (M, K), dtype))
    if H is None:
        H_start = flat_activations(held.powers(), M, K, run.mu).astype(dtype)
    else:
        H_start = checks.factor("H", H, (K, N), np.float64) / power
        H_start = (H_start * s[:, None]).astype(dtype)
    last, history, status = alternate(held, Iterate(Phi, W_start, H_start), run)

    last = Iterate(_exactly_orthogonal(last.Phi), last.W, last.H)
    restore(held, last)
    loss = model(held, last.W, run.floor, None).at().loss
    sparse = penalty(held, last.W, run.mu)
    _warn(status, run)
    return Result(
        Phi=last.Phi,
        W=last.W,
        H=last.H * dtype.type(power),
        objective=loss + sparse,
        divergence=loss,
        penalty=sparse,
        history=history,
        status=status,
        floor=run.floor * power,
    )


def learn_transform(
    Y: ArrayLike,
    V_hat: ArrayLike,
    *,
    solver: str | Solver = "quasi-newton",
    init: str | ArrayLike = "dct",
    divergence: str | Divergence = "itakura-saito",
    floor: float = 1e-8,
    n_iter_transform: int = 5,
    max_iter: int = 200,
    max_time: float | None = None,
    tol: float = 1e-6,
    random_state: Any = None,
    callback: Callback | None = None,
    engine: str = "auto",
) -> Result:
    """Learn Φ alone, so that the power of ΦY fits a given model V̂: the paper's first experiments.

    Parameters
    ----------
    Y : array of shape (M, N) or (C, M, N)
        Frames.
    V_hat : array of shape (M, N)
        The model of |ΦY|², in the units of Y²; the floor is added to it.
    solver, init, divergence, floor, n_iter_transform, max_time, random_state, callback, engine
        As in `tl_nmf`.
    max_iter : int
        Most outer iterations, of `n_iter_transform` solver steps each.
    tol : float
        Stop when the gradient or the decrease of an outer iteration, both relative, is below.

    Returns
    -------
    Result
        With W and H None; the penalty is 0.
    """
    frames = checks.frames(Y)
    _, M, N = frames.shape
    if solver is None:
        raise ValueError("solver is None, which leaves Φ alone: name a solver to learn it")
    run = Settings(
        solver=_solver(solver, M),
        mu=0.0,
        floor=checks.number("floor", floor, 0),
        nmf_exponent=1.0,
        n_iter_nmf=0,
        n_iter_transform=checks.count("n_iter_transform", n_iter_transform, 1),
        max_iter=checks.count("max_iter", max_iter, 0),
        max_time=None if max_time is None else checks.number("max_time", max_time, 0),
        tol=checks.number("tol", tol, 0),
        callback=callback,
    )
    frames, power = checks.unit_power(frames, run.floor)
    dtype = frames.dtype
    model_power = (checks.factor("V_hat", V_hat, (M, N), np.float64) / power).astype(dtype)
    if run.floor == 0 and not model_power.all():
        raise ValueError(
            f"floor is 0 but V_hat has {int((model_power == 0).sum())} zeros, which cost infinitely"
            " much: set floor to a small number such as 1e-8"
        )
    (rng,) = _streams(random_state, 1)
    held = _engine(engine, frames, divergence)
    none = np.zeros((M, 0), dtype), np.zeros((0, N), dtype)
    start = Iterate(checks.transform(init, M, rng, dtype), *none)
    last, history, status = alternate(held, start, run, model_power)
    last = Iterate(_exactly_orthogonal(last.Phi), *none)
    restore(held, last)
    loss = model(held, last.W, run.floor, model_power).at().loss
    _warn(status, run)
    return Result(last.Phi, None, None, loss, loss, 0.0, history, status, run.floor * power)


def sparsity_from_lambda(lam: float, Y: ArrayLike, n_components: int) -> float:
    """Convert the paper's λ to the unit of `sparsity`.

    The paper weighs ‖H‖₁ by λM/K, which changes meaning with the level of the recording;
    ``sparsity`` is the same weight for a recording of unit power: λ (M/K) mean(Y²).

    Examples
    --------
    >>> import numpy as np, phinmf
    >>> phinmf.sparsity_from_lambda(1.0, np.full((440, 20), 0.1), 10)
    0.44
    """
    frames = checks.frames(Y)
    M = frames.shape[1]
    mean_power = float(np.square(frames, dtype=np.float64).mean())
    return round(checks.number("lam", lam, 0) * M / n_components * mean_power, 15)


def _solver(solver: str | Solver | None, M: int) -> Solver | None:
    """Return an instance; a 1×1 transform has nothing to learn."""
    if isinstance(solver, str):
        solver = SOLVERS[checks.known("solver", solver, [*SOLVERS, None])]()
    elif solver is not None and not isinstance(solver, Solver):
        checks.known("solver", solver, [*SOLVERS, None])
    return solver if M > 1 else None


def _engine(name: str, Y: Array, divergence: str | Divergence) -> Engine:
    checks.known("engine", name, ["auto", *ENGINES])
    if isinstance(divergence, str):
        divergence = DIVERGENCES[checks.known("divergence", divergence, DIVERGENCES)]
    return ENGINES["array" if name == "auto" else name](Y, divergence)


def _exponent(gamma: float) -> float:
    value = checks.number("nmf_exponent", gamma, 0, strict=True)
    if value > 1:
        raise ValueError(f"nmf_exponent is {gamma}, but updates are monotone only up to 1: use 1")
    return value


def _streams(random_state: Any, n: int) -> list[np.random.Generator]:
    """Independent generators, so that giving one start does not change the others."""
    entropy = checks.generator(random_state).integers(2**63, size=4)
    return [np.random.default_rng(s) for s in np.random.SeedSequence(list(entropy)).spawn(n)]


def _exactly_orthogonal(Phi: Array) -> Array:
    """Polish in double precision, then go back to the precision of the data."""
    return polish(polish(Phi.astype(np.float64))).astype(Phi.dtype)


def _warn(status: Status, run: Settings) -> None:
    asked_for = (Status.CALLBACK, Status.INTERRUPTED)
    if run.tol > 0 and not status.converged and status not in asked_for:
        warnings.warn(
            f"not converged to tol={run.tol:g}; {status.value}", ConvergenceWarning, stacklevel=3
        )
