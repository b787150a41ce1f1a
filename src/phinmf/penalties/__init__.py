"""Costs of the factors beside the divergence.

To add one, subclass `Penalty` in a new file and add the class to `PENALTIES`; an instance is made
from its weight.
"""

from __future__ import annotations

from phinmf.penalties.base import Penalty
from phinmf.penalties.sparse import Sparse

PENALTIES: dict[str, type[Penalty]] = {"sparse": Sparse}

__all__ = ["PENALTIES", "Penalty", "Sparse"]
