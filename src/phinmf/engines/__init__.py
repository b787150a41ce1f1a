"""Ways of holding frames. To add one, subclass `Engine` and name it in `ENGINES`.

The default is the first that takes the kind of array and serves the divergence and the solver.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from phinmf.engines.array import ArrayEngine
from phinmf.engines.base import DictionarySums, Engine, Evaluation, Objective
from phinmf.engines.compiled.engine import CompiledEngine
from phinmf.engines.dask import DaskEngine

#: Names that the argument ``engine`` accepts.
ENGINES: dict[str, type[Engine]] = {
    "compiled": CompiledEngine,
    "array": ArrayEngine,
    "dask": DaskEngine,
}
EngineName: TypeAlias = Literal["auto", "compiled", "array", "dask"]

__all__ = ["ENGINES", "DictionarySums", "Engine", "Evaluation", "Objective"]
