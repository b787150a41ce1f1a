"""Where Φ starts. To add a way, subclass `Init` in a new file and add the class to `INITS`."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from phinmf import checks
from phinmf.inits.base import Frames, Init
from phinmf.inits.dct import DCT
from phinmf.inits.given import GivenTransform, KnownTransform
from phinmf.inits.joint_diagonalisation import JointDiagonalisation
from phinmf.inits.klt import KLT
from phinmf.inits.random import RandomOrthogonal

#: Names that the argument ``init`` accepts.
INITS: dict[str, type[Init]] = {
    "dct": DCT,
    "random": RandomOrthogonal,
    "klt": KLT,
    "jd": JointDiagonalisation,
}
InitName: TypeAlias = Literal["dct", "random", "klt", "jd"]

__all__ = [
    "DCT",
    "INITS",
    "KLT",
    "Frames",
    "GivenTransform",
    "Init",
    "JointDiagonalisation",
    "KnownTransform",
    "RandomOrthogonal",
    "init_of",
]


def init_of(given: Any) -> Init:
    """Return an init by its name, as given, or for an orthogonal array."""
    if isinstance(given, Init):
        return given
    if given is None or isinstance(given, str):
        return INITS[checks.known("init", given, INITS)]()
    return GivenTransform(given)
