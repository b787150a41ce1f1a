"""Devices that compute in full single precision, without TF32 of ten bits, and in double."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from phinmf._types import Device
from phinmf.errors import InvalidValue, PackageError


class FullPrecision:
    """While a thread is inside this context, PyTorch multiplies float32 in full precision.

    The setting belongs to the whole process, and full precision is its default. If the caller has
    allowed less, the last exit restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = ""

    def __enter__(self) -> None:
        torch: Any = importlib.import_module("torch")
        with self._lock:
            if self._inside == 0:
                self._before = torch.get_float32_matmul_precision()
                if self._before != "highest":
                    torch.set_float32_matmul_precision("highest")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._before != "highest":
                importlib.import_module("torch").set_float32_matmul_precision(self._before)


full_precision = FullPrecision()
turn = threading.RLock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch compute in full precision and, on the processor, with one thread.

    How many threads it has differs from one process to another, and so does how it splits its
    loops, and with that the bits. The number belongs to the process: its threads take turns.
    """
    torch: Any = importlib.import_module("torch")
    with turn, full_precision:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def torch_device(device: Device) -> Any:
    """Return the device of PyTorch of this name, after it has computed in double precision."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise PackageError(
            f'device is {device!r}, which needs PyTorch: pip install "phinmf[gpu]"'
        ) from None
    try:
        number = torch.zeros(1, dtype=torch.float64, device=device)
        number.sum().item()
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidValue(
            f"device is {device!r}, where PyTorch cannot compute in double precision ({reason}):"
            " use 'cpu', 'cuda' or one of several as 'cuda:1'"
        ) from error
    return number.device
