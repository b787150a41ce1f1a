"""Separate a recording of any length with a model, block by block, in constant memory.

Given Φ and W, frames do not depend on each other: blocks give the same as the whole at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array
from phinmf.arrays.threads import parallel_map
from phinmf.audio import Source, in_blocks_of
from phinmf.audio.frames import window
from phinmf.linalg.manifold import is_dft
from phinmf.result.masks import component_rows
from phinmf.unmixing.marks import Gains, Marks
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.progress import SEPARATING, Progress, no_progress, watched

FRAMES = 128  #: that a thread transforms at a time


class Sink(Protocol):
    """Takes the components of a recording as they are computed."""

    def write(self, signal: Array, components: Array) -> None:
        """Take the next samples (n, channels) and their components (K, n, channels)."""


class ArraySink:
    """Collects the components in one array."""

    def __init__(self, K: int, source: Source, dtype: DTypeLike) -> None:
        self.components: Array = np.empty((K, source.length, source.channels), dtype)
        self.length = 0  #: samples written

    def write(self, signal: Array, components: Array) -> None:
        """Append the next samples."""
        end = self.length + len(signal)
        self.components[:, self.length : end] = components
        self.length = end


def separate(
    source: Source,
    model: UnmixModel,
    sink: Sink,
    *,
    n_threads: int | None = None,
    dtype: DTypeLike = np.float64,
    progress: Progress = no_progress,
    marks: Marks | None = None,
) -> Array:
    """Send a recording through a model into a sink; return the activations (K, N).

    `dtype` is the precision of the transform. Marks are about groups of the model.
    """
    gains = None if marks is None else Gains.of(marks, model, source)
    blocks = watched(source.blocks(), source.length, SEPARATING, progress)
    H: list[Array] = []
    for signal, components, activations in separated(
        blocks, source.length, model, n_threads=n_threads, dtype=dtype, gains=gains
    ):
        sink.write(signal, components)
        H.append(activations)
    return np.concatenate(H, axis=1)


def separated(
    blocks: Iterable[Array],
    length: int,
    model: UnmixModel,
    *,
    n_threads: int | None = None,
    dtype: DTypeLike = np.float64,
    frames: int = FRAMES,
    gains: Gains | None = None,
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield samples (n, channels), their components (K, n, channels), and activations (K, N).

    All `length` samples that come in are yielded, in blocks of another size. Each thread takes some
    frames apart; the bits do not depend on the number of threads.
    """
    hop, K = model.M // 2, model.K
    Phi, fourier = model.Phi.astype(dtype), is_dft(model.Phi)

    def work(item: tuple[int, Array]) -> tuple[Array, Array, Array]:
        first, halves = item
        n = len(halves) - 1
        models = [(slice(n), model)] if gains is None else gains.models(model, first, n)
        return halves, *apart(halves, models, Phi, fourier)

    zeros = hop  # before the signal
    carry: Array | float = 0.0  # what the frames before add to the first half
    for halves, parts, H in parallel_map(work, half_frames(blocks, hop, frames), n_threads):
        parts[:, 0] += carry
        carry = parts[:, -1]
        channels = halves.shape[2]
        signal = halves[:-1].reshape(-1, channels)[zeros:][:length]
        components = parts[:, :-1].reshape(K, -1, channels)[:, zeros:][:, :length]
        length -= len(signal)
        zeros = 0
        yield signal, components, H


def half_frames(blocks: Iterable[Array], hop: int, frames: int) -> Iterator[tuple[int, Array]]:
    """Yield the number of the first frame, and half frames (n + 1, M/2, channels) of the signal.

    The signal is padded, and ends overlap by one.
    """
    before: Array | None = None
    first = 0
    for block in in_blocks_of(frames * hop, blocks):
        halves = np.pad(block, ((0, -len(block) % hop), (0, 0))).reshape(-1, hop, block.shape[1])
        halves = np.concatenate([np.zeros_like(halves[:1]) if before is None else before, halves])
        before = halves[-1:]
        yield first, halves
        first += len(halves) - 1
    if before is not None:
        yield first, np.concatenate([before, np.zeros_like(before)])


def apart(
    halves: Array, models: Sequence[tuple[slice, UnmixModel]], Phi: Array, fourier: bool
) -> tuple[Array, Array]:
    """Take the frames apart that some half frames (n + 1, M/2, channels) make.

    Each stretch of the frames has a model. Return the components (K, n + 1, M/2, channels), whose
    first and last half lack what other frames add, and the activations (K, n).
    """
    M, dtype = len(Phi), Phi.dtype
    hop, w = M // 2, window(M)
    frames = np.concatenate([halves[:-1], halves[1:]], axis=1)  # (n, M, channels)
    Y = np.ascontiguousarray((frames * w[:, None]).transpose(2, 0, 1), dtype)
    H = [model.activations(Y[:, run].transpose(0, 2, 1), 1) for run, model in models]
    rows = [
        component_rows(Y[:, run], Phi, model.W.astype(dtype), H_run, model.floor, fourier)
        for (run, model), H_run in zip(models, H, strict=True)
    ]
    parts = np.zeros((len(H[0]), *halves.shape), dtype)
    for part, stretches in zip(parts[:-1], zip(*rows, strict=True), strict=False):
        Yk = stretches[0] if len(stretches) == 1 else np.concatenate(stretches, axis=1)
        Yk *= w.astype(dtype)
        part[:-1] = Yk[..., :hop].transpose(1, 2, 0)
        part[1:] += Yk[..., hop:].transpose(1, 2, 0)
    # the last component, which was not computed, is what the others leave of the windowed frames
    parts[-1] = halves
    parts[-1, 0] *= w[:hop, None] ** 2
    parts[-1, -1] *= w[hop:, None] ** 2
    parts[-1] -= parts[:-1].sum(axis=0)
    return parts, np.concatenate(H, axis=1)
