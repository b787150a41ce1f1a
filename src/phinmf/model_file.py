"""A fitted model in one file: the transform, the components, and how they came about."""

from __future__ import annotations

import dataclasses
import os
import platform
from typing import Any, TypeVar

import numpy as np
import sklearn

from phinmf import storage
from phinmf._types import Array
from phinmf.annealing import Anneal
from phinmf.arrays import to_numpy
from phinmf.manifold import orthogonality_error
from phinmf.result import History
from phinmf.solvers import SOLVERS

Model = TypeVar("Model")

ARRAYS = ("transform_matrix_", "components_", "atom_energies_", "objectives_")
NUMBERS = ("scale_", "floor_", "objective_", "reconstruction_err_", "n_iter_", "converged_")
WITH_FIELDS: dict[str, Any] = {"Anneal": Anneal}
WITH_FIELDS |= {kind.__name__: kind for kind in SOLVERS.values()}


def save(model: Any, path: str | os.PathLike[str], **more: Any) -> None:
    """Write a fitted TLNMF; `more` is kept in the header."""
    parameters, left_out = {}, []
    for name, value in model.get_params(deep=False).items():
        try:
            parameters[name] = in_json(value)
        except TypeError:  # start values, callbacks, generators: a fitted model does not need them
            left_out.append(name)
    header = {
        "parameters": parameters,
        "left_out": left_out,
        "attributes": {name: in_json(getattr(model, name)) for name in NUMBERS},
        "stop_reason": model.stop_reason_,
        "history": model.history_.to_json(),
        "versions": {"python": platform.python_version(), "numpy": np.__version__,
                     "scikit-learn": sklearn.__version__},
        **more,
    }  # fmt: skip
    arrays = {name: to_numpy(getattr(model, name)) for name in ARRAYS}
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in_"] = model.feature_names_in_.astype(str)
    storage.write(path, "model", header, arrays)


def load(cls: type[Model], path: str | os.PathLike[str]) -> Model:
    """Read a model; every number in it is checked before it is believed."""
    header, arrays = storage.read(path, "model")
    try:
        parameters = {name: from_json(value) for name, value in header["parameters"].items()}
        model: Any = cls(**parameters)
        for name in NUMBERS:
            setattr(model, name, header["attributes"][name])
        for name in ARRAYS:
            setattr(model, name, arrays[name])
        model.history_ = History.from_json(header["history"])
        model.stop_reason_ = str(header["stop_reason"])
        check(model.transform_matrix_, model.components_, model.scale_, model.floor_)
        model.n_components_, model.n_features_in_ = model.components_.shape
        if "feature_names_in_" in arrays:
            model.feature_names_in_ = arrays["feature_names_in_"].astype(object)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} does not hold a usable model ({error})") from error
    return model


def check(Phi: Array, components: Array, scale: float, floor: float) -> None:
    """Raise if these cannot be a fitted model."""
    K, M = components.shape
    if Phi.shape != (M, M) or Phi.dtype != components.dtype or Phi.dtype.kind != "f" or K < 1:
        raise ValueError(f"shapes {Phi.shape} and {components.shape} do not belong together")
    if not (np.isfinite(Phi).all() and np.isfinite(components).all() and (components >= 0).all()):
        raise ValueError("its numbers are not finite, or not those of nonnegative components")
    if not orthogonality_error(Phi.astype(np.float64)) < 1e-4:
        raise ValueError("its transform is not orthogonal")
    if not (0 < float(scale) < np.inf and 0 <= float(floor) < np.inf):
        raise ValueError("its scale or its floor is not a positive number")


def in_json(value: Any) -> Any:
    """A parameter in words that JSON knows, or a TypeError."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if type(value).__name__ in WITH_FIELDS:
        return {"type": type(value).__name__, "fields": dataclasses.asdict(value)}
    if isinstance(value, (list, tuple)):
        return [in_json(v) for v in value]
    if isinstance(value, dict):
        return {"dict": {str(k): in_json(v) for k, v in value.items()}}
    raise TypeError(type(value).__name__)


def from_json(value: Any) -> Any:
    """The parameter again."""
    if isinstance(value, list):
        return [from_json(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "type" in value:
        return WITH_FIELDS[value["type"]](**value["fields"])
    return {k: from_json(v) for k, v in value["dict"].items()}
