"""JSON values as frozen dataclasses: every field is checked against its declared type."""

from __future__ import annotations

import math
import types
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def parse(kind: type[T], value: object) -> T:
    """Return a value of this type; raise TypeError, KeyError or OverflowError if it is none.

    Keys that a dataclass does not have are ignored; fields with a default may be absent. NaN and
    infinities are no JSON, though Python reads and writes them.
    """
    return _parse(kind, value)


def _parse(kind: Any, value: Any) -> Any:
    """Check a value against any type; `Any` since types are values here."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _one_of(arguments, value)
    if origin is list and isinstance(value, list):
        return [_parse(arguments[0], item) for item in value]
    if origin is dict and isinstance(value, dict):
        return {key: _parse(arguments[1], item) for key, item in value.items()}
    if is_dataclass(kind) and isinstance(kind, type) and isinstance(value, dict):
        return _dataclass(kind, value)
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if kind is Path and isinstance(value, str):
        return Path(value)
    if kind in (int, str, bool, type(None)) and type(value) is kind:
        return value
    raise TypeError(f"{value!r} is not {kind}")


def _one_of(kinds: tuple[Any, ...], value: Any) -> Any:
    """Return the value as the first type that it is."""
    for kind in kinds:
        try:
            return _parse(kind, value)
        except (TypeError, KeyError):
            continue
    raise TypeError(f"{value!r} is none of {kinds}")


def _dataclass(kind: type[Any], value: dict[str, Any]) -> Any:
    """Return a dataclass from the keys that are its fields."""
    hints = get_type_hints(kind)
    arguments = {}
    for field in fields(kind):
        if field.name in value or (field.default is MISSING and field.default_factory is MISSING):
            arguments[field.name] = _parse(hints[field.name], value[field.name])
    return kind(**arguments)
