"""Separate a recording of any length with a known model, block by block, in constant memory.

Given Φ and W, frames do not depend on each other: blocks give the same as the whole at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array
from phinmf.arrays.threads import parallel_map
from phinmf.audio.frames import window
from phinmf.audio.sources import Source, in_blocks_of
from phinmf.result.masks import component_rows
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.progress import SEPARATING, Progress, no_progress

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
) -> Array:
    """Send a recording through a model into a sink; return the activations (K, N).

    `dtype` is the precision of the transform.
    """
    separator, done = Separator(model, source.channels, n_threads, dtype), 0
    for signal, components in separator(source.blocks()):
        sink.write(signal, components)
        done += len(signal)
        progress(SEPARATING, done / source.length)
    return np.concatenate(separator.activations, axis=1)


class Separated(NamedTuple):
    """Some frames, taken apart."""

    signal: Array  #: (n + 1, M/2, channels): the half frames that they cover
    parts: Array  #: (K, n + 1, M/2, channels): first and last half lack what other frames add
    H: Array  #: (K, n): activations


class Separator:
    """Splits a signal into components as it comes in; keeps their activations.

    Each thread takes some frames apart; the bits do not depend on the number of threads.
    """

    def __init__(
        self,
        model: UnmixModel,
        channels: int,
        n_threads: int | None = None,
        dtype: DTypeLike = np.float64,
    ) -> None:
        self.model = model
        self.channels = channels
        self.n_threads = n_threads
        self.dtype = np.dtype(dtype)
        self._factors = model.Phi.astype(dtype), model.W.astype(dtype)
        self.hop = model.M // 2
        self.activations: list[Array] = []  #: (K, N) of each block
        self._window = window(model.M)

    def __call__(
        self, blocks: Iterable[Array], frames: int = FRAMES
    ) -> Iterator[tuple[Array, Array]]:
        """Yield samples (n, channels) of the signal with those of its components (K, n, channels).

        All samples that come in are yielded, in blocks of another length.
        """
        hop, left = self.hop, 0

        def counted() -> Iterator[Array]:
            nonlocal left
            for block in blocks:
                left += len(block)
                yield block

        zeros = hop  # before the signal
        carry: Array | float = 0.0  # what the frames before add to the first half
        halves = self._halves(in_blocks_of(frames * hop, counted()))
        for done in parallel_map(self._separated, halves, self.n_threads):
            self.activations.append(done.H)
            done.parts[:, 0] += carry
            carry = done.parts[:, -1]
            signal = done.signal[:-1].reshape(-1, self.channels)[zeros:][:left]
            parts = done.parts[:, :-1].reshape(self.model.K, -1, self.channels)[:, zeros:][:, :left]
            left -= len(signal)
            zeros = 0
            yield signal, parts

    def _halves(self, blocks: Iterable[Array]) -> Iterator[Array]:
        """Yield half frames (n + 1, M/2, channels) of the padded signal; ends overlap by one."""
        before = np.zeros((1, self.hop, self.channels))
        for block in blocks:
            padded = np.pad(block, ((0, -len(block) % self.hop), (0, 0)))
            halves = np.concatenate([before, padded.reshape(-1, *before.shape[1:])])
            before = halves[-1:]
            yield halves
        yield np.concatenate([before, np.zeros_like(before)])

    def _separated(self, halves: Array) -> Separated:
        """Take the frames apart that some half frames make."""
        hop, K, w = self.hop, self.model.K, self._window
        frames = np.concatenate([halves[:-1], halves[1:]], axis=1)  # (n, M, channels)
        Y = np.ascontiguousarray((frames * w[:, None]).transpose(2, 0, 1), self.dtype)
        parts = np.zeros((K, *halves.shape), self.dtype)
        H = self.model.activations(Y.transpose(0, 2, 1), 1)
        rows = component_rows(Y, *self._factors, H, self.model.floor)
        for part, Yk in zip(parts[:-1], rows, strict=False):  # the last one is not computed
            Yk *= w.astype(self.dtype)
            part[:-1] = Yk[..., :hop].transpose(1, 2, 0)
            part[1:] += Yk[..., hop:].transpose(1, 2, 0)
        # the last component is what the others leave of the windowed frames
        parts[-1] = halves
        parts[-1, 0] *= w[:hop, None] ** 2
        parts[-1, -1] *= w[hop:, None] ** 2
        parts[-1] -= parts[:-1].sum(axis=0)
        return Separated(halves, parts, H)
