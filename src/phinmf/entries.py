"""What a file must hold: tables of entries, and objects of phinmf as values for JSON.

Invariant: nothing that was read from a file reaches other code before `checked` has compared it
with a table. A table says of each name which shape, type and range its array has. Sizes are named:
``"M K"`` is the shape of W, and M is the same number wherever it stands in one table.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phinmf import arrays
from phinmf._types import Array
from phinmf.linalg.manifold import is_dft, orthogonality_error

Kinds = Mapping[str, type[Any]]  #: dataclasses whose objects are stored as their fields, by name
TYPES = {"float64": np.float64, "int64": np.int64, "bool": np.bool_, "text": np.str_}


def is_orthogonal(a: Array, limit: int) -> bool:
    """Whether the rows of a matrix are orthonormal, up to the rounding of single precision."""
    if not abs(a).max() < 2:
        return False
    return is_dft(a) or orthogonality_error(a.astype(np.float64)) < 1e-4  # the product is slow


#: What all numbers of an array are, beside finite; some rules end with the name of a size.
RULES: dict[str, Callable[[Array, int], Any]] = {
    "finite": lambda a, limit: True,
    "nonnegative": lambda a, limit: a >= 0,
    "positive": lambda a, limit: a > 0,
    "between 0 and 1": lambda a, limit: (a >= 0) & (a <= 1),
    "orthogonal": is_orthogonal,
    "an index below": lambda a, limit: (a >= 0) & (a < limit),
    "from 1 to": lambda a, limit: (a >= 1) & (a <= limit),
}


@dataclass(frozen=True)
class Entry:
    """One array of a file, or one number or text if it has no axes."""

    shape: str = ""  #: names of sizes; none of them is 0
    #: "float64", "int64", "bool", "text", or "floating": float32 or float64, the same for all
    #: entries of this type in a table
    type: str = "floating"
    rule: str = "finite"  #: one of `RULES`, and the size if it ends with one
    group: str = ""  #: entries of one group may be missing together

    def has_type(self, array: Array, precisions: set[str]) -> bool:
        """Whether an array has the type; `precisions` are those of the floating entries before."""
        if self.type == "text":
            return array.dtype.kind == "U"
        if self.type != "floating":
            return array.dtype == TYPES[self.type]
        precisions.add(array.dtype.str)
        return array.dtype in (np.float32, np.float64) and len(precisions) == 1

    def holds(self, array: Array, sizes: Mapping[str, int]) -> bool:
        """Whether all numbers are finite and satisfy the rule."""
        rule, limit = self.rule, 0
        if rule not in RULES:
            rule, size = rule.rsplit(" ", 1)
            limit = sizes[size]
        return bool(np.isfinite(array).all() and np.all(RULES[rule](array, limit)))


Table = Mapping[str, Entry]  #: by the name of the array


def checked(stored: Mapping[str, Array], table: Table, **sizes: int) -> dict[str, Any]:
    """Return the value of each entry: an array, or a Python value; None if its group is missing.

    `sizes` are the sizes that must be, for example ``M=441``; all others follow from the arrays.
    """
    values: dict[str, Any] = {}
    precisions: set[str] = set()
    for name, entry in table.items():
        if name not in stored:
            others = (n for n, e in table.items() if entry.group and e.group == entry.group)
            if not entry.group or any(other in stored for other in others):
                raise ValueError(f"it has no {name}")
            values[name] = None
            continue
        array, names = stored[name], entry.shape.split()
        fits = array.ndim == len(names) and 0 not in array.shape
        for size, n in zip(names, array.shape if fits else (), strict=fits):
            fits = fits and sizes.setdefault(size, n) == n
        if not (fits and entry.has_type(array, precisions)):
            needed = f"shape ({', '.join(str(sizes.get(size, size)) for size in names)})"
            raise ValueError(
                f"its {name} has shape {array.shape} and type {array.dtype}, but {needed} and type"
                f" {entry.type} are needed"
            )
        if entry.type != "text" and not entry.holds(array, sizes):
            raise ValueError(f"its {name} is not {entry.rule}")
        values[name] = array if names else array.item()
    return values


def check_rows(W: Array | None, Phi: Array) -> None:
    """Raise unless W (P, K) has a row for each atom of Φ (M, M), or for each pair of atoms."""
    if W is not None and len(Phi) not in (len(W), 2 * len(W)):
        raise ValueError(f"its W has {len(W)} rows, but {len(Phi)} atoms need as many, or half")


def packed(values: Mapping[str, Any], table: Table) -> dict[str, Array]:
    """Return the arrays of a file from the values of a table, but for None and empty arrays."""
    parts = {}
    for name, entry in table.items():
        value = values[name]
        if value is not None and 0 not in np.shape(value):
            parts[name] = np.asarray(arrays.to_numpy(value), TYPES.get(entry.type))
    return parts


def prefixed(prefix: str, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays under names that begin with a prefix."""
    return {prefix + name: value for name, value in parts.items()}


def without_prefix(prefix: str, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays whose names begin with a prefix, under the rest of their names."""
    return {n.removeprefix(prefix): value for n, value in parts.items() if n.startswith(prefix)}


def in_json(value: Any, kinds: Kinds) -> Any:
    """Return a value for JSON, or raise a TypeError."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return in_json(value.tolist(), kinds)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if kinds.get(type(value).__name__) is type(value):
        names = [field.name for field in dataclasses.fields(value)]
        fields = {name: in_json(getattr(value, name), kinds) for name in names}
        return {"type": type(value).__name__, "fields": fields}
    if isinstance(value, (list, tuple, set)):
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
