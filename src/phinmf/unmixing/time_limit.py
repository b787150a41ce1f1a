"""A limit on the seconds of learning, kept by the clock.

A fit looks at the clock after each step, so a limit is exceeded by a step at most. What could not
be ended in time is left out before it begins: frames first, then the transform. For that a few
steps on a few frames are measured. At the same measured speed more time never means fewer frames.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from phinmf.arrays.threads import available, single_threaded_blas
from phinmf.unmixing.fits import OUTER_ITERATIONS, Fits

FEWEST = 256  #: frames
PLANNED = 0.8  #: share of the seconds that is planned for; the rest is for what is not measured
TRIAL = 0.05  #: share of the seconds in which the speed is measured
NMF_STEPS = 105  #: that NMF usually takes before and after the transform is learned
FEW_STEPS = 3  #: of the transform; fewer are not worth starting
FIRST, LAST = 0.25, 0.15  #: shares of the seconds left for NMF before and after the transform


@dataclass(frozen=True)
class Pace:
    """How fast this machine learns, measured on a few frames."""

    M: int  #: samples of a frame
    channels: int
    n_atoms: int  #: that are learned
    nmf_step: float  #: seconds of a step of NMF for each frame
    operation: float  #: seconds of a multiplication and addition in a product of matrices

    def transform_steps(self, n_steps: int, n_frames: int) -> float:
        """Return the seconds of some steps that learn the transform, and of what they begin with.

        Their products of matrices are counted: a step evaluates the objective three times and
        inverts matrices of the learned atoms; before it all frames are rotated.
        """
        M, P = self.M, self.n_atoms
        each_frame = 5 * M**2 + 7 * n_steps * P**2
        once = 2 * M**3 + (22 + 10 * n_steps) * P**3
        return self.operation * (each_frame * n_frames * self.channels + once)

    def learning(self, n_frames: int, transform: bool) -> float:
        """Return the seconds of learning from so many frames."""
        nmf = NMF_STEPS * self.nmf_step * n_frames
        return nmf + (self.transform_steps(OUTER_ITERATIONS, n_frames) if transform else 0.0)

    def affordable_frames(self, seconds: float, most: int, transform: bool) -> int:
        """Return how many frames, at most `most`, can be learned from in some seconds."""
        once = self.learning(0, transform)
        each = self.learning(1, transform) - once
        return int(max(0.0, min(most, (PLANNED * seconds - once) / each)))


def measured(fits: Fits, seconds: float) -> Pace:
    """Measure the pace of fits to a few frames, in a small share of the seconds."""
    C, M, n = fits.data.Y.shape
    steps = fits.nmf(max_time=TRIAL * seconds).history.seconds
    size = min(M, 768)
    A = np.ones((size, size), np.float32)
    with single_threaded_blas:
        product = min(seconds_of_product(A) for _ in range(3)) / size**3
    n_threads = min(fits.options.n_threads or available(), available())
    return Pace(
        M, C, M if fits.few is None else fits.few.number,
        nmf_step=float(np.median(np.diff([0.0, *steps]))) / n,
        operation=product / n_threads,
    )  # fmt: skip


def seconds_of_product(A: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> float:
    """Return how long a product of square matrices takes."""
    start = time.perf_counter()
    A @ A
    return time.perf_counter() - start


class TimeLimit:
    """The seconds that learning may take from now on; None is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self.ends = None if seconds is None else time.perf_counter() + seconds

    def left(self, share: float = 1.0, reserved: float = 0.0) -> float | None:
        """Return a share of the seconds that are left without those reserved; None: no limit."""
        if self.ends is None:
            return None
        return share * max(0.0, self.ends - time.perf_counter() - reserved)
