"""The divergence and the penalty of a fit, and how a file stores them."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from phinmf import checks
from phinmf.divergences import DIVERGENCES, Beta, Divergence, Penalty
from phinmf.entries import from_json, in_json
from phinmf.errors import InvalidValue
from phinmf.storage import shown

#: Divergences of phinmf, which are stored as their fields.
KINDS: dict[str, type[Any]] = {type(d).__name__: type(d) for d in DIVERGENCES.values()}
FORMULAS = ("value", "slope", "curvature", "bound", "nmf_split")
#: v, v̂ and ε of a few entries at which two divergences are compared.
ENTRIES = np.array([1e-3, 0.7, 40.0]), np.array([1e-2, 0.3, 7.0]), 1e-2


class Terms(NamedTuple):
    """The two terms of an objective, with which activations of new frames are found, too."""

    divergence: Divergence
    penalty: Penalty

    def to_json(self) -> dict[str, Any]:
        """Return both terms as values for JSON."""
        return divergence_to_json(self.divergence) | {"penalty": vars(self.penalty)}

    @classmethod
    def from_json(cls, saved: Any, divergence: Divergence | None) -> Terms:
        """Return the terms that `to_json` wrote; a divergence of the user's own is passed again."""
        weights = {name: checks.number(name, x) for name, x in saved["penalty"].items()}
        return cls(divergence_from_json(saved, divergence), Penalty(**weights))


def divergence_to_json(divergence: Divergence) -> dict[str, Any]:
    """Return the label of a divergence and, if it is one of phinmf, its fields."""
    try:
        fields = in_json(divergence, KINDS)
    except TypeError:  # a divergence of the user's own
        fields = None
    return {"label": divergence_label(divergence), "divergence": fields}


def divergence_from_json(saved: Any, passed: Divergence | None) -> Divergence:
    """Return the divergence of a file, or the one that is passed if it has the same label."""
    label = saved["label"]
    divergence = from_json(saved["divergence"], KINDS) if passed is None else passed
    if divergence is None:
        raise InvalidValue(
            f"its divergence {shown(label)} is not one of phinmf's: pass it as divergence="
        )
    if not isinstance(divergence, Divergence) or divergence_label(divergence) != label:
        raise InvalidValue(
            f"its divergence is {shown(label)}, not {divergence!r}: pass the one of the fit as"
            " divergence="
        )
    return divergence


def divergence_label(divergence: Divergence) -> str:
    """The name of a divergence of phinmf, or β; of others the name and a digest of values.

    One of the user's own may be registered in this process and not in that which reads the file.
    The digest is of rounded values of its formulas, so it is the same on any machine.
    """
    for name, registered in DIVERGENCES.items():
        if registered == divergence and type(registered) in KINDS.values():
            return name
    if type(divergence) is Beta:
        return repr(divergence)
    with np.errstate(all="ignore"):
        *others, (P, Q) = (getattr(divergence, formula)(*ENTRIES) for formula in FORMULAS)
    numbers = np.concatenate([np.ravel(values) for values in (*others, P, Q)])
    rounded = " ".join(f"{number:.6g}" for number in numbers)
    digest = hashlib.blake2b(rounded.encode(), digest_size=6).hexdigest()
    return f"{type(divergence).__qualname__} {digest}"
