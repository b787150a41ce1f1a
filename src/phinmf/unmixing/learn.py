"""Learn the transform and the components of a recording, on as much of it as is needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from phinmf import arrays, checks
from phinmf._types import Array, Indices
from phinmf.audio.frames import frame_count, to_frames
from phinmf.audio.sources import Source
from phinmf.fit.automatic import AUTO
from phinmf.fit.devices import ComputeDevice
from phinmf.result import Callback, Status
from phinmf.unmixing.fits import Fits
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.options import UnmixOptions, window_length
from phinmf.unmixing.progress import LEARNING, Progress, no_progress
from phinmf.unmixing.time_limit import FEW_STEPS, FEWEST, FIRST, LAST, TimeLimit, measured

STRETCH = 64  #: consecutive frames that are read at a time
ENOUGH_FRAMES = 1024  #: at least, before frames are left out
USUAL_SHARE = 4  #: a quarter of the atoms usually holds the share of the energy that is learned


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
    progress: Progress = no_progress,
) -> UnmixModel:
    """Learn a model of a recording; the callback, if there is one, stops it by returning True."""
    progress(LEARNING, 0.0)
    limit = TimeLimit(options.max_time)
    M = check_size(options, source.length, source.sample_rate)
    K, rng = options.likely_components, checks.generator(options.seed)
    atoms = likely_atoms(options.n_atoms, M)
    n = min(enough_frames(M, source.channels, atoms), frame_count(source.length, M))
    learns = options.solver is not None
    pace = None
    if options.max_time is not None and options.device in (None, "cpu"):
        few = sampled_frames(source, M, max(FEWEST, 2 * K + STRETCH), np.random.default_rng(0))
        trial = Fits.of(few, options, np.random.default_rng(0))
        pace = measured(trial, options.max_time)
        n = max(min(FEWEST, n), pace.affordable_frames(options.max_time, n, learns))
    Y = sampled_frames(source, M, max(options.learn_on or n, 2 * K + STRETCH), rng)
    N = Y.shape[2]
    if pace is not None and learns:
        left = limit.left(1 - FIRST) or 0.0
        learns = pace.transform_steps(FEW_STEPS, N) < left
    reserved = pace.transform_steps(1, N) if pace is not None else 0.0
    place = ComputeDevice("frames", Y, options.device)
    with place.computing():
        on_place = None
        if callback is not None:
            on_place = lambda state: callback(place.for_callback(state))  # noqa: E731
        fits = Fits.of(place.take(Y), options, rng, on_place, progress)
        if options.n_components == AUTO:
            fits = fits.counted(limit.left())
        last = fits.nmf(max_time=limit.left(FIRST if learns else 1.0))
        learned = replace(last, Phi=fits.Phi)
        if learns:
            learned = fits.transform(last, limit.left(1 - LAST, reserved))
            last = fits.nmf(learned, limit.left())
        W = fits.pooled(last.W)
    out_of_time = options.solver is not None and not learns
    return UnmixModel(
        Phi=arrays.to_numpy(learned.Phi),
        W=arrays.to_numpy(W).astype(np.float64),
        scale=last.scale,
        floor=last.floor,
        sparsity=options.sparsity,
        sample_rate=source.sample_rate,
        history=learned.history,
        stop_reason=(Status.MAX_TIME if out_of_time else learned.status).value,
        n_atoms=learned.n_atoms,
        energy=learned.energy,
    )


def likely_atoms(n_atoms: int | float | None, M: int) -> int:
    """Return how many atoms are learned, as far as that can be said before frames are read."""
    if n_atoms is None:
        return M
    return min(n_atoms, M) if isinstance(n_atoms, int) else max(1, M // USUAL_SHARE)


def enough_frames(M: int, channels: int, atoms: int) -> int:
    """Return the number of frames beyond which learning from more of them gains nothing."""
    n = 4 * M if atoms == M else 8 * atoms
    return max(n // channels, ENOUGH_FRAMES)


def single(y: Array) -> Array:
    """Return samples in single precision, or raise if they are too large for it."""
    loudest = float(abs(y).max(initial=0))
    if float(np.finfo(np.float32).max) < loudest < np.inf:
        raise ValueError(f"the recording reaches {loudest:.3g}: scale it nearer to 1")
    return y.astype(np.float32)


def sampled_frames(source: Source, M: int, n_frames: int, rng: np.random.Generator) -> Array:
    """Return frames (channels, M, N) of the whole recording, or of stretches drawn at random.

    If all stretches that are drawn are silent, others are drawn from those that are not. Single
    precision is enough to learn from and takes half the memory.
    """
    hop = M // 2
    n = STRETCH * hop
    starts = np.arange(0, max(source.length - n, 1), n)
    number = max(1, n_frames // STRETCH)
    if n_frames >= frame_count(source.length, M) or number > len(starts):
        return audible_frames(to_frames(single(source.read(0, source.length)), M))

    def drawn(starts: Indices) -> Array:
        """Frames of some stretches without the first and last, which are half filled with zeros."""
        chosen = np.sort(rng.choice(starts, min(number, len(starts)), replace=False))
        stretches = (single(source.read(int(s), n)) for s in chosen)
        return np.concatenate([to_frames(y, M)[:, :, 1:-1] for y in stretches], axis=2)

    Y = drawn(starts)
    if not Y.any():
        audible = [s for s in starts if source.read(int(s), n).any()]
        Y = drawn(np.array(audible)) if audible else Y
    return audible_frames(Y)


def audible_frames(Y: Array) -> Array:
    """Return frames, or raise if all of them are silent."""
    if not Y.any():
        raise ValueError(
            "the recording is silent: there is nothing to take apart; if it is only very quiet,"
            " scale it nearer to 1"
        )
    return Y
