"""A limit on the seconds of learning: what fits into them, and how they are divided."""

from __future__ import annotations

import time

from phinmf.unmixing import forecast
from phinmf.unmixing.forecast import Size, Work, measured_speed

PLANNED = 0.8  #: share of the seconds that is planned for, since forecasts are not exact
FEW_FRAMES = 256  #: fewest frames to learn from
FEW_STEPS = 3  #: outer iterations; fewer are not worth starting
FIRST, LAST = 0.25, 0.15  #: shares of what is left, for NMF before and after the transform
NOTHING = Work(0.0, 0.0)


class Budget:
    """The seconds that learning may take from now on; None is no limit.

    A fit looks at the clock between its steps, but its work before and after them takes time as
    well, so that time is subtracted from its limit. On a processor the work is known in advance,
    and what does not fit is left out: frames first, then the transform.
    """

    def __init__(self, seconds: float | None, n_threads: int | None, on_processor: bool) -> None:
        self.seconds = seconds
        self.ends = None if seconds is None else time.perf_counter() + seconds
        self.speed = measured_speed(n_threads) if seconds is not None and on_processor else None

    def allows_transform(self, size: Size) -> bool:
        """Whether a few steps on a few frames, and what comes after them, fit into what is left."""
        few = size._replace(N=self.few_frames(size))
        work = forecast.transform_setup(few) + forecast.transform_iteration(few).times(FEW_STEPS)
        work = work + forecast.nmf_setup(few).times(2)
        left = self.left()
        return left is None or self.needed(work) < (1 - FIRST) * left

    def frames(self, size: Size, solves: bool) -> int:
        """Return how many frames to learn from, of those that exist: with more time never fewer.

        If a solver is asked for (`solves`), they are as few as its transform can be learned from,
        also where there is no time for it: the time at which it begins would reduce them.
        """
        if self.speed is None or self.seconds is None:
            return size.N
        fixed = self.needed(forecast.learning(size._replace(N=0), solves))
        each = (self.needed(forecast.learning(size, solves)) - fixed) / size.N
        affordable = min(size.N, (PLANNED * self.seconds - fixed) / each)
        return max(self.few_frames(size), int(affordable))

    def few_frames(self, size: Size) -> int:
        """Return the smallest number of frames to learn from."""
        return min(size.N, max(FEW_FRAMES, 2 * size.K))

    def first(self, size: Size, transform: bool) -> float | None:
        """Return the seconds for the iterations of NMF that come first."""
        left = self.left(forecast.nmf_setup(size))
        return left if left is None or not transform else FIRST * left

    def second(self, size: Size) -> float | None:
        """Return the seconds for learning the transform, with some left for what follows."""
        after = forecast.transform_setup(size) + forecast.nmf_setup(size)
        step = forecast.transform_iteration(size)  # the step during which the time runs out
        left = self.left(after + step)
        return None if left is None else (1 - LAST) * left

    def left(self, reserved: Work = NOTHING) -> float | None:
        """Return the seconds that are left after some work; None if there is no limit."""
        if self.ends is None:
            return None
        return max(0.0, self.ends - time.perf_counter() - self.needed(reserved))

    def needed(self, work: Work) -> float:
        """Return the seconds that some work takes; 0 if the speed is not known."""
        return 0.0 if self.speed is None else self.speed.seconds(work)
