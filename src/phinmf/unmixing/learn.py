"""Learn the transform and the components of a recording, on as much of it as is needed."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from phinmf import checks
from phinmf._types import AnyArray, Array, Indices
from phinmf.algorithm.annealing import Anneal
from phinmf.algorithm.group import Callback
from phinmf.api import tl_nmf
from phinmf.audio.frames import frame_count, to_frames
from phinmf.audio.sources import Source
from phinmf.linalg.manifold import dct, exactly_orthogonal
from phinmf.result import Result, Status
from phinmf.unmixing import forecast
from phinmf.unmixing.budget import Budget
from phinmf.unmixing.forecast import Size
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.options import UnmixOptions, window_length

STRETCH = 64  #: consecutive frames that are read at a time
ENOUGH_FRAMES = 512  #: at least, before frames are left out
#: A lower objective is not by itself a better separation: plain NMF in the DCT comes first, the
#: transform is learned from there, gently, and the factors once more in it (docs/separation.md).
NMF_ITERATIONS, NMF_TOL = 200, 1e-5  #: maximum, in a fixed transform
ANNEAL = Anneal(start=3e-4, length=6)
OUTER_ITERATIONS = 9  #: that learn the transform


def check_size(options: UnmixOptions, length: int, sample_rate: int) -> int:
    """Return the samples of a frame; refuse a window or a number of components that do not fit."""
    M = window_length(options.window, sample_rate)
    largest = min(M, frame_count(length, M))
    checks.count("n_components", options.n_components, 1, largest, " for this recording and window")
    return M


def learn(
    source: Source,
    options: UnmixOptions,
    callback: Callback | None = None,
    frames: AnyArray = None,
) -> UnmixModel:
    """Learn a model of a recording.

    If a dask array of all its frames is given as `frames`, it learns from all of them, where they
    are.
    """
    on_processor = frames is None and options.device in (None, "cpu")
    budget = Budget(options.max_time, options.n_threads, on_processor)
    length, channels = source.length, source.channels
    M = check_size(options, length, source.sample_rate)
    K, rng = options.n_components, checks.generator(options.seed)
    size = Size(M, min(enough_frames(M, channels), frame_count(length, M)), channels, K)
    learns = options.solver is not None and budget.allows_transform(size)
    Y = frames
    if Y is None:
        n = options.learn_on or budget.frames(size, learns)
        Y = some_frames(source, M, max(n, 2 * K + STRETCH), rng)
        if not Y.any():
            raise ValueError(
                "the recording is silent: there is nothing to take apart; if it is only very"
                " quiet, scale it nearer to 1"
            )
    size = size._replace(N=Y.shape[2])
    fit = partial(
        tl_nmf, Y, K, sparsity=options.sparsity, random_state=int(rng.integers(2**63)),
        n_threads=options.n_threads, device=options.device, callback=callback,
    )  # fmt: skip
    nmf = partial(fit, solver=None, max_iter=NMF_ITERATIONS, tol=NMF_TOL)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        result: Result = nmf(init=options.init, max_time=budget.first(size, learns))
        history, status = result.history, result.status
        if options.solver is not None and not learns:
            status = Status.MAX_TIME
        if learns:
            result = fit(
                solver=options.solver, init=result.Phi, W=result.W, H=result.H, anneal=ANNEAL,
                max_iter=OUTER_ITERATIONS, tol=0, max_time=budget.second(size),
            )  # fmt: skip
            history, status = result.history, result.status
            left = budget.left(forecast.nmf_setup(size))
            result = nmf(init=result.Phi, W=result.W, H=result.H, max_time=left)
    Phi = dct(M) if options.init == "dct" and not learns else result.Phi
    assert result.W is not None
    return UnmixModel(
        Phi=exactly_orthogonal(Phi, np.float64),
        W=result.W.astype(np.float64),
        scale=result.scale,
        floor=result.floor,
        sparsity=options.sparsity,
        sample_rate=source.sample_rate,
        history=history,
        stop_reason=status.value,
    )


def enough_frames(M: int, channels: int) -> int:
    """Return the number of frames beyond which learning from more of them gains nothing."""
    return max(4 * M // channels, ENOUGH_FRAMES)


def single(y: Array) -> Array:
    """Return samples in single precision, or raise if they are too large for it."""
    loudest = float(abs(y).max(initial=0))
    if float(np.finfo(np.float32).max) < loudest < np.inf:
        raise ValueError(f"the recording reaches {loudest:.3g}: scale it nearer to 1")
    return y.astype(np.float32)


def some_frames(source: Source, M: int, wanted: int, rng: np.random.Generator) -> Array:
    """Return frames (channels, M, N) of the whole recording, or of stretches drawn at random.

    If all stretches that are drawn are silent, others are drawn from those that are not. Single
    precision is enough to learn from and takes half the memory.
    """
    hop = M // 2
    n = STRETCH * hop
    starts = np.arange(0, max(source.length - n, 1), n)
    number = max(1, wanted // STRETCH)
    if wanted >= frame_count(source.length, M) or number > len(starts):
        return to_frames(single(source.read(0, source.length)), M)

    def drawn(starts: Indices) -> Array:
        """Frames of some stretches without the first and last, which are half filled with zeros."""
        chosen = np.sort(rng.choice(starts, min(number, len(starts)), replace=False))
        stretches = (single(source.read(int(s), n)) for s in chosen)
        return np.concatenate([to_frames(y, M)[:, :, 1:-1] for y in stretches], axis=2)

    Y = drawn(starts)
    if not Y.any():
        audible = [s for s in starts if source.read(int(s), n).any()]
        Y = drawn(np.array(audible)) if audible else Y
    return Y
