"""Separate a recording of any length with a model, block by block, in constant memory.

Given Φ and W, frames do not depend on each other: blocks give the same as the whole at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array
from phinmf.arrays.threads import parallel_map
from phinmf.audio import Source, in_blocks_of
from phinmf.audio.frames import window
from phinmf.linalg.manifold import is_dft
from phinmf.result.masks import component_rows
from phinmf.unmixing.marks import Marks
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.progress import SEPARATING, Progress, no_progress, watched
from phinmf.unmixing.refine import MarkedFrames

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
    marked = None if marks is None else MarkedFrames(source, model, marks)
    blocks = watched(source.blocks(), source.length, SEPARATING, progress)
    H: list[Array] = []
    for signal, components, activations in separated(
        blocks, source.length, model, n_threads=n_threads, dtype=dtype, marked=marked
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
    marked: MarkedFrames | None = None,
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield samples (n, channels), their components (K, n, channels), and activations (K, N).

    All `length` samples that come in are yielded, in blocks of another size. Each thread takes some
    frames apart; the bits do not depend on the number of threads.
    """
    hop, K = model.M // 2, model.K
    factors, fourier = (model.Phi.astype(dtype), model.W.astype(dtype)), is_dft(model.Phi)

    def work(item: tuple[int, Array]) -> tuple[Array, Array, Array]:
        first, halves = item
        return halves, *apart(halves, model, *factors, fourier, first, marked)

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
    halves: Array,
    model: UnmixModel,
    Phi: Array,
    W: Array,
    fourier: bool,
    first: int = 0,
    marked: MarkedFrames | None = None,
) -> tuple[Array, Array]:
    """Take the frames apart that some half frames (n + 1, M/2, channels) make.

    The first of them has the number `first`; `marked` knows which have marks.
    Return the components (K, n + 1, M/2, channels), whose first and last half lack what other
    frames add, and the activations (K, n).
    """
    hop, dtype = model.M // 2, Phi.dtype
    w = window(model.M)
    frames = np.concatenate([halves[:-1], halves[1:]], axis=1)  # (n, M, channels)
    Y = np.ascontiguousarray((frames * w[:, None]).transpose(2, 0, 1), dtype)
    parts = np.zeros((model.K, *halves.shape), dtype)
    block = None if marked is None else marked.block(Y.transpose(0, 2, 1) / model.scale, first)
    if marked is None or block is None or block.A is None:
        H = model.activations(Y.transpose(0, 2, 1), 1)
        rows = component_rows(Y, Phi, W, H, model.floor, fourier)
    else:
        H = marked.activations(block)
        rows = marked.component_rows(block.A, Y, Phi, W, H)
    for part, Yk in zip(parts[:-1], rows, strict=False):  # the last one is not computed
        Yk *= w.astype(dtype)
        part[:-1] = Yk[..., :hop].transpose(1, 2, 0)
        part[1:] += Yk[..., hop:].transpose(1, 2, 0)
    # the last component is what the others leave of the windowed frames
    parts[-1] = halves
    parts[-1, 0] *= w[:hop, None] ** 2
    parts[-1, -1] *= w[hop:, None] ** 2
    parts[-1] -= parts[:-1].sum(axis=0)
    return parts, H
