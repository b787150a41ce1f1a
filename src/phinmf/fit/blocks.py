"""Frames that arrive one after the other: cut into blocks of one size, and a sample of all of them.

* A block holds frames with sound only. Frames that do not fill a block wait in a `Queue`, so that
  nothing depends on how they were divided when they arrived.
* A `Window` is a random sample of constant size in which recent frames prevail. Every frame gets a
  random number when it arrives, drawn from Gumbel's distribution and growing with time, and those
  with the largest numbers stay. So frames stay with probabilities in proportion to what they count,
  which falls by the forget factor with every block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phinmf import arrays
from phinmf._types import Array, Indices
from phinmf.arrays.levels import levels
from phinmf.fit import scaling


@dataclass(frozen=True)
class Block:
    """Frames with sound, and what they weigh."""

    Y: Array  #: (C, M, n), in the units of the caller
    weights: Array | None  #: (n,), all positive, on the host; None: all are 1
    energy: float  #: Σ y², weighted

    @classmethod
    def of(cls, Y: Array, weights: Array | None = None) -> Block | None:
        """Leave out frames (C, M, n) that are exactly zero or of weight 0; None if all are."""
        level = levels(Y)
        audible = arrays.to_numpy(~level.silent)
        frames = np.flatnonzero(audible if weights is None else audible & (weights > 0))
        if not len(frames):
            return None
        weights = None if weights is None else weights[frames]
        energies = arrays.to_numpy(level.energies)[frames]
        energy = energies.sum() if weights is None else energies @ weights
        with np.errstate(over="ignore"):  # `check_scale` refuses an infinite one
            energy = float(np.ldexp(energy, 2 * level.exponent))
        return cls(arrays.take_frames(Y, frames), weights, energy)

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.Y.shape[2] if self.weights is None else self.weights.sum())

    def check_scale(self, scale: float) -> None:
        """Raise if powers of frames of this root mean square cannot be computed."""
        largest = scaling.largest_power(dtype := arrays.dtype_of(self.Y))
        if not 1 / largest < scale < largest:
            raise ValueError(
                f"the frames have root mean square {scale:.3g}, whose square leaves the range of"
                f" {dtype}: scale them nearer to 1"
            )


class Queue:
    """Frames (C, M, n) that have arrived, and their weights, until there are enough for a block."""

    def __init__(self, parts: list[tuple[Array, Array]] | None = None) -> None:
        self.parts = list(parts or [])

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return sum(Y.shape[2] for Y, _ in self.parts)

    def put(self, Y: Array, weights: Array | None = None) -> None:
        """Add frames; without weights each counts once."""
        self.parts.append((Y, np.ones(Y.shape[2]) if weights is None else weights))

    def take(self, size: int) -> tuple[Array, Array | None]:
        """Remove the first `size` frames, or all of fewer; return them and their weights."""
        first: list[tuple[Array, Array]] = []
        while size and self.parts:
            Y, weights = self.parts.pop(0)
            first.append((Y[:, :, :size], weights[:size]))
            if len(rest := weights[size:]):
                left = Y[:, :, size:]
                if len(rest) < size:  # do not keep the memory of all frames for a few
                    left = arrays.copied(left)
                self.parts.insert(0, (left, rest))
            size -= len(first[-1][1])
        xp = arrays.namespace(first[0][0])
        Y = first[0][0] if len(first) == 1 else xp.concat([part for part, _ in first], axis=2)
        weights = np.concatenate([w for _, w in first])
        return Y, None if (weights == 1).all() else weights


@dataclass(frozen=True)
class Window:
    """Frames in the order of time, and the random numbers that decide which of them stay."""

    Y: Array  #: (C, M, n), in the units of the caller
    weights: Array  #: (n,), on the host
    keys: Array  #: (n,): the random numbers, on the host
    births: Indices  #: (n,): the step in which each frame arrived, on the host

    @classmethod
    def of(cls, block: Block, step: int, clock: float, forget_factor: float, seed: int) -> Window:
        """Return the frames of a block that arrives in a step, after `clock` blocks."""
        n = block.Y.shape[2]
        numbers = np.random.default_rng([seed, step]).gumbel(size=n)
        weights = np.ones(n) if block.weights is None else block.weights
        keys = numbers - clock * np.log(forget_factor)
        return cls(block.Y, weights, keys, np.full(n, step))

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.keys)

    def plus(self, other: Window, size: int) -> Window:
        """Return the frames of both with the largest numbers, at most `size` of them."""
        xp = arrays.namespace(self.Y)
        keys = np.concatenate([self.keys, other.keys])
        largest = np.sort(np.argsort(-keys, kind="stable")[:size])
        return Window(
            arrays.take_frames(xp.concat([self.Y, other.Y], axis=2), largest),
            np.concatenate([self.weights, other.weights])[largest],
            keys[largest],
            np.concatenate([self.births, other.births])[largest],
        )

    def share_since(self, step: int) -> float:
        """Return the share of the frames that arrived after a step."""
        return float((self.births > step).mean())
