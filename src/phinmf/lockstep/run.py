"""Algorithm 1 for several restarts at once: what `phinmf.algorithm` does to one, in one batch.

The restarts share the schedule, so they are in the same stage at the same time; each has its own
start, sample of frames, step lengths, history and end. One that has ended leaves the batch.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from phinmf._types import Tensor
from phinmf.algorithm import (
    LAST_NMF_STEPS,
    MORE_NMF_STEPS,
    REFRESH,
    Settings,
    Stage,
    reason_to_stop,
    stage_of,
)
from phinmf.lockstep import workspace
from phinmf.lockstep.batch import GRADIENT, LOSS, PENALTY, TARGET, Batch
from phinmf.lockstep.descent import Restart, descend
from phinmf.lockstep.operations import current
from phinmf.model import Iterate, Sample, draw
from phinmf.result import History, Row, Status
from phinmf.solvers import LBFGS

MOST_TOGETHER = 64  #: restarts of a batch, by when any device is busy


class Frames(NamedTuple):
    """What all restarts share."""

    Y: Tensor  #: (C, M, N) at unit power
    weights: Any  #: (N,), NumPy
    kappa: float  #: of the divergence
    kept: Any = None  #: columns of W that stay

    @property
    def dtype(self) -> np.dtype[Any]:
        """Their precision, in NumPy's words."""
        return np.dtype(str(self.Y.dtype).removeprefix("torch."))


class Outcome(NamedTuple):
    """A restart at its end."""

    last: Iterate
    history: History
    status: Status
    divergence: float
    penalty: float


def restarts_within(memory: int | None, frames: Frames, n_components: int) -> int:
    """How many restarts fit into so many bytes; at least one is tried."""
    if memory is None:
        return MOST_TOGETHER
    C, M, N = frames.Y.shape
    item = frames.Y.element_size()
    each = (4 * C + 2) * M * N + (N + M) * n_components + 40 * M * M  # and matrices of L-BFGS
    whole = 0.9 * memory - 2 * C * M * N * item
    return max(1, min(MOST_TOGETHER, int(whole / (each * item))))


def run_together(
    frames: Frames, starts: Sequence[Iterate], runs: Sequence[Settings]
) -> list[Outcome]:
    """Run every restart to its end, then settle all on all frames at the target floor."""
    with current(frames.Y.device):
        together = Together(frames, starts, runs)
        try:
            together.iterate()
            rest = Status.MAX_ITER
        except KeyboardInterrupt:
            rest = Status.INTERRUPTED
        together.end(list(range(len(together.alive))), rest)
        return together.settle()


class Together:
    """Restarts on their way through the stages of one schedule."""

    def __init__(self, frames: Frames, starts: Sequence[Iterate], runs: Sequence[Settings]) -> None:
        self.frames, self.starts, self.runs, self.run = frames, starts, runs, runs[0]
        assert isinstance(self.run.solver, LBFGS)
        self.solver = self.run.solver
        self.alive = list(range(len(starts)))  #: which restart each place of the batch holds
        self.ends: dict[int, tuple[Iterate, Status]] = {}
        self.samples: list[Sample] | None = None  #: the frames in use, if not all
        self.stage: Stage | None = None
        self.clock = time.perf_counter()
        self.batch = self.open(None, frames.dtype, self.run.schedule.target, len(starts))
        self.enter(self.batch, starts)
        self.histories = [History(cost) for cost, _, _ in self.costs(self.batch)]

    def iterate(self) -> None:
        """Make outer iterations until everyone has ended or `max_iter` is reached."""
        run, target = self.run, self.run.schedule.target
        for t in range(run.max_iter):
            now = run.schedule.at(t, time.perf_counter() - self.clock)
            wanted = stage_of(now, run, self.frames.dtype)
            new_precision = self.stage is None or self.stage.dtype != wanted.dtype
            if self.stage != wanted:
                self.change_stage(wanted, now.floor)
            batch = self.batch
            batch.eps.fill_(now.floor)
            for _ in range(run.n_iter_nmf * (MORE_NMF_STEPS if now.high else 1)):
                batch.replay("nmf", batch.nmf_step)
            new_metric = new_precision or t % self.solver.metric_every == 0
            steps = descend(batch, run.n_iter_transform, new_metric)
            if t % REFRESH == REFRESH - 1:
                batch.replay("refresh", batch.refresh)
            self.record(steps, now.floor, now.settled, target)
            self.stop(now)
            if not self.alive:
                return

    def record(self, steps: list[Restart], floor: float, settled: bool, target: float) -> None:
        """Write the rows of an outer iteration."""
        seconds = time.perf_counter() - self.clock
        report = self.batch.report.tolist()
        for place, number in enumerate(self.alive):
            seen, step, history = report[place], steps[place], self.histories[number]
            before = history[-1].evaluations if len(history) else 0
            history.rows.append(
                Row(
                    objective=seen[LOSS] + seen[PENALTY],
                    divergence=seen[LOSS],
                    penalty=seen[PENALTY],
                    target_objective=seen[TARGET] + seen[PENALTY],
                    gradient=seen[GRADIENT],
                    steps=tuple(step.steps),
                    search_failed=step.failed,
                    evaluations=before + step.evaluations,
                    frames=self.batch.n_frames,
                    seconds=seconds,
                    floor=floor,
                )
            )

    def stop(self, now: Any) -> None:
        """Let those end who have a reason to."""
        batch, ended = self.batch, []
        for place, number in enumerate(self.alive):
            run, history = self.runs[number], self.histories[number]
            last: Any = None  # which only a callback looks at, and may keep
            if run.callback is not None:
                last = batch.iterate(place)
            reason = reason_to_stop(history, last, run, now)
            if reason is not None:
                ended.append((place, reason))
        for status in {reason for _, reason in ended}:
            self.end([place for place, reason in ended if reason is status], status, leave=False)
        if ended:
            gone = {place for place, _ in ended}
            self.keep([place for place in range(len(self.alive)) if place not in gone])

    def end(self, places: list[int], status: Status, leave: bool = True) -> None:
        """Note where these restarts ended."""
        batch = self.batch
        for place in places:
            self.ends[self.alive[place]] = batch.iterate(place), status
        if leave:
            self.keep([])

    def keep(self, places: list[int]) -> None:
        """Go on with these places of the batch alone."""
        old = self.batch
        self.alive = [self.alive[place] for place in places]
        if places:
            if self.samples is not None:
                self.samples = [self.samples[place] for place in places]
            floor = float(old.eps)
            dtype = np.dtype(str(old.dtype).removeprefix("torch."))
            self.batch = self.open(self.samples, dtype, floor, len(places))
            self.batch.take_over(old, torch.tensor(places, device=old.X.device))
        workspace.give(old)

    def change_stage(self, wanted: Stage, floor: float) -> None:
        """Take other frames or another precision."""
        old, before = self.batch, self.samples
        self.samples = None
        if wanted.n_frames is not None:
            rngs = (self.runs[number].rng for number in self.alive)
            self.samples = [draw(self.frames.weights, wanted.n_frames, rng) for rng in rngs]
        self.batch = self.open(self.samples, wanted.dtype, floor, len(self.alive))
        H: Sequence[Tensor] = old.H[..., : old.n_frames]
        if before is None and self.samples is not None:
            H = [h[:, self.indices(s)] for h, s in zip(H, self.samples, strict=True)]
        self.enter(self.batch, [Iterate(*at) for at in zip(old.Phi, old.W, H, strict=True)])
        self.batch.memory.take_over(old.memory)
        workspace.give(old)
        self.stage = wanted

    def open(
        self, samples: list[Sample] | None, dtype: np.dtype[Any], floor: float, B: int
    ) -> Batch:
        """A batch on some frames, or on all, that stands nowhere yet."""
        Y = self.frames.Y[None]
        weights = np.asarray(self.frames.weights)[None]
        if samples is not None:
            Y = torch.stack([Y[0][:, :, self.indices(sample)] for sample in samples])
            weights = np.stack([sample.weights for sample in samples])
        K = self.starts[0].W.shape[1]
        _, C, M, N = Y.shape
        solver = self.solver
        batch = workspace.take(
            (B, C, M, N, K), getattr(torch, dtype.name), Y.device, samples is None,
            bool((weights == weights[:, :1]).all()),
            self.frames.kappa, self.run.nmf_exponent, solver.metric, solver.memory_size,
        )  # fmt: skip
        here = torch.as_tensor(weights, device=Y.device)
        batch.load(Y, here, self.run.mu, floor, self.run.schedule.target, self.frames.kept)
        return batch

    def indices(self, sample: Sample) -> Tensor:
        """The frames of a sample, where they are."""
        return torch.as_tensor(sample.frames, device=self.frames.Y.device)

    def enter(self, batch: Batch, at: Sequence[Iterate]) -> None:
        """Go to these iterates, made orthogonal; frames without activations get them from W."""
        batch.stand_at(torch.stack([a.Phi for a in at]), torch.stack([a.W for a in at]))
        N = batch.n_frames
        if any(a.H.shape[1] != N for a in at):
            batch.activate()
        for place, a in enumerate(at):
            if a.H.shape[1] == N:
                batch.H[place, :, :N] = a.H

    def costs(self, batch: Batch) -> list[tuple[float, float, float]]:
        """Objective, divergence and penalty of each restart at the floor of the batch."""
        batch.begin()
        pairs = zip(batch.report[:, LOSS].tolist(), batch.penalty().tolist(), strict=True)
        return [(divergence + penalty, divergence, penalty) for divergence, penalty in pairs]

    def settle(self) -> list[Outcome]:
        """Everyone on all frames at the target floor, and nobody worse than at the start."""
        ends = [self.ends[number] for number in range(len(self.starts))]
        places = [last for last, _ in ends]
        settled = self.settled(places)
        annealed = self.run.schedule.anneal and self.run.max_iter > 0
        worse = [
            number
            for number, (_, (cost, _, _)) in enumerate(settled)
            if annealed and cost > self.histories[number].start
        ]
        if worse:
            again = self.settled([self.starts[number] for number in worse])
            for number, better in zip(worse, again, strict=True):
                settled[number] = better
        return [
            Outcome(last, history, status, divergence, penalty)
            for (last, (_, divergence, penalty)), history, (_, status) in zip(
                settled, self.histories, ends, strict=True
            )
        ]

    def settled(self, at: list[Iterate]) -> list[tuple[Iterate, tuple[float, float, float]]]:
        """These iterates after a few NMF steps at the target floor, and what they cost."""
        batch = self.open(None, self.frames.dtype, self.run.schedule.target, len(at))
        self.enter(batch, at)
        if self.run.schedule.anneal and self.run.max_iter > 0:
            for _ in range(LAST_NMF_STEPS):
                batch.replay("nmf", batch.nmf_step)
        costs = self.costs(batch)
        iterates = [batch.iterate(place) for place in range(len(at))]
        workspace.give(batch)
        return list(zip(iterates, costs, strict=True))
