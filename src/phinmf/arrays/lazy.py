"""What dask arrays must be like, and where dask itself is."""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any

import numpy as np

HINT = 'pip install "phinmf[dask]"'


def is_lazy(Y: Any) -> bool:
    """Whether this is a dask array; dask is not imported to find out."""
    return type(Y).__module__.startswith("dask.array")


def lazy_array(name: str, given: Any) -> Any:
    """Return a dask array of float32 or float64, as `checks.real_array` does at once."""
    if given.dtype.kind == "c":
        raise ValueError(f"{name} is complex, but real numbers are needed: pass {name}.real")
    if given.dtype.kind not in "fiub":
        raise TypeError(f"{name} has dtype {given.dtype}, but real numbers are needed")
    if any(math.isnan(size) for sizes in given.chunks for size in sizes):
        raise ValueError(
            f"{name} is a dask array with chunks of unknown sizes, but the number of frames is"
            f" needed: call {name}.compute_chunk_sizes() first"
        )
    return given if given.dtype in (np.float32, np.float64) else given.astype(np.float64)


def unchunked(name: str, Y: Any, frames: int) -> Any:
    """Return frames (C, M, N) of a dask array whose only chunked axis is the given one."""
    sample_axis = Y.ndim - 2 if frames == Y.ndim - 1 else Y.ndim - 1
    if Y.numblocks[sample_axis] > 1:
        raise ValueError(
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
    """The package, which is an extra."""
    return extra("dask.array", "dask")


def distributed() -> Any:
    """Its clusters."""
    return extra("distributed", "distributed")


def extra(module: str, name: str) -> Any:
    """A package that may be missing."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{name} is needed for this and is not installed: {HINT}") from error
    return importlib.import_module(name)


def rows(X: Any) -> Any:
    """Return a dask array of frames (n_frames, M), as scikit-learn has them."""
    X = lazy_array("X", X)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X has shape {X.shape}, but frames of shape (n_frames, M) are needed")
    unchunked("X", X, 0)
    return X


def like(H: Any, X: Any) -> Any:
    """Activations (n_frames, K) in chunks like those of the frames."""
    return dask().array.from_array(H, chunks=(X.chunks[0], -1))


def current_client() -> Any:
    """The client that dask itself would use, if there is one."""
    distributed = sys.modules.get("distributed")
    chosen = dask().config.get("scheduler", None)
    if distributed is None or chosen not in (None, "distributed", "dask.distributed"):
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None
