"""A result in one file."""

from __future__ import annotations

import os
import platform
from typing import Any, TypeVar

import numpy as np

from phinmf import arrays, storage
from phinmf.divergences import Divergence
from phinmf.result.history import History
from phinmf.result.record import Record
from phinmf.result.status import Status
from phinmf.result.terms import Terms
from phinmf.storage import Stored, shown
from phinmf.stored_values import array, in_json, is_number, orthogonal

AnyRecord = TypeVar("AnyRecord", bound=Record)

FACTORS = ("Phi", "W", "H")
#: Numbers of a result, and the least that each can be.
NUMBERS = {
    "objective": -np.inf, "divergence": -np.inf, "penalty": -np.inf, "floor": 0.0,
    "scale": 0.0, "n_atoms": 1.0, "energy": 0.0,
}  # fmt: skip


def save(result: Record, path: str | os.PathLike[str]) -> None:
    """Write a result; tensors become arrays."""
    header = {
        "numbers": {name: in_json(getattr(result, name), {}) for name in NUMBERS},
        "status": result.status.name,
        "terms": None if result.terms is None else result.terms.to_json(),
        "history": result.history.to_json(),
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }
    factors = {name: getattr(result, name) for name in FACTORS}
    there = {name: arrays.to_numpy(a) for name, a in factors.items() if a is not None}
    storage.write(path, "result", header, there)


def load(
    cls: type[AnyRecord],
    path: str | os.PathLike[str],
    divergence: Divergence | None = None,
) -> AnyRecord:
    """Read a result; everything in the file is checked before it is used."""
    stored = storage.read(path, "result")
    try:
        return cls(
            **checked_factors(stored),
            **checked_numbers(stored),
            status=checked_status(stored.header["status"]),
            history=History.from_json(stored.header["history"]),
            terms=None
            if stored.header["terms"] is None
            else Terms.from_json(stored.header["terms"], divergence),
        )
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        why = storage.shortened(str(error))
        raise ValueError(f"{path} does not hold a usable result ({why})") from error


def checked_factors(stored: Stored) -> dict[str, Any]:
    """Return Φ, W and H, which belong together; H, or W and H, may be missing."""
    found = stored.arrays
    if tuple(name for name in FACTORS if name in found) != FACTORS[: len(found)]:
        raise ValueError("it does not hold Phi, Phi and W, or Phi, W and H")
    for name, factor in found.items():
        if factor.ndim != 2 or 0 in factor.shape or factor.dtype not in (np.float32, np.float64):
            raise ValueError(f"its {name} is not a matrix of float32 or float64")
    M = len(found["Phi"])
    orthogonal(stored, "Phi", M, found["Phi"].dtype)
    rows = M
    for name in FACTORS[1 : len(found)]:  # W has a row for each atom, H one for each column of W
        factor = found[name]
        array(stored, name, (rows, factor.shape[1]), factor.dtype, lambda a: a >= 0)
        rows = factor.shape[1]
    return dict.fromkeys(FACTORS) | found


def checked_numbers(stored: Stored) -> dict[str, Any]:
    """Return the numbers of a result, each in its range."""
    found: dict[str, Any] = stored.header["numbers"]
    if not isinstance(found, dict) or found.keys() != NUMBERS.keys():
        raise ValueError(f"it does not have the numbers {', '.join(NUMBERS)}")
    most = {"n_atoms": len(stored.arrays["Phi"]), "energy": 1}
    for name, least in NUMBERS.items():
        value = found[name]
        if not is_number(value, least) or value > most.get(name, np.inf):
            raise ValueError(f"its {name} is {shown(value)}")
    if not isinstance(found["n_atoms"], int) or found["scale"] == 0:
        raise ValueError("its n_atoms is not a whole number, or its scale is 0")
    return found


def checked_status(name: Any) -> Status:
    """Return a status by its name."""
    if name not in Status.__members__:
        raise ValueError(f"its status is {shown(name)}")
    return Status[name]
