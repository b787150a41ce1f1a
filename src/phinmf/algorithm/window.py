"""A random sample of all frames that were seen, of constant size, in which recent frames prevail.

Every frame gets a random number when it arrives, and those with the largest are kept. The number is
drawn from Gumbel's distribution and grows with time. Then frames are kept with probabilities in
proportion to what they count, which falls by the forget factor with every block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phinmf._types import Array, Indices
from phinmf.arrays import namespace, take_frames


@dataclass(frozen=True)
class Window:
    """Frames in the order of time, and the numbers they are kept by."""

    Y: Array  #: (C, M, n), as given
    weights: Array  #: (n,), as given, on the host
    keys: Array  #: (n,), on the host
    births: Indices  #: (n,): the step in which each frame arrived, on the host

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.keys)

    def plus(self, other: Window, size: int) -> Window:
        """Return the frames of both with the largest numbers, at most `size` of them."""
        xp = namespace(self.Y)
        keys = np.concatenate([self.keys, other.keys])
        largest = np.sort(np.argsort(-keys, kind="stable")[:size])
        return Window(
            take_frames(xp.concat([self.Y, other.Y], axis=2), largest),
            np.concatenate([self.weights, other.weights])[largest],
            keys[largest],
            np.concatenate([self.births, other.births])[largest],
        )

    def share_since(self, step: int) -> float:
        """Share of the frames that arrived after a step."""
        return float((self.births > step).mean())


def keys_for(n: int, clock: float, forget_factor: float, seed: list[int]) -> Array:
    """Random numbers of n frames that arrive when the clock is at this number of blocks."""
    return np.random.default_rng(seed).gumbel(size=n) - clock * np.log(forget_factor)
