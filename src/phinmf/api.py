"""The paper's functions: transform-learning NMF, and the transform alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from phinmf import checks
from phinmf._types import Array
from phinmf.algorithm import Callback, Iterate, Model, Settings, alternate
from phinmf.annealing import Anneal, Schedule
from phinmf.divergences import DIVERGENCES, Divergence
from phinmf.engines import ENGINES, Engine
from phinmf.nmf import flat_activations, normalise, penalty
from phinmf.result import Result, Status
from phinmf.solvers import LBFGS, SOLVERS, Solver

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
    solver: str | Solver | None = "lbfgs",
    init: str | ArrayLike = "dct",
    divergence: str | Divergence = "itakura-saito",
    sparsity: float = 10.0,
    floor: float = 1e-8,
    anneal: bool | Anneal | None = None,
    n_iter_nmf: int = 3,
    n_iter_transform: int = 2,
    nmf_exponent: float = 1.0,
    max_iter: int = 100,
    max_time: float | None = None,
    tol: float = 2e-4,
    W: ArrayLike | None = None,
    H: ArrayLike | None = None,
    random_state: Any = None,
    callback: Callback | None = None,
    engine: str = "auto",
    n_threads: int | None = None,
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
    solver : {"lbfgs", "quasi-newton", "projected-gradient", "jacobi"}, Solver or None
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
    anneal : bool or Anneal, optional
        Begin at a high floor and lower it to `floor`, which leads to far better minima from any
        start. True with "lbfgs" unless said otherwise; an `Anneal` sets the schedule.
    n_iter_nmf, n_iter_transform : int
        NMF updates and transform steps (the paper's L) per outer iteration.
    nmf_exponent : float
        0.5 for majorisation-minimisation (the paper), 1 for the faster majorisation-equalisation.
    max_iter : int
        Most outer iterations; the annealing schedule takes 60 of them.
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
    engine : {"auto", "blocked", "array"}
        How frames are held: "blocked" is the fast one, "array" its readable reference.
    n_threads : int, optional
        Threads of the blocked engine; all available by default. The result does not depend on it.

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
    mu = checks.number("sparsity", sparsity, 0)
    rng_Phi, rng_W, rng_frames = _streams(random_state, 3)
    run = _settings(
        frames.shape, solver, floor, anneal, max_iter, max_time, n_iter_transform, tol,
        mu=mu, gamma=_exponent(nmf_exponent), n_iter_nmf=n_iter_nmf, callback=callback,
        rng=rng_frames,
    )  # fmt: skip
    frames, power = checks.unit_power(frames, run.schedule.target)
    dtype = frames.dtype
    Phi = checks.transform(init, M, rng_Phi, dtype)
    with _engine(engine, frames, divergence, n_threads) as held:
        if W is None:
            W_start = normalise((0.5 + rng_W.random((M, K))).astype(dtype))[0]
            s = np.ones(K, dtype)
        else:
            W_start, s = normalise(checks.factor("W", W, (M, K), dtype))
        if H is None:
            H_start = flat_activations(held.powers(), M, K, mu).astype(dtype)
        else:
            H_start = checks.factor("H", H, (K, N), np.float64) / power
            H_start = (H_start * s[:, None]).astype(dtype)
        return _solve(held, Iterate(Phi, W_start, H_start), run, None, power)


def learn_transform(
    Y: ArrayLike,
    V_hat: ArrayLike,
    *,
    solver: str | Solver = "lbfgs",
    init: str | ArrayLike = "dct",
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
    n_threads: int | None = None,
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
    rng_Phi, rng_frames = _streams(random_state, 2)
    run = _settings(
        frames.shape, solver, floor, anneal, max_iter, max_time, n_iter_transform, tol,
        mu=0.0, gamma=1.0, n_iter_nmf=0, callback=callback, rng=rng_frames,
    )  # fmt: skip
    frames, power = checks.unit_power(frames, run.schedule.target)
    dtype = frames.dtype
    V_unit = (checks.factor("V_hat", V_hat, (M, N), np.float64) / power).astype(dtype)
    if run.schedule.target == 0 and not V_unit.all():
        raise ValueError(
            f"floor is 0 but V_hat has {int((V_unit == 0).sum())} zeros, which cost infinitely"
            " much: set floor to a small number such as 1e-8"
        )
    Phi = checks.transform(init, M, rng_Phi, dtype)
    no_factors = np.zeros((M, 0), dtype), np.zeros((0, N), dtype)
    with _engine(engine, frames, divergence, n_threads) as held:
        return _solve(held, Iterate(Phi, *no_factors), run, V_unit, power)


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


def _settings(
    shape: tuple[int, int, int],
    solver: str | Solver | None,
    floor: float,
    anneal: bool | Anneal | None,
    max_iter: int,
    max_time: float | None,
    n_iter_transform: int,
    tol: float,
    *,
    mu: float,
    gamma: float,
    n_iter_nmf: int,
    callback: Callback | None,
    rng: np.random.Generator,
) -> Settings:
    """Check what both functions share."""
    chosen = _solver(solver, M=shape[1])
    target = checks.number("floor", floor, 0)
    max_iter = checks.count("max_iter", max_iter, 0)
    max_time = None if max_time is None else checks.number("max_time", max_time, 0)
    return Settings(
        solver=chosen,
        schedule=Schedule(_annealing(anneal, chosen), target, shape, max_iter, max_time),
        mu=mu,
        nmf_exponent=gamma,
        n_iter_nmf=checks.count("n_iter_nmf", n_iter_nmf, 0),
        n_iter_transform=checks.count("n_iter_transform", n_iter_transform, 1),
        max_iter=max_iter,
        max_time=max_time,
        tol=checks.number("tol", tol, 0),
        callback=callback,
        rng=rng,
    )


def _solve(
    engine: Engine, start: Iterate, run: Settings, V_hat: Array | None, power: float
) -> Result:
    """Run Algorithm 1 and hand its result back in the units of the data."""
    target = run.schedule.target
    last, history, status = alternate(engine, start, run, V_hat)
    model = Model(engine, run.mu, V_hat)
    last = model.restore(last, target)
    divergence, sparse = model.objective(last.W, target).loss(), penalty(engine, last.W, run.mu)
    asked_for = (Status.CALLBACK, Status.INTERRUPTED)
    if run.tol > 0 and not status.converged and status not in asked_for:
        message = f"not converged to tol={run.tol:g}; {status.value}"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return Result(
        Phi=last.Phi,
        W=last.W if V_hat is None else None,
        H=last.H * last.H.dtype.type(power) if V_hat is None else None,
        objective=divergence + sparse,
        divergence=divergence,
        penalty=sparse,
        history=history,
        status=status,
        floor=target * power,
    )


def _solver(solver: str | Solver | None, M: int) -> Solver | None:
    """Return an instance; a 1×1 transform has nothing to learn."""
    if isinstance(solver, str):
        solver = SOLVERS[checks.known("solver", solver, [*SOLVERS, None])]()
    elif solver is not None and not isinstance(solver, Solver):
        checks.known("solver", solver, [*SOLVERS, None])
    return solver if M > 1 else None


def _annealing(anneal: bool | Anneal | None, solver: Solver | None) -> Anneal | None:
    """Return the schedule; only L-BFGS anneals unasked."""
    if isinstance(anneal, Anneal):
        return anneal
    if anneal is None:
        anneal = isinstance(solver, LBFGS)
    return Anneal() if checks.known("anneal", anneal, (True, False)) else None


def _engine(name: str, Y: Array, divergence: str | Divergence, n_threads: int | None) -> Engine:
    checks.known("engine", name, ["auto", *ENGINES])
    if isinstance(divergence, str):
        divergence = DIVERGENCES[checks.known("divergence", divergence, DIVERGENCES)]
    if n_threads is not None:
        checks.count("n_threads", n_threads, 1)
    if name == "auto":
        name = "blocked" if hasattr(divergence, "log_share") else "array"
    return ENGINES[name](Y, divergence, n_threads)


def _exponent(gamma: float) -> float:
    value = checks.number("nmf_exponent", gamma, 0, strict=True)
    if value > 1:
        raise ValueError(f"nmf_exponent is {gamma}, but updates are monotone only up to 1: use 1")
    return value


def _streams(random_state: Any, n: int) -> list[np.random.Generator]:
    """Independent generators, so that giving one start does not change the others."""
    entropy = checks.generator(random_state).integers(2**63, size=4)
    return [np.random.default_rng(s) for s in np.random.SeedSequence(list(entropy)).spawn(n)]
