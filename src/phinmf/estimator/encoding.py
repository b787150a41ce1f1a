"""What a fitted TLNMF makes of frames: their activations, and how well it predicts them."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from phinmf._types import AnyArray, Array
from phinmf.algorithm.options import Options
from phinmf.arrays.lazy import dask
from phinmf.fit.devices import ComputeDevice, check_processor
from phinmf.fit.encode import EncodedFrames, encode
from phinmf.fit.prediction import Learned, Prediction, predict

ALL = [field.name for field in fields(Options)]
#: Options that the activations of new frames depend on.
ENCODING = ("divergence", "sparsity", "smoothness", "floor", "engine", "n_threads")


def encoded(
    estimator: Any,
    X: AnyArray,
    weights: Array | None = None,
    engine: str | None = None,
    n_threads: int | None = None,
) -> EncodedFrames:
    """Encode frames with a fitted TLNMF; the arrays are on the device of the frames."""
    options = options_of(estimator, ENCODING)
    engine = engine or options.engine
    place = ComputeDevice("X", X, estimator.device, engine)
    with place.computing():
        found = encode(
            place.take(X).T[None],
            estimator.transform_matrix_,
            estimator.components_.T,
            scale=estimator.scale_,
            penalty=options.penalty,
            floor=options.floor,
            divergence=options.divergence,
            weights=weights,
            engine=engine,
            n_threads=n_threads or options.n_threads,
        )
        return found_back(found, place)


def learned(estimator: Any) -> Learned:
    """Return what a fitted TLNMF has learned, and how it finds the activations of new frames."""
    options = options_of(estimator, ENCODING)
    lazily = options.engine == "dask"  # a stretch of frames is in memory
    return Learned(
        estimator.transform_matrix_, estimator.components_.T, estimator.scale_, options.floor,
        options.divergence, options.penalty, "auto" if lazily else options.engine,
        options.n_threads,
    )  # fmt: skip


def predicted(estimator: Any, X: AnyArray, weights: Array | None) -> Prediction:
    """Predict coefficients of frames from other coefficients, always cut into the same parts."""
    place, known = ComputeDevice("X", X, estimator.device, estimator.engine), learned(estimator)
    with place.computing():
        frames = place.take(X).T[None]
        return predict(frames, known, np.random.default_rng(0), weights)


def found_back(found: EncodedFrames, place: ComputeDevice) -> EncodedFrames:
    """Move an encoding to the device of the frames as they were given."""
    return found._replace(H=place.back(found.H), energies=place.back(found.energies))


def encoded_lazily(estimator: Any, X: AnyArray) -> Any:
    """Return the activations of a dask array as a dask array, computed chunk by chunk on demand."""
    check_processor("X", estimator.device)
    K = estimator.n_components_
    fitted = copy.copy(estimator)  # so that a later fit does not change it
    fitted.callback = None  # it may not be possible to send it to a worker
    return X.map_blocks(
        activations_of_rows, dask().delayed(fitted), dtype=X.dtype,
        chunks=(X.chunks[0], (K,)), meta=np.empty((0, 0), X.dtype),
    )  # fmt: skip


def activations_of_rows(X: Array, estimator: Any) -> Array:
    """Return the activations of a chunk, by default on one thread: dask runs chunks in parallel."""
    return encoded(estimator, X, engine="auto", n_threads=estimator.n_threads or 1).H.T


def options_of(estimator: Any, names: Iterable[str] = ALL) -> Options:
    """Return the checked options of a TLNMF, which has a parameter for each of them."""
    return Options(**{name: getattr(estimator, name) for name in names})
