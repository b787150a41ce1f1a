"""A signal of any length through a known transform, block by block, in constant memory.

Given Φ and W, frames do not depend on one another: nothing is lost at the seams between blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import DTypeLike

from phinmf._types import Array
from phinmf.audio.frames import window
from phinmf.unmixing.learning import Learned
from phinmf.unmixing.masking import component_frames

FRAMES = 256  #: that are transformed at a time


class Separation:
    """The components of a signal as it comes in; afterwards their activations."""

    def __init__(
        self,
        model: Learned,
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
        self._before = np.zeros((self.hop, channels))  # the half frame before what comes next
        self._carry = np.zeros((model.K, self.hop, channels))  # what the last frame adds to it

    def __call__(
        self, blocks: Iterable[Array], frames: int = FRAMES
    ) -> Iterator[tuple[Array, Array]]:
        """Yield samples (n, channels) of the signal with those of its components (K, n, channels).

        All that comes in goes out, in blocks of another length.
        """
        hop, arrived, left = self.hop, 0, 0
        for block in in_blocks_of(frames * hop, blocks):
            first = arrived == 0
            arrived += len(block)
            padded = np.pad(block, ((0, -len(block) % hop), (0, 0)))
            signal, parts = self._next(padded)
            if first:  # the zeros before the signal
                signal, parts = signal[hop:], parts[:, hop:]
            left += len(signal)
            yield signal, parts
        signal, parts = self._next(np.zeros_like(self._before))
        rest = arrived - left
        yield signal[:rest], parts[:, :rest]

    def _next(self, block: Array) -> tuple[Array, Array]:
        """Take whole half frames; give back as many, the last one of before among them."""
        hop, model = self.hop, self.model
        halves = np.concatenate([self._before, block]).reshape(-1, hop, block.shape[1])
        frames = np.concatenate([halves[:-1], halves[1:]], axis=1)  # (N, M, channels)
        Y = (frames * self._window[:, None]).transpose(2, 1, 0).astype(self.dtype)
        H = model.activations(Y, self.n_threads)
        self.activations.append(H)
        parts = np.empty((model.K, *block.shape))
        for k, Yk in enumerate(component_frames(Y, *self._factors, H, model.floor)):
            windowed = Yk.transpose(2, 1, 0) * self._window[:, None]
            added = windowed[:, :hop]
            added[0] += self._carry[k]
            added[1:] += windowed[:-1, hop:]
            self._carry[k] = windowed[-1, hop:]
            parts[k] = added.reshape(block.shape)
        signal = halves[:-1].reshape(block.shape)
        self._before = halves[-1]
        return signal, parts


def in_blocks_of(size: int, blocks: Iterable[Array]) -> Iterator[Array]:
    """The same samples in blocks of this size; only the last may be shorter."""
    waiting: list[Array] = []
    n = 0
    for block in blocks:
        waiting.append(block)
        n += len(block)
        while n >= size:
            joined = np.concatenate(waiting)
            yield joined[:size]
            waiting, n = [joined[size:]], n - size
    if n:
        yield np.concatenate(waiting)
