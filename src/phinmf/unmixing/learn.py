"""Learn the transform and the components of a recording, on as much of it as is needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array, Indices
from phinmf.audio.frames import frame_count, to_frames
from phinmf.audio.sources import Source
from phinmf.fit.automatic import AUTO
from phinmf.fit.devices import ComputeDevice
from phinmf.result import Callback, Status
from phinmf.unmixing import forecast
from phinmf.unmixing.budget import Budget
from phinmf.unmixing.fits import Fits
from phinmf.unmixing.forecast import Size
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.options import UnmixOptions, window_length

STRETCH = 64  #: consecutive frames that are read at a time
ENOUGH_FRAMES = 1024  #: at least, before frames are left out


def check_size(options: UnmixOptions, length: int, sample_rate: int) -> int:
    """Return the samples of a frame; refuse a window or a number of components that do not fit."""
    if options.n_components != AUTO:
        largest = most_components(options, length, sample_rate)
        why = " for this recording and window"
        checks.count("n_components", options.n_components, 1, largest, why)
    return window_length(options.window, sample_rate)


def most_components(options: UnmixOptions, length: int, sample_rate: int) -> int:
    """Return the largest number of components that fits a recording and a window."""
    M = window_length(options.window, sample_rate)
    return min(M, frame_count(length, M))


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
    K, rng = options.likely_components, checks.generator(options.seed)
    atoms = forecast.likely_atoms(options.n_atoms, M)
    frames_at_most = min(enough_frames(M, channels, atoms), frame_count(length, M))
    size = Size(M, frames_at_most, channels, K, atoms)
    solves = options.solver is not None
    learns = solves and budget.allows_transform(size)
    Y = frames
    if Y is None:
        n = options.learn_on or budget.frames(size, solves)
        Y = some_frames(source, M, max(n, 2 * K + STRETCH), rng)
        if not Y.any():
            raise ValueError(
                "the recording is silent: there is nothing to take apart; if it is only very"
                " quiet, scale it nearer to 1"
            )
    size = size._replace(N=Y.shape[2])
    place = ComputeDevice("frames", Y, options.device)
    with place.computing():
        seen = None
        if callback is not None:
            seen = lambda state: callback(place.for_callback(state))  # noqa: E731
        fits = Fits.of(place.take(Y), options, rng, seen)
        if options.n_components == AUTO:
            fits = fits.counted(budget.left())
            size = size._replace(K=fits.n_components)
        last = fits.nmf(max_time=budget.first(size, learns))
        told = replace(last, Phi=fits.Phi)
        if learns:
            told = fits.transform(last, budget.second(size))
            last = fits.nmf(told, budget.left(forecast.nmf_setup(size)))
        assert last.W is not None
        W = fits.pooled(last.W)
    out_of_time = solves and not learns
    return UnmixModel(
        Phi=arrays.to_numpy(told.Phi),
        W=arrays.to_numpy(W).astype(np.float64),
        scale=last.scale,
        floor=last.floor,
        sparsity=options.sparsity,
        sample_rate=source.sample_rate,
        history=told.history,
        stop_reason=(Status.MAX_TIME if out_of_time else told.status).value,
        n_atoms=told.n_atoms,
        energy=told.energy,
    )


def enough_frames(M: int, channels: int, atoms: int) -> int:
    """Return the number of frames beyond which learning from more of them gains nothing."""
    wanted = 4 * M if atoms == M else 8 * atoms
    return max(wanted // channels, ENOUGH_FRAMES)


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
