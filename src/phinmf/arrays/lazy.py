"""Dask arrays: what they must be like, and how dask is imported only when it is needed."""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any

import numpy as np

from phinmf._types import AnyArray
from phinmf.errors import InvalidType, InvalidValue, PackageError

HINT = 'pip install "phinmf[dask]"'


def is_lazy(Y: AnyArray) -> bool:
    """Whether this is a dask array, without importing dask."""
    return type(Y).__module__.startswith("dask.array")


def lazy_array(name: str, array: Any) -> Any:
    """Return a dask array as float32 or float64, like `checks.real_array` for arrays in memory."""
    if array.dtype.kind == "c":
        raise InvalidValue(f"{name} is complex, but real numbers are needed: pass {name}.real")
    if array.dtype.kind not in "fiub":
        raise InvalidType(f"{name} has dtype {array.dtype}, but real numbers are needed")
    if any(math.isnan(size) for sizes in array.chunks for size in sizes):
        raise InvalidValue(
            f"{name} is a dask array with chunks of unknown sizes, but the number of frames is"
            f" needed: call {name}.compute_chunk_sizes() first"
        )
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def unchunked(name: str, Y: AnyArray, frames: int) -> Any:
    """Return frames (C, M, N) chunked along N alone, from a dask array with this axis of frames."""
    sample_axis = Y.ndim - 2 if frames == Y.ndim - 1 else Y.ndim - 1
    if Y.numblocks[sample_axis] > 1:
        raise InvalidValue(
            f"{name} is a dask array whose frames of {Y.shape[sample_axis]} samples are cut into"
            f" chunks of {Y.chunksize[sample_axis]}, but a frame must be whole: call"
            f" {name}.rechunk({{{sample_axis}: -1, {frames}: 'auto'}})"
        )
    if frames != Y.ndim - 1:
        Y = Y.T
    if Y.ndim == 2:
        Y = Y[None]
    return Y if Y.numblocks[0] == 1 else Y.rechunk({0: -1})


def dask() -> Any:
    """Return the module ``dask``, with ``dask.array`` imported."""
    return extra("dask.array", "dask")


def distributed() -> Any:
    """Return the module ``distributed``, dask's clusters."""
    return extra("distributed", "distributed")


def extra(module: str, name: str) -> Any:
    """Import a module of an optional package and return the package."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise PackageError(f"{name} is needed for this and is not installed: {HINT}") from error
    return importlib.import_module(name)


def rows(X: AnyArray) -> Any:
    """Check a dask array of frames (n_frames, M), the shape that scikit-learn has, and return it.

    Its numbers are float32 or float64, and every frame is in one chunk.
    """
    X = lazy_array("X", X)
    if X.ndim != 2 or 0 in X.shape:
        raise InvalidValue(f"X has shape {X.shape}, but frames of shape (n_frames, M) are needed")
    unchunked("X", X, 0)
    return X


def like(H: Any, X: AnyArray) -> Any:
    """Return activations (n_frames, K) as a dask array with the chunks of the frames X."""
    return dask().array.from_array(H, chunks=(X.chunks[0], -1))


def current_client() -> Any:
    """Return the client of a cluster that dask would compute on now, or None."""
    distributed = sys.modules.get("distributed")
    chosen = dask().config.get("scheduler", None)
    if distributed is None or chosen not in (None, "distributed", "dask.distributed"):
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None
