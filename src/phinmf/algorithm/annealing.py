"""Annealing the floor: barriers between sign patterns are low at first and rise during the run.

At a tiny floor the term -log x² makes a barrier around every sign pattern of X, and each has its
own local minimum. At a high floor the transform can cross these barriers, a few frames are enough
to find a direction, and so is single precision. Atoms whose power is far below the floor are not
seen at all. So a run begins with a sample of the frames in float32 and with the strongest atoms of
their Karhunen–Loève transform, uses all frames and more and more atoms as the floor falls, and ends
at the target floor with all of them. Its last NMF steps are in the precision of the data, and so is
what comes before them at the target if a small `tol` asks for it. (Small problems are neither
sampled nor computed in single precision, nor do they begin with few atoms: it would save no time.)
"""

from __future__ import annotations

from dataclasses import dataclass

from phinmf import checks


@dataclass(frozen=True)
class Anneal:
    """A schedule of floors: start · (knee/start)^(progress^shape), then the target at once.

    Parameters
    ----------
    start : float
        First floor, relative to the mean power.
    length : int
        Outer iterations from the start to the knee; compressed when max_iter or max_time is short.
    shape : float
        1 is a geometric schedule; if larger, the floor stays high for longer, then falls faster.
    knee : float
        Floor from which the schedule jumps to the target, since little changes below it.
    sample : float
        Number of frames of the sample, as a multiple of M, while the floor is above `all_frames`;
        0 always uses all frames.
    all_frames : float
        Floor below which all frames are used.
    coarse : float
        Only atoms of the Karhunen–Loève transform whose mean power is at least this multiple of
        the floor are learned, up to the knee; 0 always learns all of them. A run that starts from
        a given transform, W or H does so anyway.
    """

    start: float = 0.05
    length: int = 32
    shape: float = 2.5
    knee: float = 1e-6
    sample: float = 3.0
    all_frames: float = 2e-3
    coarse: float = 30.0

    def __post_init__(self) -> None:
        for name in ("start", "shape", "knee"):
            checks.number(name, getattr(self, name), 0, strict=True)
        for name in ("sample", "all_frames", "coarse"):
            checks.number(name, getattr(self, name), 0)
        checks.count("length", self.length, 1)
