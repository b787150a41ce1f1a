"""Short texts that identify arrays."""

from __future__ import annotations

import hashlib

import numpy as np

from phinmf import arrays
from phinmf._types import AnyArray, Array
from phinmf.arrays.levels import each
from phinmf.engines.compiled.summation import blocks_of


def digest(*contents: Array | None) -> str:
    """A short text that identifies the contents of arrays, on any device."""
    text = hashlib.blake2b(digest_size=12)
    for array in contents:
        if array is not None:
            array = arrays.to_numpy(array)
            text.update(f"{array.shape} {array.dtype}".encode())
            text.update(np.ascontiguousarray(array.T).data)
    return text.hexdigest()


def digest_of_frames(Y: AnyArray, weights: Array | None) -> str:
    """The same for frames (C, M, N), block by block: of any chunks, here or on a cluster."""
    text = hashlib.blake2b(digest(weights).encode(), digest_size=12)
    for block in each(digest, Y, blocks_of(Y.shape[2])):
        text.update(block.encode())
    return text.hexdigest()
