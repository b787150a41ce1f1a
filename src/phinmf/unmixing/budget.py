"""A limit on the seconds of learning: what fits into them, and how they are shared out."""

from __future__ import annotations

import time

from phinmf.unmixing import estimate
from phinmf.unmixing.estimate import Size, Work, measured_speed

PLANNED = 0.8  #: share of the seconds that is planned with: estimates are no better
FEW_FRAMES = 256  #: from which something can still be learned
FEW_STEPS = 3  #: outer iterations; with fewer it does not pay to begin
FIRST, LAST = 0.25, 0.15  #: shares of what is left, for NMF before and after the transform
NOTHING = Work(0.0, 0.0)


class Budget:
    """The seconds that learning may take from now on; None is no limit.

    A fit looks at the clock between its steps, and what it does before and after them takes time as
    well: so its limit is what remains, less that. On a processor the work is known beforehand, and
    what will not fit is left out: frames first, then the transform.
    """

    def __init__(self, seconds: float | None, n_threads: int | None, on_processor: bool) -> None:
        self.seconds = seconds
        self.ends = None if seconds is None else time.perf_counter() + seconds
        self.speed = measured_speed(n_threads) if seconds and on_processor else None

    def allows_transform(self, size: Size) -> bool:
        """Whether a few steps on a few frames, and what comes after them, fit into what is left."""
        few = size._replace(N=self.few_frames(size))
        work = estimate.transform_setup(few) + estimate.transform_iteration(few).times(FEW_STEPS)
        work = work + estimate.nmf_setup(few).times(2)
        left = self.left()
        return left is None or self.needed(work) < (1 - FIRST) * left

    def frames(self, most: Size, transform: bool) -> int:
        """How many of at most so many frames to learn from."""
        if self.speed is None or self.seconds is None:
            return most.N
        fixed = self.needed(estimate.learning(most._replace(N=0), transform))
        each = (self.needed(estimate.learning(most, transform)) - fixed) / most.N
        affordable = int((PLANNED * self.seconds - fixed) / each)
        return max(self.few_frames(most), min(most.N, affordable))

    def few_frames(self, size: Size) -> int:
        """The least number of frames to learn from."""
        return min(size.N, max(FEW_FRAMES, 2 * size.K))

    def first(self, size: Size, transform: bool) -> float | None:
        """Seconds for the iterations of NMF that come first."""
        left = self.left(estimate.nmf_setup(size))
        return left if left is None or not transform else FIRST * left

    def second(self, size: Size) -> float | None:
        """Seconds for the steps of the transform, so that something is left for what follows."""
        after = estimate.transform_setup(size) + estimate.nmf_setup(size)
        step = estimate.transform_iteration(size)  # the one during which the time runs out
        left = self.left(after + step)
        return None if left is None else (1 - LAST) * left

    def left(self, reserved: Work = NOTHING) -> float | None:
        """Seconds that are left beside some work; None if there is no limit."""
        if self.ends is None:
            return None
        return max(0.0, self.ends - time.perf_counter() - self.needed(reserved))

    def needed(self, work: Work) -> float:
        """Seconds that some work takes, as far as that is known."""
        return 0.0 if self.speed is None else self.speed.seconds(work)
