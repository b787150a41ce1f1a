"""Activations that stay where the frames are until somebody needs the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from phinmf._types import Array
from phinmf.arrays.cluster import Future


class LazyActivations:
    """H (K, N) of one moment on the workers of a cluster; `fetch` reads it."""

    def __init__(
        self, shape: tuple[int, int], futures: list[Future], gather: Callable[[list[Future]], Array]
    ) -> None:
        """Refer to futures of the shards' H, which nothing changes, and to how they are read."""
        self.shape = shape
        self.futures = futures
        self._gather = gather

    def fetch(self) -> Array:
        """Return the numbers."""
        return self._gather(self.futures)


Activations: TypeAlias = Array | LazyActivations


def as_array(H: Activations) -> Array:
    """Return activations (K, N) as an array."""
    return H.fetch() if isinstance(H, LazyActivations) else H
