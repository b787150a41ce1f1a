"""JSON values as frozen dataclasses: every field is checked against its declared type."""

from __future__ import annotations

import math
import types
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def parse(kind: type[T], value: object) -> T:
    """Return a JSON value as a dataclass; raise ValueError if it is none of this type.

    Keys that a dataclass does not have are ignored; fields with a default may be absent. NaN and
    infinities are no JSON, though Python reads and writes them.
    """
    try:
        return _parse(kind, value)
    except (TypeError, KeyError, OverflowError):
        raise ValueError(f"this is no {kind.__name__}") from None


def _parse(kind: Any, value: Any) -> Any:
    """Check a value against any type; `Any` since types are values here."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        for alternative in arguments:
            try:
                return _parse(alternative, value)
            except (TypeError, KeyError):
                continue
    if origin is Literal and value in arguments:
        return value
    if origin is list and isinstance(value, list):
        return [_parse(arguments[0], item) for item in value]
    if origin is dict and isinstance(value, dict):
        return {key: _parse(arguments[1], item) for key, item in value.items()}
    if is_dataclass(kind) and isinstance(kind, type) and isinstance(value, dict):
        hints = get_type_hints(kind)
        return kind(**{
            field.name: _parse(hints[field.name], value[field.name])
            for field in fields(kind)
            if field.name in value or (field.default is MISSING is field.default_factory)
        })  # fmt: skip
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if kind is Path and isinstance(value, str):
        return Path(value)
    if kind in (int, str, bool, type(None)) and type(value) is kind:
        return value
    raise TypeError(f"{value!r} is not {kind}")
