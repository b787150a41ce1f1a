"""A random sample of all frames that were seen, of constant size, in which recent frames prevail.

Every frame gets a random number when it arrives, and those with the largest are kept. The number is
drawn from Gumbel's distribution and grows with time: then each kept frame is one of all frames
with a probability in proportion to its weight, which falls by the forget factor with every block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from phinmf._types import Array, Indices
from phinmf.arrays import namespace, take_frames


@dataclass(frozen=True)
class Window:
    """Frames with their activations, in the order of time, and the numbers they are kept by."""

    Y: Array  #: (C, M, n), as given
    H: Array  #: (K, n), in the units of Y²; (0, n) before anything is learned
    keys: Array  #: (n,), on the host
    births: Indices  #: (n,): the step in which each frame arrived, on the host

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.keys)

    def plus(self, other: Window, most: int) -> Window:
        """The frames of both with the largest numbers, at most so many."""
        xp = namespace(self.Y)
        keys = np.concatenate([self.keys, other.keys])
        kept = np.sort(np.argsort(-keys, kind="stable")[:most])
        return Window(
            take_frames(xp.concat([self.Y, other.Y], axis=2), kept),
            take_frames(xp.concat([self.H, other.H], axis=1), kept),
            keys[kept],
            np.concatenate([self.births, other.births])[kept],
        )

    def with_activations(self, H: Array) -> Window:
        """The same frames with other activations."""
        return replace(self, H=H)

    def share_since(self, step: int) -> float:
        """Share of the frames that arrived after a step."""
        return float((self.births > step).mean())


def keys_for(
    n: int, weights: Array | None, clock: float, forget_factor: float, seed: list[int]
) -> Array:
    """Random numbers of n frames that arrive at the same time; `clock` counts blocks."""
    drawn = np.random.default_rng(seed).gumbel(size=n) - clock * np.log(forget_factor)
    return drawn if weights is None else drawn + np.log(weights)
