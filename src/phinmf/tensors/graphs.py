"""Record work that is launched many times as a CUDA graph, and replay it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

import torch

_recording = threading.Lock()


@functools.cache
def _side_stream(device: int) -> torch.cuda.Stream:
    """Return the stream for recording: one per device, because libraries keep memory per stream."""
    return torch.cuda.Stream(device)


class Replay:
    """Runs work on memory that stays in place; if enabled, from the second time on as a CUDA graph.

    A graph launches all kernels of the work at the cost of one launch. The work must neither wait
    for the device nor keep tensors that it allocates.
    """

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._seen: set[str] = set()
        self._graphs: dict[str, torch.cuda.CUDAGraph] = {}
        self._pool: tuple[int, int] | None = None

    def __call__(self, name: str, work: Callable[[], None]) -> None:
        """Do the work that has this name."""
        if name in self._graphs:
            self._graphs[name].replay()
        elif not self.enabled or name not in self._seen:
            self._seen.add(name)
            work()  # the first time, libraries are initialised and kernels compiled
        else:
            self._graphs[name] = self._record(work)
            self._graphs[name].replay()

    def _record(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        with _recording:  # one at a time, because all share the stream
            return self._recorded(work)

    def _recorded(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
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
