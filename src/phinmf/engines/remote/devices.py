"""Which device each worker of a cluster computes on: its GPU if it has one."""

from __future__ import annotations

import ctypes
import importlib
from collections import Counter
from collections.abc import Mapping, Sequence

from phinmf._types import Device
from phinmf.arrays.cluster_watch import Watch

#: Libraries of which a machine with a GPU has one; to look for them is far faster than to import
#: PyTorch.
DRIVERS = "libcuda.so.1", "nvcuda.dll", "libamdhip64.so"
GPU_THREADS = 256  #: threads of a processor that a GPU counts as, when frames are shared out


class WorkerDevices:
    """The device of each worker, None where compiled kernels compute on its processor."""

    def __init__(self, watch: Watch, wanted: Device = None) -> None:
        """Ask all workers; raise ValueError if a GPU is wanted and none has one."""
        self.watch = watch
        self.wanted = None if wanted is None else str(wanted)
        self.of: dict[str, str | None] = {}  #: by address
        self.gpus: dict[str, list[str]] = {}  #: UUIDs of those that each worker sees
        if self.wanted is not None and self.wanted.startswith("cuda:"):
            raise ValueError(
                f"device is {self.wanted!r}, but every worker of a Dask cluster has GPUs of its"
                " own, which are shared out among the workers: use device='cuda'"
            )
        self.look()
        if self.wanted == "cuda" and not any(self.of.values()):
            raise ValueError(
                "device is 'cuda', but no worker of the Dask cluster has a GPU that PyTorch finds:"
                " start workers on machines with a GPU and phinmf[gpu], or use device='cpu'"
            )

    def look(self) -> None:
        """Ask the workers that are ready now."""
        if self.wanted in (None, "cuda"):
            self.gpus = self.watch.ask(visible_gpus)
            self.of = assigned(self.gpus)
        else:
            device = None if self.wanted == "cpu" else self.wanted
            self.of = dict.fromkeys(self.watch.ready(), device)

    def at(self, address: str) -> tuple[str | None, int]:
        """Return the device of a worker, and how many workers use it."""
        mine = self.gpu(address)
        return self.of.get(address), max(1, sum(mine == self.gpu(other) for other in self.gpus))

    def gpu(self, address: str) -> str | None:
        """Return the UUID of the GPU of a worker."""
        device = self.of.get(address)
        return self.gpus[address][int(device[5:])] if device and address in self.gpus else None

    def shares(self, threads: Mapping[str, int]) -> list[int] | None:
        """Return how many threads each worker counts as, by its address; None: all the same."""
        gpus = {self.of.get(address) is not None for address in threads}
        if len(gpus) == 1:
            return None
        return [
            n if self.of.get(address) is None else GPU_THREADS
            for address, n in sorted(threads.items())
        ]


def assigned(seen: Mapping[str, Sequence[str] | Exception]) -> dict[str, str | None]:
    """Give each worker the first of the GPUs it sees that has the fewest workers so far.

    GPUs are known by their UUIDs, in the order in which PyTorch numbers them on the worker. So
    workers that see the same GPUs, in the same order or in another, get different ones.
    """
    used: Counter[str] = Counter()
    devices: dict[str, str | None] = {}
    for address, gpus in sorted(seen.items()):
        if isinstance(gpus, Exception):
            raise gpus
        devices[address] = None
        if gpus:
            number = min(range(len(gpus)), key=lambda i: used[gpus[i]])
            used[gpus[number]] += 1
            devices[address] = f"cuda:{number}"
    return devices


def visible_gpus() -> list[str]:
    """Return the UUIDs of the GPUs that PyTorch sees in this process."""
    if not any(map(loads, DRIVERS)):
        return []
    try:
        cuda = importlib.import_module("torch").cuda
    except ImportError:
        return []
    number = cuda.device_count() if cuda.is_available() else 0
    return [str(cuda.get_device_properties(i).uuid) for i in range(number)]


def loads(library: str) -> bool:
    """Whether a shared library is on this machine."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
