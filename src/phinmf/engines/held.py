"""Activations that stay where the frames are until somebody needs the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from phinmf._types import Array


class HeldActivations:
    """The activations (K, N) of one moment, which an engine can go back to without a transfer.

    The engine keeps them until they are fetched or nothing refers to this object any more.
    """

    def __init__(self, shape: tuple[int, int], read: Callable[[HeldActivations], Array]) -> None:
        self.shape = shape
        self._read: Callable[[HeldActivations], Array] | None = read  #: refers to the engine
        self._array: Array | None = None

    @property
    def elsewhere(self) -> bool:
        """Whether the engine still has to keep them."""
        return self._array is None

    def fetch(self) -> Array:
        """Return the numbers; from now on they are here, and the engine can be freed."""
        if self._array is None:
            assert self._read is not None
            self._array = self._read(self)
            self._read = None
        return self._array


Activations: TypeAlias = Array | HeldActivations


def fetched(H: Activations) -> Array:
    """Return activations as an array."""
    return H.fetch() if isinstance(H, HeldActivations) else H
