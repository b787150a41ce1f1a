"""The two terms of an objective, and how a file holds them: by fields, or by a label to compare."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from phinmf.divergences import DIVERGENCES, Beta, Divergence
from phinmf.penalties import PENALTIES, Penalty, Smooth
from phinmf.storage import shown
from phinmf.stored_values import from_json, in_json

Term = TypeVar("Term")

#: Divergences and penalties of phinmf, which are stored as their fields.
KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in PENALTIES.values()}
KINDS |= {"Smooth": Smooth}
KINDS |= {type(known).__name__: type(known) for known in DIVERGENCES.values()}
FORMULAS = ("value", "slope", "curvature", "bound", "nmf_split")
#: v, v̂ and ε of a few entries at which two divergences are compared.
ENTRIES = np.array([1e-3, 0.7, 40.0]), np.array([1e-2, 0.3, 7.0]), 1e-2
TOTALS = np.array([1e-3, 0.7, 40.0])  #: of components, for which two penalties are compared


class Terms(NamedTuple):
    """The two terms of an objective, with which activations of new frames are found, too."""

    divergence: Divergence
    penalty: Penalty

    def to_json(self) -> dict[str, Any]:
        """Return what a file holds: a label of each term, and its fields if it is of phinmf."""
        labels = {
            "divergence": divergence_label(self.divergence),
            "penalty": penalty_label(self.penalty),
        }
        return {"labels": labels, **{n: fields_of(term) for n, term in self._asdict().items()}}

    @classmethod
    def from_json(cls, saved: Any, divergence: Divergence | None, penalty: Penalty | None) -> Terms:
        """Return the terms that `to_json` wrote; those that are not of phinmf are given again."""
        labels = saved["labels"]
        found = cls(
            same("divergence", labels["divergence"], from_json(saved["divergence"], KINDS),
                 divergence, divergence_label),
            same("penalty", labels["penalty"], from_json(saved["penalty"], KINDS),
                 penalty, penalty_label),
        )  # fmt: skip
        if not (isinstance(found.divergence, Divergence) and isinstance(found.penalty, Penalty)):
            raise ValueError("its divergence or its penalty is not one")
        return found


def fields_of(term: Divergence | Penalty) -> Any:
    """Return a term of phinmf as a value for JSON; None for one of the user's own."""
    try:
        return in_json(term, KINDS)
    except TypeError:
        return None


def same(
    name: str, label: object, saved: Term | None, given: Term | None, label_of: Callable[[Any], str]
) -> Term:
    """Return the term that is in a file, or the given one if it has the same label."""
    term = saved if given is None else given
    if term is None:
        own = shown(label)
        raise ValueError(f"its {name} {own} is not one of phinmf's: pass it as {name}=")
    found = label_of(term)
    if found != label:
        raise ValueError(
            f"its {name} is {shown(label)}, but {found!r} is given: pass the one of the fit as"
            f" {name}="
        )
    return term


def divergence_label(divergence: Divergence) -> str:
    """The name of a divergence of phinmf, or β; of others the name and a digest of values.

    One of the user's own may be registered in this process and not in that which reads the file.
    """
    for name, known in DIVERGENCES.items():
        if known == divergence and type(known) in KINDS.values():
            return name
    if type(divergence) is Beta:
        return repr(divergence)
    with np.errstate(all="ignore"):
        *others, (P, Q) = (getattr(divergence, formula)(*ENTRIES) for formula in FORMULAS)
    return label_of_values(divergence, *others, P, Q)


def penalty_label(penalty: Penalty) -> str:
    """A penalty of phinmf with its weight; of others the name and a digest of values."""
    if type(penalty) is Smooth:
        return f"Smooth({penalty_label(penalty.beside)}, {penalty.smoothness!r})"
    if type(penalty) in KINDS.values():
        return repr(penalty)
    return label_of_values(penalty, penalty.cost(TOTALS), penalty.rates(TOTALS), penalty.smoothness)


def label_of_values(term: object, *values: Any) -> str:
    """The name of a class and a digest of values of its formulas, rounded: on any machine equal."""
    numbers = np.concatenate([np.ravel(found) for found in values])
    rounded = " ".join(f"{number:.6g}" for number in numbers)
    digest = hashlib.blake2b(rounded.encode(), digest_size=6).hexdigest()
    return f"{type(term).__qualname__} {digest}"
