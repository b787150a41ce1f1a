"""One pass over a stream of frames, which do not fit into memory, or never end."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from phinmf import arrays
from phinmf._types import Array, Device
from phinmf.algorithm.restart import Callback
from phinmf.fit.advice import advise, transposed
from phinmf.fit.blocks import Blocks, with_sound
from phinmf.fit.checkpoint import Files
from phinmf.fit.devices import ComputeDevice
from phinmf.fit.online import OnlineFit, Progress
from phinmf.fit.online_options import description
from phinmf.fit.printed import print_end, say
from phinmf.fit.stream_file import Position, StreamFile
from phinmf.linalg.manifold import exactly_orthogonal
from phinmf.result import History, Result, Row, State, Status, Terms
from phinmf.warn import warn

HISTORY = 10_000  #: number of steps that a history holds: the last ones

#: What is called after every block; whether the history has a new row -> a reason to stop.
Watch = Callable[[bool], Status | None]
MakeFit = Callable[[Array], OnlineFit]  #: what is asked for, given the first frames (C, M, n)


@dataclass
class Learner:
    """A fit that learns block by block, where it is, and its history."""

    fit: OnlineFit
    at: Progress = field(default_factory=Progress)
    history: History = field(default_factory=lambda: History(0.0))
    seconds: float = 0.0  #: spent on learning; waiting for frames does not count

    def learn(self, Y: Array, weights: Array | None = None) -> bool:
        """Learn from a block (C, M, n); return whether the history has a new row."""
        start, block = time.perf_counter(), with_sound(Y, weights)
        if block is None:
            return False
        self.at, row = self.fit.step(self.at, block)
        self.seconds += time.perf_counter() - start
        return row is not None and self.noted(row)

    def complete(self) -> bool:
        """Learn from what has arrived, even if it is less than the first fit usually has.

        Return whether the history has a new row.
        """
        if self.at.learned is not None or self.at.window is None:
            return False
        start = time.perf_counter()
        self.at, row = self.fit.begun(self.at)
        self.seconds += time.perf_counter() - start
        return self.noted(row)

    def noted(self, row: Row) -> bool:
        """Add a row to the history, which holds the last ones."""
        if not len(self.history):
            self.history.start = row.objective
        self.history.rows.append(row._replace(seconds=self.seconds))
        del self.history.rows[:-HISTORY]
        return True

    @property
    def factors(self) -> tuple[Array, Array]:
        """Φ and W, in the precision of the frames; columns that stay are as they were given."""
        known, window = self.at.learned, self.at.window
        assert known is not None
        assert window is not None
        W, columns = arrays.copied(known.W), self.fit.columns
        if columns is not None:
            W[:, columns] = self.fit.W[:, columns]
        dtype = arrays.dtype_of(window.Y)
        return exactly_orthogonal(known.Phi, dtype), arrays.cast(W, dtype)

    def state(self) -> State:
        """The argument of a callback."""
        Phi, W = self.factors
        row = self.history[-1]
        return State(self.at.step, row.objective, self.history, Phi, W, self.at.scale)

    def result(self, status: Status) -> Result:
        """What was learned so far."""
        at, options = self.at, self.fit.options
        Phi, W = self.factors
        return Result(
            Phi=Phi, W=W, H=None, objective=at.divergence + at.penalty, divergence=at.divergence,
            penalty=at.penalty, history=self.history, status=status,
            floor=options.algorithm.floor * at.scale**2, scale=at.scale, n_atoms=len(Phi),
            terms=Terms(options.divergence, options.algorithm.penalty),
        )  # fmt: skip


def learn_stream(
    stream: Iterable[Any],
    make_fit: MakeFit,
    *,
    files: Files,
    callback: Callback | None = None,
    max_time: float | None = None,
    device: Device = None,
    verbose: bool = False,
) -> Result:
    """Learn from all frames of a stream, in one pass."""
    blocks = Blocks(stream, device)
    with blocks.place.computing():
        learner = Learner(make_fit(blocks.example))
        if what := transposed(blocks.first):
            warn(f"{what}: pass the transpose of each block", UserWarning)
        advise(blocks.first, learner.fit.options, more_come=True)
        watch = watching(learner, blocks.place, callback, max_time, verbose)
        status = one_pass(learner, blocks, files, watch)
        if learner.at.window is None:
            raise ValueError("the stream is all zero: there is nothing to learn from silence")
        result = learner.result(status)
        print_end("tl_nmf", result, verbose)
        Phi, W = (blocks.place.back(factor) for factor in (result.Phi, result.W))
        return replace(result, Phi=Phi, W=W)


def one_pass(learner: Learner, blocks: Blocks, files: Files, watch: Watch) -> Status:
    """Learn from one block after the other; return why it ended.

    However it ends, the last checkpoint is at the end of a whole block, with the history up to it.
    So a pass over a longer stream can continue from it with the same bits.
    """
    size = learner.fit.block_size
    file = StreamFile(files, description(learner.fit, blocks.example) if files.used else {})
    position = Position()
    if resumed := file.resumed(learner.fit, blocks):
        learner.fit, position = resumed
        learner.at, learner.history = position.at, position.history.copied()
        learner.seconds = learner.history[-1].seconds if len(learner.history) else 0.0
    status, Y = None, blocks.take(size)
    try:
        while status is None and Y is not None and Y.shape[2] == size:
            stepped = learner.learn(Y)
            if files.used:
                position = position.after(learner.at, learner.history, Y)
            file.keep(position, learner.fit.seed)
            status = watch(stepped)
            Y = None if status else blocks.take(size)
        file.keep(position, learner.fit.seed, now=True)
        stepped = Y is not None and learner.learn(Y)  # fewer frames than a block
        if learner.complete() or stepped:
            watch(True)
    except KeyboardInterrupt:
        file.keep(position, learner.fit.seed, now=True)
        if learner.at.learned is None:  # not even the first fit is complete
            raise
        return Status.INTERRUPTED
    except Exception:
        with contextlib.suppress(OSError, ValueError):  # the first error is the one to report
            file.keep(position, learner.fit.seed, now=True)
        raise
    return status or Status.STREAM_ENDED


def watching(
    learner: Learner,
    place: ComputeDevice,
    callback: Callback | None,
    max_time: float | None,
    verbose: bool,
) -> Watch:
    """Return what is called after every block."""
    began = time.perf_counter()

    def watch(stepped: bool) -> Status | None:
        if stepped and verbose:
            print_step("tl_nmf", learner)
        if stepped and callback is not None and callback(place.for_callback(learner.state())):
            return Status.CALLBACK
        if max_time is not None and time.perf_counter() - began >= max_time:
            return Status.MAX_TIME
        return None

    return watch


def print_step(name: str, learner: Learner) -> None:
    """Print what the last step measured, per entry."""
    row, n_frames = learner.history[-1], learner.at.n_frames
    cost = row.objective / (row.frames * row.atoms)
    say(
        f"{name}: step {learner.at.step}, {n_frames} frames, objective per entry {cost:.4g},"
        f" {row.seconds:.1f} s"
    )
