"""Frames as scikit-learn validates them, and estimators that a failed fit does not change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from phinmf import arrays, checks
from phinmf._types import AnyArray
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.lazy import rows as lazy_rows


@contextmanager
def all_or_nothing(estimator: object) -> Iterator[None]:
    """Restore the attributes of an estimator if its fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def validated(estimator: Any, X: AnyArray, reset: bool = True) -> Any:
    """Validate frames as scikit-learn does; a tensor or a dask array stays where it is."""
    checks.refuse_other("X", X, "frames are needed: pass those of phinmf.to_frames, transposed")
    if isinstance(X, np.ma.MaskedArray):
        X = checks.dense("X", X)
    if not (arrays.is_tensor(X) or is_lazy(X)):
        rows = validate_data(estimator, X, dtype=(np.float64, np.float32), reset=reset)
        return np.ascontiguousarray(rows)  # the bits must not depend on how X is held
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
