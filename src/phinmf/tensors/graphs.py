"""Work that is launched again and again, recorded once and replayed."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch

_recording = threading.Lock()


@functools.cache
def _side_stream(device: int) -> Any:
    """Where work is recorded: one for each device, as libraries keep memory for every stream."""
    return torch.cuda.Stream(device)


class Replay:
    """Runs work that acts on the same memory every time: on a GPU from its second time as a graph.

    A CUDA graph launches all kernels of a piece of work at the cost of one. The work must neither
    wait for the device nor keep what it allocates.
    """

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._seen: set[str] = set()
        self._graphs: dict[str, Any] = {}
        self._pool: Any = None

    def __call__(self, name: str, work: Callable[[], None]) -> None:
        """Do the work known by this name."""
        if name in self._graphs:
            self._graphs[name].replay()
        elif not self.enabled or name not in self._seen:
            self._seen.add(name)
            work()  # libraries set themselves up, kernels are compiled
        else:
            self._graphs[name] = self._record(work)
            self._graphs[name].replay()

    def _record(self, work: Callable[[], None]) -> Any:
        with _recording:  # one at a time, as they share the stream
            return self._recorded(work)

    def _recorded(self, work: Callable[[], None]) -> Any:
        graph = torch.cuda.CUDAGraph()
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        side = _side_stream(torch.cuda.current_device())
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                work()
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(side)
        return graph
