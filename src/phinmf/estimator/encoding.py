"""Frames as scikit-learn validates them; their activations, and how well a TLNMF predicts them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils import validation

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array
from phinmf.arrays.lazy import dask, is_lazy
from phinmf.arrays.lazy import rows as lazy_rows
from phinmf.errors import InvalidValue
from phinmf.estimator.parameters import Parameters
from phinmf.fit.devices import ComputeDevice
from phinmf.fit.encode import EncodedFrames, Learned, encode
from phinmf.fit.prediction import Prediction, predict

#: Options that the activations of new frames depend on.
ENCODING = ("divergence", "sparsity", "smoothness", "floor", "engine", "device", "n_threads")


def encoded(estimator: Parameters, X: AnyArray, weights: Array | None = None) -> EncodedFrames:
    """Encode frames with a fitted TLNMF; the arrays are on the device of the frames."""
    device = ComputeDevice("X", X, estimator.device, estimator.engine)
    with device.computing():
        frames = encode(device.take(X).T[None], learned(estimator), weights)
        return frames._replace(H=device.back(frames.H), energies=device.back(frames.energies))


def check_is_fitted(estimator: Parameters) -> None:
    """Raise if nothing was learned; `partial_fit` learns nothing from silence."""
    advice = "%(name)s has learned nothing: call fit, or partial_fit with frames that hold sound"
    validation.check_is_fitted(estimator, msg=advice)


def learned(estimator: Parameters) -> Learned:
    """Return what a fitted TLNMF has learned, and how it computes the activations of new frames."""
    e, options = estimator, estimator._options(ENCODING)
    return Learned(e.transform_matrix_, e.components_.T, e.scale_, options)


def predicted(estimator: Parameters, X: AnyArray, weights: Array | None) -> Prediction:
    """Predict coefficients of frames from other coefficients, always cut into the same parts."""
    device = ComputeDevice("X", X, estimator.device, estimator.engine)
    with device.computing():
        frames = device.take(X).T[None]
        return predict(frames, learned(estimator), np.random.default_rng(0), weights)


def encoded_lazily(estimator: Parameters, X: AnyArray) -> Any:
    """Return the activations of a dask array as a dask array, computed chunk by chunk on demand.

    By default each chunk is computed on one thread, because dask computes chunks in parallel.
    """
    fitted = copy.copy(estimator)  # so that a later fit does not change it
    fitted.engine, fitted.n_threads = "auto", estimator.n_threads or 1
    fitted.callback = None  # it may not be possible to send it to a worker
    return X.map_blocks(
        activations_of_rows, dask().delayed(fitted), dtype=X.dtype,
        chunks=(X.chunks[0], (estimator.n_components_,)), meta=np.empty((0, 0), X.dtype),
    )  # fmt: skip


def activations_of_rows(X: Array, estimator: Parameters) -> Array:
    """Return the activations of a chunk of frames."""
    return encoded(estimator, X).H.T


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
    if not (arrays.is_tensor(X) or is_lazy(X)):
        if isinstance(X, np.ma.MaskedArray) or not hasattr(X, "shape") or np.iscomplexobj(X):
            X = checks.dense("X", X, f"{checks.FRAMES}, transposed")
        rows = validation.validate_data(estimator, X, dtype=(np.float64, np.float32), reset=reset)
        return np.ascontiguousarray(rows)  # the bits must not depend on the layout of X
    name = type(estimator).__name__
    M = X.shape[1] if len(X.shape) == 2 else None
    if not reset and M is not None and estimator.n_features_in_ != M:
        raise InvalidValue(
            f"X has {M} features, but {name} is expecting {estimator.n_features_in_} features"
        )
    frames = lazy_rows(X) if is_lazy(X) else checks.real_array("X", X)
    if len(frames.shape) != 2 or 0 in frames.shape:
        raise InvalidValue(
            f"X has shape {tuple(frames.shape)}, but frames of shape (n_frames, n_features) are"
            " needed, at least one"
        )
    if reset:
        estimator.n_features_in_ = frames.shape[1]
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    return frames
