"""NMF with transform learning: the transform of a recording, learned with its factors."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from phinmf.algorithm.options import Anneal, Method
from phinmf.api import PAPER, learn_transform, sparsity_from_lambda, tl_nmf
from phinmf.audio.frames import frames_from_files, from_frames, stream_frames, to_frames
from phinmf.divergences import Beta, Divergence
from phinmf.estimator.tlnmf import TLNMF
from phinmf.fit.checkpoint import Checkpoint
from phinmf.result import History, Result, State, Status
from phinmf.unmix_api import Unmixing, unmix
from phinmf.unmixing.model import UnmixModel

if TYPE_CHECKING:
    from phinmf import analysis as analysis
    from phinmf import arrays as arrays
    from phinmf import audio as audio
    from phinmf import divergences as divergences
    from phinmf import engines as engines
    from phinmf import inits as inits
    from phinmf import linalg as linalg
    from phinmf import report as report
    from phinmf import result as result
    from phinmf import solvers as solvers

__version__ = "1.0.0"

__all__ = [
    "PAPER",
    "TLNMF",
    "Anneal",
    "Beta",
    "Checkpoint",
    "Divergence",
    "History",
    "Method",
    "Result",
    "State",
    "Status",
    "UnmixModel",
    "Unmixing",
    "__version__",
    "frames_from_files",
    "from_frames",
    "learn_transform",
    "sparsity_from_lambda",
    "stream_frames",
    "tl_nmf",
    "to_frames",
    "unmix",
]

#: Packages with names of the reference; those that nothing above needs are imported when used.
PACKAGES = (
    "analysis", "arrays", "audio", "divergences", "engines", "inits", "linalg",
    "report", "result", "solvers",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in PACKAGES:
        return import_module(f"phinmf.{name}")
    raise AttributeError(f"module 'phinmf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *PACKAGES])
