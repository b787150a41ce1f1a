"""Pieces of frames on their way to a device: while it computes with one, others are copied.

What flows is the *base* of each piece, of which X is a transform: Y at first. If there is memory
for it, X is stored as the new base when it has been computed, so that it is not computed again in
the next pass. Some pieces are kept on the device; the others travel between it and the host, in
both directions, beside the computation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any, NamedTuple

import torch

from phinmf._types import Tensor
from phinmf.engines.device.host import HostFrames, HostStore

SLOTS = 2  #: pieces in flight


class Sent(NamedTuple):
    """A piece on its way to the device."""

    slot: int
    room: Tensor  #: where it is copied to, flat
    arrival: Callable[[], Any]  #: returns an event of the copy; may wait until that has begun


class Flow:
    """The base of all pieces of a shard, on the host and on a device."""

    def __init__(
        self,
        Y: HostFrames,
        shapes: list[tuple[int, int, int]],
        frames: list[slice],
        dtype: torch.dtype,
        device: torch.device,
        keeps: set[int],
        store: HostStore | None,
    ) -> None:
        """Let pieces of these shapes (C, M, n) flow, and keep those with certain numbers.

        `store` has memory of the host for X, for every piece that is not kept; if it is None, X is
        not stored.
        """
        self.Y, self.shapes, self.frames = Y, shapes, frames
        self.dtype, self.device = dtype, device
        self.keeps, self.store = keeps, store
        self.kept: dict[int, Tensor] = {}  #: the base of pieces on the device, flat
        self.holds_X = False  #: whether the base is X as it was stored, not Y
        self.complete = True  #: whether all pieces are stored that should be
        longest = max(C * M * n for C, M, n in shapes)
        self.slots = [self._room(longest) for _ in range(SLOTS)]
        self.arrived: list[Any] = [None] * SLOTS  #: event of the last copy to each slot
        on_gpu = device.type == "cuda"
        self.coming: Any = torch.cuda.Stream(device) if on_gpu else None  #: copies to the device
        self.going: Any = torch.cuda.Stream(device) if on_gpu else None  #: copies to the host
        self.leaving: deque[Any] = deque()  #: events of copies to the host
        self.to_device = self.to_host = 0  #: bytes that have travelled so far

    def restart(self) -> None:
        """Let Y be the base again."""
        if self.holds_X:
            self.kept.clear()
        self.holds_X, self.complete = False, True

    def pieces(self, of_Y: bool = False) -> Iterator[Tensor]:
        """Yield the base of each piece (C, M, n), or Y itself, in order."""
        from_Y = of_Y or not self.holds_X
        assert from_Y or self.complete, "an interrupt has left X incomplete: rotate first"
        usable = from_Y != self.holds_X  # whether kept pieces are what is asked for
        here = self.kept.keys() if usable else ()
        missing = deque(i for i in range(len(self.shapes)) if i not in here)
        sent: deque[Sent] = deque()
        with ExitStack() as stack:
            stack.callback(self._settle, sent)
            reader = None
            if from_Y and self.Y.takes_time:  # otherwise a thread would only cost time
                reader = stack.enter_context(ThreadPoolExecutor(1, "phinmf-flow"))

            def send(slot: int) -> None:
                if missing:
                    i = missing.popleft()
                    C, M, n = self.shapes[i]
                    keep = usable and i in self.keeps
                    room = self._room(C * M * n) if keep else self.slots[slot][: C * M * n]
                    # what was computed with this memory before comes first
                    work = partial(self._copy, i, slot, room, from_Y, self._computed())
                    arrival = returning(work()) if reader is None else reader.submit(work).result
                    sent.append(Sent(slot, room, arrival))

            for slot in range(SLOTS):
                send(slot)
            for i, shape in enumerate(self.shapes):
                if usable and i in self.kept:
                    yield shaped(self.kept[i], shape, from_Y)
                    continue
                slot, room, arrival = sent.popleft()
                arrived = arrival()
                if arrived is not None:
                    torch.cuda.current_stream(self.device).wait_event(arrived)
                if usable and i in self.keeps:
                    self.kept[i] = room
                yield shaped(room, shape, from_Y)
                send(slot)

    def replace(self, X: Iterable[Tensor]) -> Iterator[Tensor]:
        """Yield pieces of X (C, M, n), and store each as the new base afterwards."""
        assert self.store is not None
        done = False
        try:
            for i, piece in enumerate(X):
                self.complete = False
                yield piece
                self._store(i, piece)
            done = True
        finally:
            if done:
                self.holds_X = self.complete = True
                if self.coming is not None:
                    self.coming.wait_stream(self.going)
            elif not self.holds_X:  # after an error or an interrupt, Y is still on the host
                self.kept.clear()
                self.complete = True

    def _settle(self, sent: Collection[Sent]) -> None:
        """After an interrupt, let copies end before their memory is used for something else."""
        if sent and self.coming is not None:
            torch.cuda.current_stream(self.device).wait_stream(self.coming)

    def _store(self, i: int, X: Tensor) -> None:
        """Store X of a piece."""
        flat = X.reshape(-1)
        assert self.store is not None
        if i in self.keeps:
            self.kept[i] = flat
            return
        ready = self._computed()
        if ready is not None:
            self.going.wait_event(ready)
            flat.record_stream(self.going)  # its memory is not used again before
        with self._on(self.going):
            self.store.pieces[i].copy_(flat, non_blocking=True)
        if ready is not None:
            self.leaving.append(self.going.record_event())
            if len(self.leaving) > SLOTS:  # no more of X is in memory at the same time
                self.leaving.popleft().synchronize()
        self.to_host += flat.numel() * flat.element_size()

    def _copy(self, i: int, slot: int, room: Tensor, from_Y: bool, ready: Any) -> Any:
        """Copy a piece to the device, beside the computation; return an event of the copy."""
        C, M, n = self.shapes[i]
        if from_Y:
            if self.Y.takes_time and self.arrived[slot] is not None:
                self.arrived[slot].synchronize()  # the buffer of this slot is used again
            host = self.Y.piece(self.frames[i], slot)
        else:
            assert self.store is not None
            host = self.store.pieces[i]
        with self._on(self.coming):
            if self.coming is not None:
                self.coming.wait_event(ready)
            if from_Y:
                for there, channel in zip(room.view(C, n, M), host, strict=True):
                    there.copy_(channel, non_blocking=True)
            else:
                room.copy_(host, non_blocking=True)
            if self.coming is not None:
                self.arrived[slot] = self.coming.record_event()
        self.to_device += room.numel() * room.element_size()
        return self.arrived[slot]

    def _room(self, size: int) -> Tensor:
        return torch.empty(size, dtype=self.dtype, device=self.device)

    def _computed(self) -> Any:
        """Return an event after all that was computed so far; None on a processor."""
        if self.coming is None:
            return None
        return torch.cuda.current_stream(self.device).record_event()

    def _on(self, stream: Any) -> AbstractContextManager[object]:
        return nullcontext() if stream is None else torch.cuda.stream(stream)


def returning(value: Any) -> Callable[[], Any]:
    """Return a function that returns this value."""
    return lambda: value


def shaped(flat: Tensor, shape: tuple[int, int, int], of_Y: bool) -> Tensor:
    """Return a piece as (C, M, n): frames are contiguous in Y, rows in X."""
    C, M, n = shape
    return flat.view(C, n, M).mT if of_Y else flat.view(C, M, n)


def spread(chosen: int, n: int) -> set[int]:
    """Choose some of n numbers, as evenly as possible: so copies are made beside all of them."""
    return {i for i in range(n) if (i + 1) * chosen // n > i * chosen // n}
