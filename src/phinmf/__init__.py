"""NMF with transform learning: the transform of a recording, learned with its factors."""

from phinmf.algorithm.annealing import Anneal
from phinmf.api import PAPER, tl_nmf
from phinmf.audio.frames import from_frames, to_frames
from phinmf.audio.many_files import frames_from_files
from phinmf.audio.streams import stream_frames
from phinmf.divergences import Beta, Divergence
from phinmf.estimator.tlnmf import TLNMF
from phinmf.result import History, Result, State, Status
from phinmf.transform_api import learn_transform, sparsity_from_lambda
from phinmf.unmix_api import unmix
from phinmf.unmixed import Unmixing
from phinmf.unmixing.model import UnmixModel

__version__ = "1.0.0"

__all__ = [
    "PAPER",
    "TLNMF",
    "Anneal",
    "Beta",
    "Divergence",
    "History",
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
