"""Frames as scikit-learn validates them; their activations, and how well a TLNMF predicts them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array
from phinmf.arrays.lazy import dask, is_lazy
from phinmf.arrays.lazy import rows as lazy_rows
from phinmf.estimator.parameters import Parameters
from phinmf.fit.devices import ComputeDevice
from phinmf.fit.encode import EncodedFrames, Learned, encode
from phinmf.fit.prediction import Prediction, predict

#: Options that the activations of new frames depend on.
ENCODING = ("divergence", "sparsity", "smoothness", "floor", "engine", "n_threads")


def encoded(
    estimator: Parameters,
    X: AnyArray,
    weights: Array | None = None,
    engine: str | None = None,
    n_threads: int | None = None,
) -> EncodedFrames:
    """Encode frames with a fitted TLNMF; the arrays are on the device of the frames."""
    factors = learned(estimator)
    engine, n_threads = engine or factors.engine, n_threads or factors.n_threads
    factors = replace(factors, engine=engine, n_threads=n_threads, device=estimator.device)
    device = ComputeDevice("X", X, estimator.device, engine)
    with device.computing():
        return moved_back(encode(device.take(X).T[None], factors, weights), device)


def learned(estimator: Parameters) -> Learned:
    """Return what a fitted TLNMF has learned, and how it computes the activations of new frames."""
    options = estimator._options(ENCODING)
    return Learned(
        estimator.transform_matrix_, estimator.components_.T, estimator.scale_, options.floor,
        options.divergence, options.penalty, options.engine, options.n_threads,
    )  # fmt: skip


def predicted(estimator: Parameters, X: AnyArray, weights: Array | None) -> Prediction:
    """Predict coefficients of frames from other coefficients, always cut into the same parts."""
    device = ComputeDevice("X", X, estimator.device, estimator.engine)
    with device.computing():
        frames = device.take(X).T[None]
        return predict(frames, learned(estimator), np.random.default_rng(0), weights)


def moved_back(frames: EncodedFrames, device: ComputeDevice) -> EncodedFrames:
    """Move an encoding to where the frames came from."""
    return frames._replace(H=device.back(frames.H), energies=device.back(frames.energies))


def encoded_lazily(estimator: Parameters, X: AnyArray) -> Any:
    """Return the activations of a dask array as a dask array, computed chunk by chunk on demand."""
    K = estimator.n_components_
    fitted = copy.copy(estimator)  # so that a later fit does not change it
    fitted.callback = None  # it may not be possible to send it to a worker
    return X.map_blocks(
        activations_of_rows, dask().delayed(fitted), dtype=X.dtype,
        chunks=(X.chunks[0], (K,)), meta=np.empty((0, 0), X.dtype),
    )  # fmt: skip


def activations_of_rows(X: Array, estimator: Parameters) -> Array:
    """Return the activations of a chunk, by default on one thread: dask runs chunks in parallel."""
    return encoded(estimator, X, engine="auto", n_threads=estimator.n_threads or 1).H.T


@contextmanager
def all_or_nothing(estimator: Parameters) -> Iterator[None]:
    """Restore the attributes of an estimator if its fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def validated(estimator: Parameters, X: AnyArray, reset: bool = True) -> Any:
    """Validate frames as scikit-learn does; a tensor or a dask array stays where it is."""
    checks.refuse_other("X", X, "frames are needed: pass those of phinmf.to_frames, transposed")
    if isinstance(X, np.ma.MaskedArray):
        X = checks.dense("X", X)
    if not (arrays.is_tensor(X) or is_lazy(X)):
        rows = validate_data(estimator, X, dtype=(np.float64, np.float32), reset=reset)
        return np.ascontiguousarray(rows)  # the bits must not depend on the layout of X
    name = type(estimator).__name__
    M = X.shape[1] if len(X.shape) == 2 else None
    if not reset and M is not None and estimator.n_features_in_ != M:
        raise ValueError(
            f"X has {M} features, but {name} is expecting {estimator.n_features_in_} features"
        )
    frames = lazy_rows(X) if is_lazy(X) else checks.real_array("X", X)
    if len(frames.shape) != 2 or 0 in frames.shape:
        raise ValueError(
            f"X has shape {tuple(frames.shape)}, but frames of shape (n_frames, n_features) are"
            " needed, at least one"
        )
    if reset:
        estimator.n_features_in_ = frames.shape[1]
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    return frames
