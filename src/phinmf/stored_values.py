"""Values in files: objects as their fields, and checks of what is read before it is used."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from phinmf._types import Precision
from phinmf.linalg.manifold import orthogonality_error
from phinmf.storage import Stored

Kinds = Mapping[str, type[Any]]  #: dataclasses whose objects are stored as their fields, by name


def in_json(value: Any, kinds: Kinds) -> Any:
    """Return a value for JSON, or raise a TypeError."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if kinds.get(type(value).__name__) is type(value):
        names = [field.name for field in dataclasses.fields(value)]
        fields = {name: in_json(getattr(value, name), kinds) for name in names}
        return {"type": type(value).__name__, "fields": fields}
    if isinstance(value, (list, tuple)):
        return [in_json(v, kinds) for v in value]
    if isinstance(value, dict):
        return {"dict": {str(k): in_json(v, kinds) for k, v in value.items()}}
    raise TypeError(type(value).__name__)


def from_json(value: Any, kinds: Kinds) -> Any:
    """Return the value that `in_json` wrote."""
    if isinstance(value, list):
        return [from_json(v, kinds) for v in value]
    if not isinstance(value, dict):
        return value
    if "type" in value:
        fields = {name: from_json(v, kinds) for name, v in value["fields"].items()}
        return kinds[value["type"]](**fields)
    return {k: from_json(v, kinds) for k, v in value["dict"].items()}


def array(
    stored: Stored,
    name: str,
    shape: tuple[int, ...],
    dtype: Any,
    holds: Callable[[Any], Any],
) -> Any:
    """Return an array of this shape and type whose numbers are finite and satisfy `holds`."""
    found = stored.arrays.get(name)
    if found is None or found.shape != shape or found.dtype != dtype:
        what = "missing" if found is None else f"of shape {found.shape} and type {found.dtype}"
        raise ValueError(f"its {name} is {what}, but shape {shape} and type {dtype} are needed")
    if not np.isfinite(found).all() or not holds(found).all():
        raise ValueError(f"its {name} has numbers out of range")
    return found


def orthogonal(stored: Stored, name: str, M: int, dtype: Precision) -> Any:
    """Return an orthogonal M×M matrix."""
    found = array(stored, name, (M, M), dtype, lambda a: abs(a) < 2)
    if not orthogonality_error(found.astype(np.float64)) < 1e-4:
        raise ValueError(f"its {name} is not orthogonal")
    return found


def is_number(value: Any, least: float = -math.inf) -> bool:
    """Whether a value is a finite number of at least `least`."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return bool(known and least <= value and abs(value) < 1e308)
