"""The transform step of a batch: L-BFGS, with a line search for each restart.

After each trial one report is copied from the device, and the line searches decide on the host.
Nearly every step of length 1 is accepted, so three things are launched at once: accepting a trial,
the next direction, and the first trial along it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from phinmf.engines.base import OutOfTime, never
from phinmf.linalg.line_search import Origin, StrongWolfe
from phinmf.solvers.base import FARTHEST
from phinmf.tensors.batch import LOSS, NORM, PAIRS, SLOPE, TRIAL_LOSS, TRIAL_SLOPE, Batch
from phinmf.tensors.exponential import SQUARINGS, reach


class Point(NamedTuple):
    """A trial of a line search."""

    eta: float
    loss: float
    slope: float


@dataclass
class TransformStep:
    """The transform step of one restart: the steps that were accepted, and the line search."""

    steps: list[float] = field(default_factory=list)
    evaluations: int = 1
    failed: bool = False
    search: StrongWolfe[Point] | None = None

    def goes_on(self, n_iter: int) -> bool:
        """Whether another step is to be made."""
        return not self.failed and len(self.steps) < n_iter


def descend(
    batch: Batch, n_iter: int, new_metric: bool, out_of_time: OutOfTime = never
) -> list[TransformStep]:
    """Make at most `n_iter` steps with each restart, then summarise; the loss never rises."""
    restarts = [TransformStep() for _ in range(batch.shape[0])]
    first = SQUARINGS[0]

    def begin() -> None:
        batch.begin()
        if new_metric:
            batch.measure_curvature()
        aim()

    def aim() -> None:
        batch.aim()
        batch.trial(first)

    def accept_and_aim() -> None:
        batch.accept()
        aim()

    def finish() -> None:
        batch.accept()
        batch.summarise()

    batch.replay("begin with metric" if new_metric else "begin", begin)
    while True:
        report = batch.report.tolist()
        moving = [b for b, restart in enumerate(restarts) if restart.goes_on(n_iter)]
        search(batch, restarts, moving, report)
        accepted = [False] * len(restarts)
        for b in moving:
            found = restarts[b].search.found  # type: ignore[union-attr]
            if found is not None:
                restarts[b].steps.append(found.eta)
                accepted[b] = True
            elif report[b][PAIRS] == 0:
                restarts[b].failed = True
        retry = [b for b in moving if not accepted[b] and not restarts[b].failed]
        if retry:  # without pairs, that is along the preconditioned gradient
            without_pairs = [b in retry for b in range(len(restarts))]
            batch.memory.clear(torch.tensor(without_pairs, device=batch.X.device))
        batch.set_accepted(accepted)
        if out_of_time():
            n_iter = 0
        if not any(restart.goes_on(n_iter) for restart in restarts):
            batch.replay("finish", finish)
            return restarts
        batch.replay("accept and aim", accept_and_aim)


def search(
    batch: Batch, restarts: list[TransformStep], moving: list[int], report: list[list[float]]
) -> None:
    """Run the line searches to their end; then the trials in memory are those that were found."""
    etas = dict.fromkeys(moving, 1.0)  # of the trials in memory
    norms = {b: report[b][NORM] for b in moving}  # of E
    squared = dict.fromkeys(moving, SQUARINGS[0])  # how often, in the trials in memory
    for b in moving:
        restarts[b].search = StrongWolfe(Origin(report[b][LOSS], report[b][SLOPE]))
    unfinished = moving
    while unfinished:
        again = []
        for b in unfinished:
            wolfe = restarts[b].search
            assert wolfe is not None
            restarts[b].evaluations += 1
            while wolfe.eta is not None:
                needed = squarings_for(norms[b] * wolfe.eta, batch.dtype)
                if needed is None or too_far(batch, b, norms[b], wolfe.eta):
                    point = Point(wolfe.eta, math.inf, math.nan)
                elif wolfe.eta == etas[b] and needed <= squared[b]:
                    point = Point(wolfe.eta, report[b][TRIAL_LOSS], report[b][TRIAL_SLOPE])
                else:
                    break
                wolfe.tell(point)
            last = wolfe.found.eta if wolfe.eta is None and wolfe.found else wolfe.eta
            if last is not None and not (last == etas[b] and wolfe.eta is None):
                etas[b] = last  # the next trial, or an earlier one that was the best
                again.append(b)
        if again:
            needs = [squarings_for(norms[b] * etas[b], batch.dtype) or 0 for b in again]
            squared |= dict.fromkeys(again, max(needs))
            batch.try_again(again, [etas[b] for b in again], max(needs))
            report = batch.report.tolist()
        unfinished = again


def too_far(batch: Batch, b: int, norm: float, eta: float) -> bool:
    """Whether a step turns a pair of atoms farther than the solvers allow."""
    return norm * eta > FARTHEST and float(batch.E[b].abs().max()) * eta > FARTHEST


def squarings_for(norm: float, dtype: torch.dtype) -> int | None:
    """Return the least number of squarings for this norm; None if it is too large or NaN."""
    return next((s for s in SQUARINGS if norm <= reach(dtype, s)), None)
