"""Learn the transform and the components of a recording, on as much of it as is needed.

The number of frames does not depend on the time. A fit looks at the clock after each step, so a
limit on the seconds is exceeded by a step at most; where no time is left, the transform is kept.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from phinmf import arrays, checks
from phinmf._types import Array, Indices
from phinmf.algorithm.subspace import check_length
from phinmf.audio import Source
from phinmf.audio.frames import frame_count, to_frames
from phinmf.errors import InvalidValue
from phinmf.fit.automatic import AUTO
from phinmf.fit.devices import ComputeDevice
from phinmf.result import Callback
from phinmf.unmixing.fits import Fits
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.options import USUAL, UnmixOptions, window_length
from phinmf.unmixing.progress import LEARNING, Progress, no_progress
from phinmf.unmixing.references import Reference, check_number, groups_of

STRETCH = 64  #: consecutive frames that are read at a time
ENOUGH_FRAMES = 1024  #: at least, before frames are left out
USUAL_SHARE = 4  #: a quarter of the atoms usually holds the share of the energy that is learned
#: shares of the seconds left for NMF before and after the transform is learned
FIRST, LAST = 0.25, 0.15


def fitting(options: UnmixOptions, source: Source) -> UnmixOptions:
    """Return options with a number of components, or "auto", for a recording.

    Refuse a window and numbers of atoms and components that do not fit it; the usual number of
    components is less if the recording is too short for it.
    """
    M, K = window_length(options.window, source.sample_rate), options.n_components
    check_length(options.n_atoms, M)
    most = min(M // 2 if options.pairs else M, frame_count(source.length, M))
    if K is None:
        return replace(options, n_components=max(1, min(USUAL, most)))
    if K != AUTO:
        checks.count("n_components", K, 1, most, " for this recording and window")
    return options


def learn(
    source: Source,
    options: UnmixOptions,
    callback: Callback | None = None,
    progress: Progress = no_progress,
    references: Sequence[Reference] = (),
) -> UnmixModel:
    """Learn a model of a recording; the callback, if there is one, stops it by returning True.

    The first components are those of references, each of which is a group of the model.
    """
    progress(LEARNING, 0.0)
    limit = TimeLimit(options.max_time)
    options = fitting(options, source)
    M, rng = window_length(options.window, source.sample_rate), checks.generator(options.seed)
    n = options.learn_on or enough_frames(M, source.channels, options.n_atoms)
    Y = sampled_frames(source, M, max(n, 2 * options.likely_components + STRETCH), rng)
    learns = options.solver is not None
    place = ComputeDevice("frames", Y, options.device)
    with place.computing():
        fits = Fits.of(place, options, rng, callback, progress)
        if options.n_components == AUTO:
            fits = fits.counted(limit.left())
        check_number(references, fits.n_components)
        groups = groups_of(references, fits.n_components)
        columns = [
            dictionary(reference.source, fits, len(group.components), limit.left(FIRST))
            for reference, group in zip(references, groups, strict=True)
        ]
        W = np.concatenate(columns, axis=1) if columns else None
        last = fits.nmf(max_time=limit.left(FIRST if learns else 1.0), W=W)
        learned = replace(last, Phi=fits.Phi)
        if learns and limit.left() != 0:
            learned = fits.transform(last, limit.left(1 - LAST))
            last = fits.nmf(learned, limit.left())
        W = fits.pooled(last.W)
    return UnmixModel(
        Phi=arrays.to_numpy(learned.Phi),
        W=arrays.to_numpy(W).astype(np.float64),
        scale=last.scale,
        floor=last.floor,
        sparsity=options.sparsity,
        sample_rate=source.sample_rate,
        history=learned.history,
        stop_reason=learned.status.value,
        n_atoms=learned.n_atoms,
        energy=learned.energy,
        groups=tuple(groups),
    )


def dictionary(source: Source, fits: Fits, K: int, max_time: float | None) -> Array:
    """Return K columns of W (P, K) that are learned from a sound alone, in the same transform."""
    M, rng = fits.data.M, np.random.default_rng(fits.seed)
    options = replace(fits.options, n_components=K)
    n = options.learn_on or enough_frames(M, source.channels, options.n_atoms)
    Y = sampled_frames(source, M, max(n, 2 * K + STRETCH), rng)
    place, Phi = ComputeDevice("frames", Y, options.device), arrays.to_numpy(fits.Phi)
    alone = Fits.of(place, options, rng, fits.callback, fits.progress, Phi)
    return arrays.to_numpy(alone.nmf(max_time=max_time).W)


def enough_frames(M: int, channels: int, n_atoms: int | float | None) -> int:
    """Return the number of frames beyond which learning from more of them gains nothing."""
    if isinstance(n_atoms, float):
        n_atoms = max(1, M // USUAL_SHARE)
    n = 4 * M if n_atoms is None or n_atoms >= M else 8 * n_atoms
    return max(n // channels, ENOUGH_FRAMES)


def sampled_frames(source: Source, M: int, n_frames: int, rng: np.random.Generator) -> Array:
    """Return frames (channels, M, N) of the whole recording, or of stretches drawn at random.

    If all stretches that are drawn are silent, others are drawn from those that are not. Single
    precision is enough to learn from and takes half the memory.
    """
    n = STRETCH * M // 2
    starts = np.arange(0, max(source.length - n, 1), n)
    number = max(1, n_frames // STRETCH)

    def frames(start: int, n: int) -> Array:
        y = source.read(start, n)
        loudest = float(abs(y).max(initial=0))
        if float(np.finfo(np.float32).max) < loudest < np.inf:
            raise InvalidValue(f"the recording reaches {loudest:.3g}: scale it nearer to 1")
        return to_frames(y.astype(np.float32), M)

    def drawn(starts: Indices) -> Array:
        """Frames of some stretches without the first and last, which are half filled with zeros."""
        chosen = np.sort(rng.choice(starts, min(number, len(starts)), replace=False))
        return np.concatenate([frames(int(s), n)[:, :, 1:-1] for s in chosen], axis=2)

    if n_frames >= frame_count(source.length, M) or number > len(starts):
        Y = frames(0, source.length)
    else:
        Y = drawn(starts)
        if not Y.any():
            audible = [s for s in starts if source.read(int(s), n).any()]
            Y = drawn(np.array(audible)) if audible else Y
    if not Y.any():
        raise InvalidValue(
            "the recording is silent: there is nothing to take apart; if it is only very quiet,"
            " scale it nearer to 1"
        )
    return Y


class TimeLimit:
    """The seconds that learning may take from now on; None is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self.ends = None if seconds is None else time.perf_counter() + seconds

    def left(self, share: float = 1.0) -> float | None:
        """Return a share of the seconds that are left; None: no limit."""
        return None if self.ends is None else share * max(0.0, self.ends - time.perf_counter())
