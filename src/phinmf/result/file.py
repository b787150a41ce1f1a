"""A result in one file."""

from __future__ import annotations

import os
from typing import TypeVar

from phinmf import storage
from phinmf.divergences import Divergence
from phinmf.entries import Entry, checked, packed
from phinmf.result.history import History
from phinmf.result.record import Record, Status
from phinmf.result.terms import Terms

AnyRecord = TypeVar("AnyRecord", bound=Record)

KIND = "result"
TABLE = {
    "Phi": Entry("M M", rule="orthogonal"),
    "W": Entry("M K", rule="nonnegative", group="factors"),
    "H": Entry("K N", rule="nonnegative", group="factors"),
    "objective": Entry("", "float64"),
    "divergence": Entry("", "float64"),
    "penalty": Entry("", "float64"),
    "floor": Entry("", "float64", "nonnegative"),
    "scale": Entry("", "float64", "positive"),
    "n_atoms": Entry("", "int64", "from 1 to M"),
    "energy": Entry("", "float64", "between 0 and 1"),
    "status": Entry("", "text"),
}


def save(result: Record, path: str | os.PathLike[str]) -> None:
    """Write a result; tensors become arrays."""
    values = {name: getattr(result, name) for name in TABLE} | {"status": result.status.name}
    header = {
        "terms": None if result.terms is None else result.terms.to_json(),
        "history": result.history.to_json(),
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
