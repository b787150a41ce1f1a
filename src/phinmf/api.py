"""The public functions, in the letters of the paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import AnyArray, Components, Device, Fixed, RandomState
from phinmf.algorithm.options import Method, Options, method_of
from phinmf.divergences import Divergence, DivergenceName
from phinmf.engines import EngineName
from phinmf.errors import InvalidValue
from phinmf.fit import devices
from phinmf.fit.advice import advise, refuse_transposed
from phinmf.fit.checkpoint import Checkpoint, File
from phinmf.fit.problem import problem_of, transform_problem, warn_unless_converged
from phinmf.inits import Init, InitName
from phinmf.result import Callback, Result
from phinmf.solvers import Solver, SolverName

#: The paper's setting: ``tl_nmf(Y, 10, sparsity=150, **PAPER)``. The floor is not in the paper: at
#: a much smaller one descent stalls, at 1e-16 at the objective of the authors' code.
PAPER: dict[str, Any] = {
    "solver": "quasi-newton",
    "method": Method(anneal=False, n_iter_nmf=1, n_iter_transform=5, nmf_exponent=0.5),
    "floor": 1e-10,
}


@checks.translates_names
@devices.computed_on_device
def tl_nmf(
    Y: AnyArray,
    n_components: Components,
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
    W: ArrayLike | None = None,
    H: ArrayLike | None = None,
    fixed: Fixed = None,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
    callback: Callback | None = None,
    verbose: bool = False,
    checkpoint: File | Checkpoint | None = None,
    engine: EngineName = Options.engine,
    device: Device = Options.device,
    n_threads: int | None = Options.n_threads,
) -> Result:
    """Learn an orthogonal transform Φ together with the factors W and H of the power of ΦY.

    Minimises Σ d(v + ε | [WH] + ε) + μ Σ_k ‖w_k‖₁ ‖h_k‖₁ over orthogonal Φ and nonnegative W
    and H, where v = |ΦY|², by alternating multiplicative updates of the factors with steps of
    a solver on the orthogonal matrices (Ablin et al. 2018, Algorithm 1).

    Parameters
    ----------
    Y : array of shape (M, N) or (C, M, N)
        Frames, as made by `to_frames`: M samples each, N of them, on C channels that share Φ,
        W and H. float32 and float64 are kept, other numbers are converted to float64. A dask
        array, chunked along frames, is fitted where it is; `frames_from_files` makes one.
        `TLNMF.partial_fit` learns from frames that arrive block by block.
    n_components : int or "auto"
        Number K of components, at most min(M, N) unless W is given; of pairs min(M/2, N). "auto"
        counts them first: a short fit with many components comes before, and those that the others
        can replace are removed. They are counted in the DCT, the DFT or a given transform as it is,
        or, with another `init` and a solver, in a transform that is learned to count them: up to
        32, up to 24 if M > 128. The number is that of spectra of frames, and on recordings often
        more than that of sounds. The result is that of this number.
    solver : {"lbfgs", "quasi-newton", "projected-gradient", "jacobi"}, Solver or None
        How the transform is updated; None keeps it fixed: plain NMF in the given transform.
    init : {"dct", "dft", "random", "klt", "jd"}, Init or array of shape (M, M), optional
        Where Φ starts: from cosines, from cosines and sines, from a random orthogonal matrix, from
        the Karhunen–Loève transform of the frames (the eigenvectors of their weighted covariance,
        strongest first), from the joint diagonalisation of the covariances of eight stretches of
        the recording (frames must be in the order of time), or from a given orthogonal matrix. By
        default "dct", with `pairs` "dft".
    divergence : {"itakura-saito", "gaussian", "kullback-leibler", "euclidean"} or Divergence
        The measure d of fit; `Beta` is any β-divergence. Those with β = 0, ½, 1 and 2 and the
        Gaussian likelihood are compiled; any other instance of a subclass of `Divergence` is
        computed by the readable array engine. The objective is that of frames at unit power,
        which matters for β-divergences with β ≠ 0: d(sa|sb) = s^β d(a|b).
    sparsity : float, optional
        Weight of the penalty for a recording of unit power: μ = sparsity / mean(Y²) for
        Itakura–Saito and the Gaussian likelihood. The default is 10 for these, 10 (1-β) for
        `Beta` with β from 0 to 1, and 0 for larger β. `sparsity_from_lambda` converts the
        paper's λ.
    smoothness : float
        Weight of Σ_k Σ_n d(h_{k,n-1} | h_kn), the Itakura–Saito divergence between neighbouring
        activations (Févotte 2011), which makes them smooth. Y must hold frames in their order;
        activations are not smooth across frames of weight 0. None are sampled while the floor is
        high. All frames must fit into memory.
    n_atoms : int or float, optional
        Learn only so many atoms, inside the subspace that holds the most energy (the leading
        eigenvectors of the covariance of the frames); a float such as 0.999 is the share of the
        energy that they must hold. Φ stays an orthogonal M×M matrix: its other rows are the other
        eigenvectors. The cost grows with the square of the number of atoms. By default all. Of
        pairs an even number, rounded up.
    pairs : bool
        Let the atoms 2p and 2p + 1 share their power, so that the phase of a tone does not matter:
        W has M/2 rows, and M must be even. ``solver=None, pairs=True`` is NMF of the ordinary power
        spectrogram. The objective counts a pair twice, so `sparsity` keeps its meaning.
    floor : float
        ε relative to the mean power: ε = floor · mean(Y²). 1e-8 is -80 dB. At least 1.4e-12 in
        float32; 0 only in float64, where nothing may be exactly silent and, if Φ is learned, the
        frames must have rank M.
    method : Method, optional
        The inner working of the algorithm: annealing of the floor, NMF updates and transform steps
        per outer iteration, exponent of the updates. By default ``Method()``.
    max_iter : int
        Maximum number of outer iterations; the annealing schedule takes 32 of them.
    max_time : float, optional
        Seconds after which no further step is made; it is looked at after every step. 0 is a
        single outer iteration.
    tol : float
        Stop when an outer iteration lowers the objective by less than this share of it.
    W : array of shape (M, K), or (M/2, K) of pairs, optional
        Where W starts; random if not given, each column anywhere in the simplex. If it has fewer
        columns, the others are random.
    H : array of shape (K, N), optional
        Where H starts, in the units of Y²; flat in each frame if not given.
    fixed : str, sequence or dict, optional
        What stays as given: "Phi", "W", "H", or several of them. "W" is every given column;
        ``{"W": [0, 1]}`` names columns. Fixed columns keep the scale they are given in, and if H
        is fixed W is not normalised.
    sample_weight : array of shape (N,), optional
        How often each frame counts; the scale of the recording is weighted, too. If weights are not
        whole numbers, only their ratios matter, but for the unit of the objective, and no frames
        are sampled while the floor is high. Frames of weight 0 are left out of the fit; their
        activations are computed last. Frames that look transposed are refused unless weights, or 1
        for all of them, say which axis they have.
    random_state : None, int, RandomState or Generator
        Seed of the random parts of the start.
    callback : callable, optional
        Called with a `State` after each outer iteration; stops the run by returning True.
    verbose : bool
        Print a line to standard error after each outer iteration, and why the run stopped.
    checkpoint : path or Checkpoint, optional
        File to keep the state of the run in; a `Checkpoint` also says how often, and whether the
        run continues from there.
    engine : {"auto", "compiled", "array", "dask"}
        Where frames are: "compiled" is the fast one, with dask arrays within the memory that
        ``dask.config.set({"phinmf.memory": "2GB"})`` allows; "array" its readable reference, for
        tensors and for Jacobi's search, too; "dask" on the workers of the current
        ``distributed.Client``, with the bits of "compiled".
    device : str, optional
        Where to compute: "cuda", "cuda:1" or another device of PyTorch; by default where Y is. Y
        may be a tensor: Φ, W and H are then tensors on its device. An array of NumPy is moved to
        the device once, and the result is one of NumPy. Workers of a cluster compute on devices of
        their own. Random starts are drawn on the host: a seed means the same start everywhere.
    n_threads : int, optional
        Threads of the compiled engine; all available by default. The result does not depend on it.

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
    options = Options(
        solver=solver, init=init, divergence=divergence, sparsity=sparsity, smoothness=smoothness,
        n_atoms=n_atoms, pairs=pairs, floor=floor, method=method, max_iter=max_iter,
        max_time=max_time, tol=tol, engine=engine, device=device, n_threads=n_threads,
    )  # fmt: skip
    file = None if checkpoint is None else Checkpoint.of(checkpoint)
    callback = checks.function("callback", callback)
    frames = checks.frames(Y)
    refuse_transposed(frames, sample_weight)
    problem = problem_of(
        frames, n_components, options, W=W, H=H, fixed=fixed, sample_weight=sample_weight
    )
    advise(problem.data.frames, problem.options)
    result = problem.fit(random_state, callback, file, "tl_nmf" if verbose else None)
    warn_unless_converged(result.status, options.tol)
    return result


@devices.computed_on_device
def learn_transform(
    Y: ArrayLike,
    V_hat: ArrayLike,
    *,
    solver: SolverName | Solver = "lbfgs",
    init: InitName | Init | ArrayLike | None = Options.init,
    divergence: DivergenceName | Divergence = Options.divergence,
    pairs: bool = Options.pairs,
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
        The model of |ΦY|², in the units of Y²; the floor is added to it. (M/2, N) with pairs.
    solver, init, divergence
        As in `tl_nmf`; the solver cannot be None.
    pairs, floor
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
        raise InvalidValue("solver is None, which leaves Φ alone: name a solver to learn it")
    options = Options(
        solver=solver, init=init, divergence=divergence, sparsity=0.0, pairs=pairs, floor=floor,
        method=replace(method_of("method", method), n_iter_nmf=0), max_iter=max_iter,
        max_time=max_time, tol=tol, engine=engine, device=device, n_threads=n_threads,
    )  # fmt: skip
    problem = transform_problem(checks.frames(Y), V_hat, options)
    advise(problem.data.frames, options)
    callback = checks.function("callback", callback)
    result = problem.fit(random_state, callback, name="learn_transform" if verbose else None)
    warn_unless_converged(result.status, options.tol)
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
