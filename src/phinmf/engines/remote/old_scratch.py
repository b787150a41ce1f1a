"""Memory for intermediate results that lasts for one block, used again for the next one."""

from __future__ import annotations

import math
import threading

import numpy as np

from phinmf._types import Array, Precision


class Scratch:
    """Named arrays, different ones in each thread."""

    def __init__(self, dtype: Precision) -> None:
        self.dtype = dtype
        self._of_thread = threading.local()

    def array(self, name: str, *shape: int) -> Array:
        """Return an array of this thread; its content is lost with the next one of this name."""
        memory, size = self._of_thread.__dict__, math.prod(shape)
        if name not in memory or memory[name].size < size:
            memory[name] = np.empty(size, self.dtype)
        return np.asarray(memory[name][:size].reshape(shape))
