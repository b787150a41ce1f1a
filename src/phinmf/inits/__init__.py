"""Where Φ starts. To add a way, subclass `Init` in a new file and add the class to `INITS`."""

from __future__ import annotations

from typing import Literal, TypeAlias

from phinmf import checks
from phinmf._types import AnyArray
from phinmf.inits.base import Frames, Init
from phinmf.inits.joint_diagonalisation import JointDiagonalisation
from phinmf.inits.transforms import DCT, DFT, KLT, ArrayInit, Continuation, RandomOrthogonal

#: Names that the argument ``init`` accepts.
INITS: dict[str, type[Init]] = {
    "dct": DCT,
    "dft": DFT,
    "random": RandomOrthogonal,
    "klt": KLT,
    "jd": JointDiagonalisation,
}
InitName: TypeAlias = Literal["dct", "dft", "random", "klt", "jd"]

__all__ = [
    "DCT",
    "DFT",
    "INITS",
    "KLT",
    "ArrayInit",
    "Continuation",
    "Frames",
    "Init",
    "JointDiagonalisation",
    "RandomOrthogonal",
    "init_of",
]


def init_of(name: str, init: str | Init | AnyArray) -> Init:
    """Return the init of a name or of an orthogonal array (M, M); an init is returned as it is."""
    if isinstance(init, Init):
        return init
    if init is None or isinstance(init, str):
        return INITS[checks.choice(name, init, INITS)]()
    return ArrayInit(init)
