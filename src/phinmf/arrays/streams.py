"""Frames that arrive one block after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from phinmf._types import Array
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.portable import is_tensor


@runtime_checkable
class SupportsArray(Protocol):
    """What NumPy can make an array of."""

    def __array__(self) -> Array:
        """Return the array."""


def is_stream(Y: Any) -> bool:
    """Whether Y is an iterable of blocks: a generator, an iterator, but no array.

    Lists and tuples are arrays, as everywhere in NumPy; ``iter`` makes a stream of them. Sparse
    matrices of SciPy can be iterated over, but are no streams either.
    """
    if hasattr(Y, "toarray"):
        return False
    known = (np.ndarray, list, tuple, str, bytes, dict)
    if isinstance(Y, known) or is_tensor(Y) or is_lazy(Y):
        return False
    return isinstance(Y, Iterable) and not isinstance(Y, SupportsArray)
