"""A result in one file."""

from __future__ import annotations

import os
import platform
from typing import TypeVar

import numpy as np

from phinmf import storage
from phinmf.divergences import Divergence
from phinmf.entries import (
    AMOUNT,
    NONNEGATIVE,
    NUMBER,
    ORTHOGONAL,
    POSITIVE,
    SHARE,
    TEXT,
    Entry,
    checked,
    count,
    packed,
)
from phinmf.result.history import History
from phinmf.result.record import Record
from phinmf.result.status import Status
from phinmf.result.terms import Terms

AnyRecord = TypeVar("AnyRecord", bound=Record)

KIND = "result"
TABLE = {
    "Phi": Entry("M M", rule=ORTHOGONAL),
    "W": Entry("M K", rule=NONNEGATIVE, group="factors"),
    "H": Entry("K N", rule=NONNEGATIVE, group="factors"),
    "objective": NUMBER,
    "divergence": NUMBER,
    "penalty": NUMBER,
    "floor": AMOUNT,
    "scale": Entry("", "float64", POSITIVE),
    "n_atoms": Entry("", "int64", count("M")),
    "energy": Entry("", "float64", SHARE),
    "status": TEXT,
}


def save(result: Record, path: str | os.PathLike[str]) -> None:
    """Write a result; tensors become arrays."""
    values = {name: getattr(result, name) for name in TABLE} | {"status": result.status.name}
    header = {
        "terms": None if result.terms is None else result.terms.to_json(),
        "history": result.history.to_json(),
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }
    storage.write(path, KIND, header, packed(values, TABLE))


def load(
    cls: type[AnyRecord],
    path: str | os.PathLike[str],
    divergence: Divergence | None = None,
) -> AnyRecord:
    """Read a result; everything in the file is checked before it is used."""
    header, parts = storage.read(path, KIND)
    with storage.usable(path, KIND):
        values = checked(parts, TABLE)
        terms = header["terms"]
        return cls(
            **values | {"status": Status[values["status"]]},
            history=History.from_json(header["history"]),
            terms=None if terms is None else Terms.from_json(terms, divergence),
        )
