"""Shards on the workers of a Dask cluster: only sums over frames are sent.

Each shard is an actor on one worker. Calls that return nothing wait until one that returns
something is sent with them, to every shard or, if there are many, along a tree of workers. When a
worker is lost, its shard is made again on another one, from the source of its frames and the
journal: with the same bits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from phinmf._types import Precision
from phinmf.arrays import cluster_tasks, cluster_watch
from phinmf.arrays.cluster_watch import ClusterWorkers, Lost, Watch
from phinmf.arrays.lazy import is_lazy
from phinmf.engines.remote import tree
from phinmf.engines.remote.actor import ShardActor
from phinmf.engines.remote.connection import check_workers
from phinmf.engines.remote.journal import Journal
from phinmf.engines.remote.message import Message, Step
from phinmf.engines.remote.old_shard import Shard
from phinmf.engines.remote.old_shards import Call, Shards
from phinmf.engines.remote.old_stretch import Stretch
from phinmf.engines.remote.post import Post
from phinmf.engines.remote.source import pieces

log = logging.getLogger("phinmf")
FRAMES = -1  #: number of the message that brings the frames; those that follow count from 0


class ClusterShards(Shards):
    """One shard on each worker."""

    def __init__(
        self,
        watch: Watch,
        source: Any,
        dtype: Precision,
        stretches: list[Stretch],
        n_blocks: int,
    ) -> None:
        super().__init__(n_blocks)
        self.watch = watch
        self.client = watch.client
        self.source = source
        self.dtype = dtype
        self.stretches = stretches  #: one for each shard
        self.journal = Journal()
        self.waiting: list[Call] = []  #: calls that are not sent yet: they return nothing
        self.sent = Message(FRAMES, ())  #: the last message
        self.answered = True  #: whether all shards have answered it
        self.lost: set[int] = set()  #: shards that have to be made again
        self.hold_trial = True  #: whether all shards hold the trial point
        self.post = Post(watch)
        self.tree_from = tree.pays_from()  #: number of shards
        self.threads = watch.ready()  #: of each worker that was ready when last asked
        order = sorted(self.threads)
        self.at = [order[i % len(order)] for i in range(len(stretches))]  #: address of each shard
        self.actors = [self._submit(i) for i in range(len(stretches))]
        for i in range(len(stretches)):
            try:
                self._finish(i, order)
            except Lost as lost:
                self._remake(i, self.sent, lost)

    def close(self) -> None:
        """Let the workers free their shards."""
        self.actors = []

    def answers(self, call: Call) -> list[Any]:
        if not self.answered:  # it was interrupted: those that have not made its calls do so now
            self._deliver()
        if self.journal.outgrown_by(call):
            self.answers(Call(Shard.activations.__name__))
        self.journal.note(call)
        self.waiting.append(call)
        if call.access.returns == "None":
            return [None] * len(self.stretches)
        answers = self.flush()
        if call.access.restored_by is not None:
            self.journal.note(Call(call.access.restored_by, rows=np.concatenate(answers)))
        return answers

    def flush(self) -> list[Any]:
        """Send the calls that wait, and return the answers to the last one."""
        if not self.waiting:
            return []
        message = Message(self.sent.number + 1, tuple(self.waiting))
        self.sent, self.answered, self.waiting = message, False, []
        try:
            return self._deliver()
        except Exception:  # it was answered by an error
            self.answered = True
            raise

    def _deliver(self) -> list[Any]:
        """Let every shard that has not done so make the calls of the last message."""
        message, answers = self.sent, None
        if len(self.stretches) >= self.tree_from and not self.lost and tree.may_take(message):
            with contextlib.suppress(Lost):
                answers = self._relay(message)
        if answers is None:
            answers = self._ask_each(message)
        if any("trial" in call.access.changes for call in message.calls):
            self.hold_trial = True
        self.answered = True
        return answers

    def _relay(self, message: Message) -> list[Any]:
        """Send a message along a tree; raise `Lost` if one of its workers is lost."""
        places = [(at, actor.key) for at, actor in zip(self.at, self.actors, strict=True)]
        steps = message.steps(slice(0), self.hold_trial)  # the same for all frames
        answer = self.post.send(places[0], "relay", message.number, steps, places, self.n_blocks)
        answers: list[Any] = self.watch.result(answer, cluster_watch.without(*self.at))
        return answers

    def _ask_each(self, message: Message) -> list[Any]:
        """Send a message to each shard; make those again that are lost."""
        answers = []
        asked = {
            i: self.call(i, message.number, message.steps(stretch.frames, self.hold_trial))
            for i, stretch in enumerate(self.stretches)
            if i not in self.lost
        }
        for i in range(len(self.stretches)):
            try:
                if i in self.lost:  # it was interrupted when it was made again
                    raise Lost(self.at[i])
                answers.append(self._wait(i, asked[i]))
            except Lost as lost:
                self.lost.add(i)
                self.hold_trial = False
                answers.append(self._remake(i, message, lost))
        return answers

    def call(self, i: int, number: int, steps: list[Step]) -> Future[Any]:
        """Send the steps of a message to a shard; the future holds its answer."""
        return self.post.send((self.at[i], self.actors[i].key), "ask", number, steps)

    def _wait(self, i: int, answer: Future[Any]) -> Any:
        """Wait for what a shard returns, unless its worker is lost."""
        return self.watch.result(answer, cluster_watch.without(self.at[i]))

    # making shards

    def _submit(self, i: int, resubmit: bool = False) -> Any:
        """Let a worker make a shard; resubmit: compute its frames again, under new keys."""
        frames, where = self.stretches[i].frames, [self.at[i]]
        parts: Any = None
        if is_lazy(self.source):
            compute = self.client.compute
            if resubmit:
                compute = partial(cluster_tasks.resubmit, self.client, self.source)
            parts = compute(pieces(self.source, frames), workers=where, allow_other_workers=True)
        C, M, _ = self.source.shape
        shape = C, frames.stop - frames.start, M
        return self.client.submit(
            ShardActor, parts, shape, self.dtype, self.threads[self.at[i]], self.stretches[i],
            actor=True, workers=where, pure=False,
        )  # fmt: skip

    def _finish(self, i: int, others: Sequence[str] = ()) -> None:
        """Wait until a shard is made; other workers may compute chunks that it needs."""
        actor = self.actors[i]

        async def made() -> None:
            while actor.status in ("pending", "lost"):
                await asyncio.sleep(0.01)

        def lost(found: ClusterWorkers) -> bool:
            return any(self.watch.unready(address, found) for address in (self.at[i], *others))

        try:
            self.watch.result(self.watch.begin(made()), lost, [actor])
        except Lost:
            if not others or self.watch.unready(self.at[i], self.watch.look()):
                raise
            self.actors[i] = self._submit(i, resubmit=True)
            self._finish(i)
            return
        failed = actor.exception() if actor.status == "error" else None
        if failed is not None and not cluster_tasks.of_a_lost_worker(failed):
            raise failed
        if actor.status != "finished":
            raise Lost(self.at[i]) from failed
        if not is_lazy(self.source):
            Y = self.source[:, :, self.stretches[i].frames]
            self._wait(i, self.call(i, FRAMES, [("hold", ([Y],))]))

    def _make_elsewhere(self, i: int) -> None:
        """Make a lost shard on the worker that has the fewest shards."""
        gone, self.actors[i] = self.at[i], None  # the scheduler would wait for its worker
        self.threads = self.watch.ready()
        # it may have come back, or only seemed lost
        others = self.threads.keys() - {gone} or set(self.threads)
        self.at[i] = min(others, key=lambda address: (self.at.count(address), address))
        log.warning("worker %s is lost: its frames go to %s", gone, self.at[i])
        check_workers(self.watch)
        self.actors[i] = self._submit(i, resubmit=True)
        self._finish(i)

    def _remake(self, i: int, message: Message, lost: Lost) -> Any:
        """Make a lost shard again, repeat the journal, and return its answer to a message."""
        again = list(self.journal.calls)
        # a call in the journal is made with the rest of the journal
        again += [call for call in message.calls[-1:] if call not in again]
        repeated = replace(message, calls=tuple(again))
        steps = repeated.steps(self.stretches[i].frames, holds_trial=False)
        for _ in range(cluster_tasks.ATTEMPTS):
            try:
                self._make_elsewhere(i)
                answer = self._wait(i, self.call(i, message.number, steps)) if steps else None
            except Lost as error:
                lost = error
            else:
                self.lost.discard(i)
                return answer
        raise cluster_tasks.too_often(self.client, lost)
