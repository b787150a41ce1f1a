"""The `device` argument of the public functions: where a fit computes."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, ParamSpec

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array, Device
from phinmf.arrays.lazy import is_lazy
from phinmf.result import Result, State

P = ParamSpec("P")


class FullPrecision:
    """While a thread is inside this context, PyTorch multiplies float32 in full precision.

    TF32, which is faster, has only ten bits. The setting belongs to the whole process, and full
    precision is its default. If the caller has allowed less, the last exit restores it.
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


class ComputeDevice:
    """Where a fit of frames computes; its results go back to where the frames came from."""

    def __init__(
        self, name: str, frames: AnyArray, device: Device = None, engine: str = "auto"
    ) -> None:
        self.name = name
        self.frames = frames
        self.device: Any = None  #: where the frames are moved to; None: they stay in NumPy's memory
        if is_lazy(frames) or (engine == "dask" and not arrays.is_tensor(frames)):
            check_processor(name, device)
        elif arrays.is_tensor(frames):
            self.device = frames.device if device is None else torch_device(device)
        elif device is not None and str(device) != "cpu":  # for which NumPy needs no PyTorch
            self.device = torch_device(device)

    @property
    def away(self) -> bool:
        """Whether it computes on another device than that of the frames."""
        if not arrays.is_tensor(self.frames):
            return self.device is not None
        return bool(self.device != self.frames.device)

    def take(self, x: AnyArray) -> Array:
        """Return an array on the device that computes."""
        return arrays.on_device(x, self.device) if self.away else x

    def back(self, x: AnyArray) -> Any:
        """Return an array of the kind and on the device of the frames; None is None."""
        return arrays.like(x, self.frames) if self.away and x is not None else x

    def for_callback(self, state: State) -> State:
        """Return the state for a callback of the caller: arrays are like the frames."""
        if not self.away:
            return state
        return dataclasses.replace(state, Phi=self.back(state.Phi), W=self.back(state.W))

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Multiply tensors in full precision; if memory runs out, say what to do."""
        try:
            with full_precision if self.device is not None else nullcontext():
                yield
        except RuntimeError as error:  # PyTorch has its own, of this kind
            if type(error).__name__ != "OutOfMemoryError":
                raise
            raise MemoryError(
                f"{self.device} has too little memory for {self.name} of shape"
                f" {tuple(self.frames.shape)}: learn fewer atoms (n_atoms), pass float32 rather"
                " than float64, or compute on the CPU (device='cpu')"
            ) from error


def check_processor(name: str, device: Device) -> None:
    """Raise if another device is named for frames that dask holds."""
    if device is not None and str(device) != "cpu":
        raise ValueError(
            f"device is {str(device)!r}, but with dask {name} is computed with on processors, other"
            " devices are not supported yet: leave device out, or pass an array of NumPy or a"
            " tensor with engine='auto'"
        )


def torch_device(device: Device) -> Any:
    """Return the device of PyTorch of this name, after it has computed in double precision."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise ImportError(
            f'device is {device!r}, which needs PyTorch: pip install "phinmf[gpu]"'
        ) from None
    try:
        number = torch.zeros(1, dtype=torch.float64, device=device)
        number.sum().item()
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"device is {device!r}, where PyTorch cannot compute in double precision ({reason}):"
            " use 'cpu', 'cuda' or one of several as 'cuda:1'"
        ) from error
    return number.device


def check_same_device(name: str, frames: AnyArray, others: Mapping[str, Any]) -> None:
    """Raise if a tensor is on another device than the frames; arrays of NumPy are moved."""
    device = str(frames.device) if arrays.is_tensor(frames) else "cpu"
    for other, value in others.items():
        if arrays.is_tensor(value) and str(value.device) != device:
            raise ValueError(
                f"{other} is on {value.device} but {name} is on {device}: move one to the other's"
                f" device, as {other}.to({device!r})"
            )


def computed_on_device(function: Callable[P, Result]) -> Callable[P, Result]:
    """Let a function of frames Y compute on `device`, and hand its result back where Y is."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Result:
        bound = signature.bind(*args, **kwargs)
        arguments = bound.arguments
        Y, device = arguments["Y"], arguments.pop("device", None)
        if device is None and not any(map(arrays.is_tensor, arguments.values())):
            return function(*args, **kwargs)
        check_same_device("Y", Y, arguments)
        frames = Y if arrays.is_tensor(Y) else checks.frames(Y)
        place = ComputeDevice("Y", frames, device, arguments.get("engine", "auto"))
        with place.computing():
            arguments["Y"] = place.take(place.frames)
            callback = checks.function("callback", arguments.get("callback"))
            if callback is not None:
                arguments["callback"] = lambda state: callback(place.for_callback(state))
            result = function(*bound.args, **bound.kwargs)
            factors = {name: place.back(getattr(result, name)) for name in ("Phi", "W", "H")}
            return dataclasses.replace(result, **factors)

    return wrapper
