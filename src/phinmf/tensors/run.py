"""Algorithm 1 for several restarts at once: what `algorithm.alternate` does to one, in a batch.

The restarts share the schedule, so they are in the same stage at the same time; each has its own
start, sample of frames, step lengths, history and end. One that has ended leaves the batch.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from phinmf._types import Tensor
from phinmf.algorithm.alternate import (
    LAST_NMF_STEPS,
    MORE_NMF_STEPS,
    REFRESH,
    Outcome,
    Settings,
    Stage,
    reason_to_stop,
    rounding,
    stage_of,
)
from phinmf.algorithm.annealing import Setting
from phinmf.algorithm.model import Iterate, Sample, draw
from phinmf.arrays import dtype_of
from phinmf.result import History, Row, Status
from phinmf.solvers import LBFGS
from phinmf.tensors import operations, workspace
from phinmf.tensors.batch import GRADIENT, LOSS, PENALTY, TARGET, Batch
from phinmf.tensors.descent import Restart, descend
from phinmf.tensors.frames import Frames
from phinmf.tensors.operations import current


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
        together.end_all(rest)
        return together.settle()


Settled = tuple[Iterate, tuple[float, float]]  #: where a restart is, its divergence and penalty


class Together:
    """Restarts on their way through the stages of one schedule."""

    def __init__(self, frames: Frames, starts: Sequence[Iterate], runs: Sequence[Settings]) -> None:
        self.frames, self.starts, self.runs, self.run = frames, starts, runs, runs[0]
        assert isinstance(self.run.solver, LBFGS)
        self.solver = self.run.solver
        self.alive = list(range(len(starts)))  #: which restart each place of the batch holds
        self.ends: dict[int, tuple[Iterate, Status]] = {}
        self.resting: dict[int, Iterate] = {}  #: where they stand while there is no batch
        self.samples: list[Sample] | None = None  #: the frames in use, if not all
        self.stage = Stage(None, dtype_of(frames.Y))
        self.clock = time.perf_counter()
        self.batch: Batch | None = self.opened(None, self.stage, starts)
        self.histories = [History(sum(terms)) for terms in costs(self.batch)]

    def iterate(self) -> None:
        """Make outer iterations until everyone has ended or `max_iter` is reached."""
        run = self.run
        for t in range(run.max_iter):
            now = run.schedule.at(t, time.perf_counter() - self.clock)
            wanted = stage_of(now, run, dtype_of(self.frames.Y))
            new_metric = t % self.solver.metric_every == 0 or wanted.dtype != self.stage.dtype
            if self.stage != wanted:
                self.change_stage(wanted, now.floor)
            batch = self.batch
            assert batch is not None
            batch.eps.fill_(now.floor)
            for step in range(run.n_iter_nmf * (MORE_NMF_STEPS if now.high else 1)):
                if step and self.out_of_time():
                    break
                batch.replay("nmf", batch.nmf_step)
            steps = descend(batch, run.n_iter_transform, new_metric, self.out_of_time)
            if t % REFRESH == REFRESH - 1:
                batch.replay("refresh", batch.refresh)
            self.record(batch, steps, now.floor)
            self.stop(batch, now)
            if not self.alive:
                return

    def out_of_time(self) -> bool:
        """Whether `max_time` has passed."""
        limit = self.run.max_time
        return limit is not None and time.perf_counter() - self.clock >= limit

    def record(self, batch: Batch, steps: list[Restart], floor: float) -> None:
        """Write the rows of an outer iteration."""
        report = batch.report.tolist()
        seconds = time.perf_counter() - self.clock
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
                    frames=batch.lengths[place],
                    seconds=seconds,
                    floor=floor,
                )
            )

    def stop(self, batch: Batch, now: Setting) -> None:
        """Let those end who have a reason to."""
        stay = []
        for place, number in enumerate(self.alive):
            run, history = self.runs[number], self.histories[number]
            last: Any = None  # which only a callback looks at, and may keep
            if run.callback is not None:
                last = batch.iterate(place)
            shape = (*self.frames.Y.shape[:2], batch.lengths[place])
            slack = rounding(history[-1].objective, shape, self.stage.dtype)
            reason = reason_to_stop(history, last, run, now, slack)
            if reason is None:
                stay.append(place)
            else:
                self.ends[number] = batch.iterate(place), reason
        if len(stay) < len(self.alive):
            samples = None if self.samples is None else [self.samples[place] for place in stay]
            self.move(stay, samples, self.stage, now.floor)

    def change_stage(self, wanted: Stage, floor: float) -> None:
        """Take other frames or another precision."""
        samples = None
        if wanted.n_frames is not None:
            rngs = (self.runs[number].rng for number in self.alive)
            samples = [draw(self.frames.weights, wanted.n_frames, rng) for rng in rngs]
        self.move(list(range(len(self.alive))), samples, wanted, floor)

    def move(
        self, places: list[int], samples: list[Sample] | None, stage: Stage, floor: float
    ) -> None:
        """Go on with these places of the batch in another one; at any moment it is known where."""
        old = self.batch
        assert old is not None
        alive = [self.alive[place] for place in places]
        self.resting = {n: old.iterate(p) for n, p in zip(alive, places, strict=True)}
        memory = old.memory.of(places)
        self.batch = None
        workspace.give(old)
        del old  # before there is another one
        batch = None
        if places:
            at = [self.resting[number] for number in alive]
            if self.samples is None and samples is not None:
                chosen = zip(at, map(self.indices, samples), strict=True)
                at = [replace(a, H=a.H[:, frames]) for a, frames in chosen]
            batch = self.opened(samples, stage, at, floor)
            batch.memory.take_over(memory)
        self.samples, self.stage, self.alive = samples, stage, alive
        self.batch = batch

    def end_all(self, status: Status) -> None:
        """Whoever has not ended ends where he stands."""
        batch = self.batch
        for place, number in enumerate(self.alive):
            if number not in self.ends:
                at = self.resting[number] if batch is None else batch.iterate(place)
                self.ends[number] = at, status
        if batch is not None:
            self.batch = None
            workspace.give(batch)

    def opened(
        self,
        samples: list[Sample] | None,
        stage: Stage,
        at: Sequence[Iterate],
        floor: float | None = None,
    ) -> Batch:
        """A batch on all frames or on a sample for each restart, which stand at these iterates."""
        Y, run = self.frames.Y, self.run
        _, M, N = Y.shape
        lengths = [N] * len(at)
        if samples is not None:
            lengths = [len(sample.weights) for sample in samples]
        weights = [self.frames.weights] if samples is None else [s.weights for s in samples]
        batch = workspace.take(
            (len(at), len(Y), M, max(lengths), at[0].W.shape[1]), getattr(torch, stage.dtype.name),
            Y.device, samples is None, all(bool((w == w[0]).all()) for w in weights),
            self.frames.kappa, run.nmf_exponent, self.solver.metric, self.solver.memory_size,
        )  # fmt: skip
        batch.set(run.mu, run.schedule.target, floor or run.schedule.target, self.frames.kept)
        for place, w in enumerate(weights):
            frames = Y if samples is None else Y[..., self.indices(samples[place])]
            batch.load(place, frames, torch.as_tensor(w, device=Y.device))
        batch.lengths = lengths
        batch.stand_at(at)
        return batch

    def indices(self, sample: Sample) -> Tensor:
        """The frames of a sample, where they are."""
        return torch.as_tensor(sample.frames, device=self.frames.Y.device)

    def settle(self) -> list[Outcome]:
        """Take every restart to all frames at the target floor; none is worse than its start.

        What it costs is computed by plain functions, for a kernel may be what went wrong.
        """
        n = LAST_NMF_STEPS if self.annealed else 0
        ends = [self.ends[number][0] for number in range(len(self.starts))]
        found = self.settled(ends, n)
        if self.annealed:
            self.replace_worse(found, n)
        lost = self.replace_worse(found, 0)
        outcomes = []
        for number, (last, terms) in enumerate(found):
            status = Status.NOT_BETTER if number in lost else self.ends[number][1]
            outcomes.append(Outcome(last, self.histories[number], status, *terms))
        return outcomes

    def replace_worse(self, found: list[Settled], n_iter_nmf: int) -> set[int]:
        """Go on from the start instead where the result is worse; return those far worse."""
        Y = self.frames.Y
        before = [history.start for history in self.histories]
        worse = [i for i, (_, terms) in enumerate(found) if not sum(terms) <= before[i]]
        slack = {i: rounding(before[i], tuple(Y.shape), dtype_of(Y)) for i in worse}
        lost = {i for i in worse if not sum(found[i][1]) <= before[i] + slack[i]}
        if worse:
            again = self.settled([self.starts[i] for i in worse], n_iter_nmf)
            for i, better in zip(worse, again, strict=True):
                found[i] = better
        return lost

    @property
    def annealed(self) -> bool:
        """Whether runs may end above where they began, and end with a few NMF steps."""
        return self.run.schedule.anneal is not None and self.run.max_iter > 0

    def settled(self, at: list[Iterate], n_iter_nmf: int) -> list[Settled]:
        """These iterates after some NMF steps on all frames at the target floor."""
        batch = self.opened(None, Stage(None, dtype_of(self.frames.Y)), at)
        for _ in range(n_iter_nmf):
            batch.replay("nmf", batch.nmf_step)
        found = [(batch.iterate(place), terms) for place, terms in enumerate(costs(batch))]
        workspace.give(batch)
        return found


def costs(batch: Batch) -> list[tuple[float, float]]:
    """Divergence and penalty of each restart at the floor of the batch, by plain functions."""
    plain, penalties = operations.plain(), batch.penalty().tolist()
    found = []
    for place, penalty in enumerate(penalties):
        one = slice(place, place + 1)
        weights = batch.weights if len(batch.weights) == 1 else batch.weights[one]
        X, WH = batch.X[one], batch.W[one] @ batch.H[one]
        loss = plain.loss(X, WH, weights, batch.equal, batch.eps, batch.kappa)
        found.append((float(loss), penalty))
    return found
