"""Separate a recording of any length with a known model, block by block, in constant memory.

Given Φ and W, frames do not depend on each other: blocks give the same as the whole at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array
from phinmf.audio.frames import window
from phinmf.audio.sources import Source, in_blocks_of
from phinmf.unmixing.masks import component_frames
from phinmf.unmixing.model import UnmixModel

FRAMES = 256  #: that are transformed at a time


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
    progress: Callable[[float], object] = lambda share: None,
) -> Array:
    """Send a recording through a model into a sink; return the activations (K, N).

    `dtype` is the precision of the transform; `progress` is called with the share that is done.
    """
    separator, done = Separator(model, source.channels, n_threads, dtype), 0
    for signal, components in separator(source.blocks()):
        sink.write(signal, components)
        done += len(signal)
        progress(done / source.length)
    return np.concatenate(separator.activations, axis=1)


class Separator:
    """Splits a signal into components as it comes in; keeps their activations."""

    def __init__(
        self,
        model: UnmixModel,
        channels: int,
        n_threads: int | None = None,
        dtype: DTypeLike = np.float64,
    ) -> None:
        self.model = model
        self.n_threads = n_threads
        self.dtype = np.dtype(dtype)
        self._factors = model.Phi.astype(dtype), model.W.astype(dtype)
        self.hop = model.M // 2
        self.activations: list[Array] = []  #: (K, N) of each block
        self._window = window(model.M)
        self._before = np.zeros((self.hop, channels))  # the half frame before the next block
        self._carry = np.zeros((model.K, self.hop, channels))  # what the last frame adds to it

    def __call__(
        self, blocks: Iterable[Array], frames: int = FRAMES
    ) -> Iterator[tuple[Array, Array]]:
        """Yield samples (n, channels) of the signal with those of its components (K, n, channels).

        All samples that come in are yielded, in blocks of another length.
        """
        hop, arrived, yielded = self.hop, 0, 0
        for block in in_blocks_of(frames * hop, blocks):
            first = arrived == 0
            arrived += len(block)
            padded = np.pad(block, ((0, -len(block) % hop), (0, 0)))
            signal, components = self._next(padded)
            if first:  # without the zeros before the signal
                signal, components = signal[hop:], components[:, hop:]
            yielded += len(signal)
            yield signal, components
        signal, components = self._next(np.zeros_like(self._before))
        rest = arrived - yielded
        yield signal[:rest], components[:, :rest]

    def _next(self, block: Array) -> tuple[Array, Array]:
        """Take whole half frames and return as many: they begin with the last one of before."""
        hop, model = self.hop, self.model
        halves = np.concatenate([self._before, block]).reshape(-1, hop, block.shape[1])
        frames = np.concatenate([halves[:-1], halves[1:]], axis=1)  # (N, M, channels)
        Y = (frames * self._window[:, None]).transpose(2, 1, 0).astype(self.dtype)
        H = model.activations(Y, self.n_threads)
        self.activations.append(H)
        components = np.empty((model.K, *block.shape))
        for k, Yk in enumerate(component_frames(Y, *self._factors, H, model.floor)):
            windowed = Yk.transpose(2, 1, 0) * self._window[:, None]
            added = windowed[:, :hop]
            added[0] += self._carry[k]
            added[1:] += windowed[:-1, hop:]
            self._carry[k] = windowed[-1, hop:]
            components[k] = added.reshape(block.shape)
        signal = halves[:-1].reshape(block.shape)
        self._before = halves[-1]
        return signal, components
