"""A group of restarts that are one batch of tensors.

Restarts share the schedule, so all of them are in the same stage. Each has its own start, sample
of frames, step lengths, history and reason to stop. A restart that has ended leaves the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from phinmf._types import Array, Tensor
from phinmf.algorithm.annealing import Phase
from phinmf.algorithm.group import Final, Group, Measured, Position, Restart, Stage, stage_of
from phinmf.algorithm.model import Iterate, Sample, draw
from phinmf.algorithm.options import Options
from phinmf.algorithm.subspace import Subspace
from phinmf.arrays import cast, dtype_of
from phinmf.engines.base import OutOfTime
from phinmf.solvers import LBFGS
from phinmf.tensors import operations, workspace
from phinmf.tensors.batch import GRADIENT, LOSS, PENALTY, TARGET, Batch
from phinmf.tensors.descent import descend
from phinmf.tensors.frames import BatchFrames
from phinmf.tensors.layout import Layout
from phinmf.tensors.memory import fits, grown, packed, unpacked


class BatchGroup(Group):
    """Restarts and the batch that holds them, on all frames or on a sample of frames for each."""

    def __init__(
        self,
        frames: BatchFrames,
        options: Options,
        n_components: int,
        subspace: Subspace | None = None,
    ) -> None:
        assert isinstance(options.solver, LBFGS)
        self.frames, self.options, self.solver = frames, options, options.solver
        self.subspace = subspace
        C, M, N = frames.Y.shape
        self.shape, self.dtype, self.K = (C, M, N), dtype_of(frames.Y), n_components
        self.total_weight = float(frames.weights.sum())
        self.running: list[int] = []  #: the restart in each place of the batch
        self.saved: dict[int, Iterate] = {}  #: iterates, used while one batch replaces another
        self.samples: list[Sample] | None = None  #: the frames in use; None: all
        self.stage = Stage(None, self.dtype)
        self.age = 0  #: updates of Φ since the start
        self.batch: Batch | None = None

    def begin(self, restarts: Sequence[Restart]) -> list[float]:
        self.restarts = restarts
        self.running = list(range(len(restarts)))
        snapshots = [r.resumed for r in restarts if r.resumed is not None]
        if not snapshots:
            self.batch = self.opened(None, self.stage)
            self.batch.go_to([restart.start for restart in restarts], self.options.floor)
            return [final.objective for final in self.costs(self.batch)]
        positions = [snapshot.position for snapshot in snapshots]
        self.stage, self.age = positions[0].stage, len(snapshots[0].history)
        samples = [p.sample for p in positions if p.sample is not None]
        self.samples = samples or None
        if positions[0].basis is not None:
            assert self.subspace is not None
            self.subspace = replace(self.subspace, basis=positions[0].basis)
        self.batch = self.opened(self.samples, self.stage)
        self.batch.continue_at([p.last for p in positions])
        self.batch.memory.take_over(unpacked([p.memory for p in positions]))
        return [snapshot.history.start for snapshot in snapshots]

    def open(self, phase: Phase) -> None:
        wanted = stage_of(phase, self.dtype)
        every = self.solver.metric_every
        same = wanted._replace(n_frames=None) == self.stage._replace(n_frames=None)
        self.new_metric = self.age % every == 0 or not same
        self.floor = phase.floor
        if self.stage != wanted:
            samples = None
            if wanted.n_frames is not None:
                rngs = (self.restarts[number].rng for number in self.running)
                samples = [draw(self.frames.weights, wanted.n_frames, rng) for rng in rngs]
            self.move(self.running, samples, wanted)
        assert self.batch is not None
        self.batch.eps.fill_(phase.floor)

    def forget(self) -> None:
        assert self.batch is not None
        every = torch.ones(len(self.running), dtype=torch.bool, device=self.frames.Y.device)
        self.batch.memory.clear(every)
        self.new_metric = True

    def nmf(self, n_iter: int, out_of_time: OutOfTime) -> None:
        batch = self.batch
        assert batch is not None
        for step in range(n_iter):
            if step and out_of_time():
                break
            batch.replay("nmf", batch.nmf_step)

    def descend(self, n_iter: int, out_of_time: OutOfTime) -> None:
        assert self.batch is not None
        self.steps = descend(self.batch, n_iter, self.new_metric, out_of_time)
        self.age += 1

    def refresh(self) -> None:
        assert self.batch is not None
        self.batch.replay("refresh", self.batch.refresh)

    def measure(self) -> list[Measured]:
        batch = self.batch
        assert batch is not None
        report = batch.report.tolist()
        return [
            Measured(
                seen[LOSS], seen[PENALTY], seen[TARGET] + seen[PENALTY], seen[GRADIENT],
                tuple(step.steps), step.failed, step.evaluations, length, batch.shape[2],
            )
            for seen, step, length in zip(report, self.steps, batch.lengths, strict=True)
        ]  # fmt: skip

    def iterate(self, number: int) -> Iterate:
        at = self.saved.get(number)
        if self.batch is not None:
            at = self.batch.iterate(self.running.index(number))
        assert at is not None
        if len(at.Phi) == self.shape[1]:
            return at
        at = self.with_atoms(at, None)
        return replace(at, Phi=cast(at.Phi, self.dtype))

    def with_atoms(self, at: Iterate, n_atoms: int | None) -> Iterate:
        """Return an iterate with another number of atoms (None: all)."""
        P = n_atoms or self.shape[1]
        return at if self.subspace is None else self.subspace.with_atoms(at, P)

    def position(self, number: int) -> Position:
        assert self.batch is not None
        place = self.running.index(number)
        sample = None if self.samples is None else self.samples[place]
        memory = packed(self.batch.memory.of([place]))
        basis = None
        if self.stage.n_atoms is not None:
            assert self.subspace is not None
            basis = self.subspace.basis
        return Position(self.batch.iterate(place), memory, sample, self.stage, basis)

    def fits(self, memory: Mapping[str, Array], n_atoms: int) -> bool:
        return fits(memory, self.solver.memory_size, n_atoms)

    def drop(self, ended: Sequence[int]) -> None:
        stay = [number for number in self.running if number not in ended]
        samples = None
        if self.samples is not None:
            samples = [self.samples[self.running.index(number)] for number in stay]
        self.move(stay, samples, self.stage)

    def move(self, numbers: list[int], samples: list[Sample] | None, stage: Stage) -> None:
        """Continue some restarts in another batch; `iterate` works whenever this is interrupted."""
        old = self.batch
        assert old is not None
        places = [self.running.index(number) for number in numbers]
        self.saved = {n: old.iterate(place) for n, place in zip(numbers, places, strict=True)}
        memory = old.memory.of(places)
        self.batch = None
        workspace.give(old)
        del old  # so that its memory is free before the next batch is allocated
        batch = None
        if numbers:
            at = [self.with_atoms(self.saved[number], stage.n_atoms) for number in numbers]
            if self.samples is None and samples is not None:
                chosen = zip(at, map(self.indices, samples), strict=True)
                at = [replace(a, activations=a.H[:, frames]) for a, frames in chosen]
            batch = self.opened(samples, stage, len(at))
            batch.go_to(at, self.floor)
            batch.memory.take_over(grown(memory, batch.shape[2]))
        self.samples, self.stage, self.running = samples, stage, numbers
        self.batch, self.saved = batch, {}

    def close(self) -> None:
        if self.batch is not None:
            batch, self.batch = self.batch, None
            workspace.give(batch)

    def opened(
        self, samples: list[Sample] | None, stage: Stage, n_restarts: int | None = None
    ) -> Batch:
        """Return a batch on all frames, or on a sample for each restart, without iterates."""
        Y, options = self.frames.Y, self.options
        C, M, N = self.shape
        atoms: Tensor | None = None
        if stage.n_atoms is not None:
            assert self.subspace is not None
            atoms = self.subspace.basis[: stage.n_atoms]
        n = len(self.running) if n_restarts is None else n_restarts
        lengths = [N] * n
        if samples is not None:
            lengths = [len(sample.weights) for sample in samples]
        weights = [self.frames.weights] if samples is None else [s.weights for s in samples]
        batch = workspace.take(
            Layout(
                shape=(n, C, stage.n_atoms or M, max(lengths), self.K),
                dtype=getattr(torch, stage.dtype.name),
                device=Y.device,
                shared=samples is None,
                equal=all(bool((w == w[0]).all()) for w in weights),
                family=self.frames.family,
                gamma=options.nmf_exponent,
                metric=self.solver.metric,
                memory_size=self.solver.memory_size,
            )
        )
        batch.set(options.penalty, options.floor, self.frames.kept)
        for place, w in enumerate(weights):
            frames = Y if samples is None else Y[..., self.indices(samples[place])]
            if atoms is not None:
                frames = atoms.to(batch.dtype) @ frames.to(batch.dtype)
            batch.load(place, frames, torch.as_tensor(w, device=Y.device))
        batch.lengths = lengths
        return batch

    def indices(self, sample: Sample) -> Tensor:
        """Return the frames of a sample as indices on the device."""
        return torch.as_tensor(sample.frames, device=self.frames.Y.device)

    def finish(self, iterates: Sequence[Iterate], n_iter_nmf: int) -> list[Final]:
        batch = self.opened(None, Stage(None, self.dtype), len(iterates))
        batch.go_to(iterates, self.options.floor)
        for _ in range(n_iter_nmf):
            batch.replay("nmf", batch.nmf_step)
        found = self.costs(batch)
        workspace.give(batch)
        return found

    def costs(self, batch: Batch) -> list[Final]:
        """Return every restart with its costs at the floor of the batch.

        The plain functions compute them, so that a wrong kernel cannot hide that a result is worse.
        """
        plain, found = operations.plain(), []
        for place, penalty in enumerate(batch.penalties().tolist()):
            one = slice(place, place + 1)
            weights = batch.weights if len(batch.weights) == 1 else batch.weights[one]
            X, WH = batch.X[one], batch.W[one] @ batch.H[one]
            loss = plain.loss(X, WH, weights, batch.equal, batch.eps, batch.family)
            found.append(Final(batch.iterate(place), float(loss), penalty))
        return found
