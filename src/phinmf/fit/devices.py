"""The `device` argument of the public functions: where a fit computes."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, ParamSpec

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array, Device
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.precision import full_precision
from phinmf.result import Result, State

P = ParamSpec("P")


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
        """Whether it computes elsewhere than the frames are."""
        if not arrays.is_tensor(self.frames):
            return self.device is not None
        return bool(self.device != self.frames.device)

    def take(self, x: AnyArray) -> Array:
        """The same numbers where they are computed with."""
        return arrays.on_device(x, self.device) if self.away else x

    def back(self, x: AnyArray) -> Any:
        """The same numbers as an array like the frames; None is None."""
        return arrays.like(x, self.frames) if self.away and x is not None else x

    def for_callback(self, state: State) -> State:
        """What a callback of the caller sees."""
        if not self.away:
            return state
        return dataclasses.replace(state, Phi=self.back(state.Phi), W=self.back(state.W))

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Multiply tensors in full precision; if memory runs out, say how much is needed."""
        try:
            with full_precision if self.device is not None else nullcontext():
                yield
        except RuntimeError as error:  # PyTorch has its own, of this kind
            if type(error).__name__ != "OutOfMemoryError":
                raise
            raise MemoryError(self.memory_message()) from error

    def memory_message(self) -> str:
        """How much is needed, how much is free, and what to do."""
        shape, free = tuple(self.frames.shape), free_memory(self.device)
        itemsize = 4 if str(self.frames.dtype).endswith("float32") else 8
        have = "" if free is None else f", and {size(free)} are free now"
        return (
            f"{self.device} has too little memory: {self.name} of shape {shape} needs about"
            f" {size(needed(shape, itemsize))}{have}; learn fewer atoms (n_atoms), pass float32"
            " rather than float64, or compute on the CPU (device='cpu')"
        )


def needed(shape: tuple[int, ...], itemsize: int) -> int:
    """Bytes that an evaluation holds: Y as given and at unit power, X, TX, f' and six more."""
    M, N = shape[-2:]
    C = shape[0] if len(shape) == 3 else 1
    return (5 * C + 6) * M * N * itemsize


def size(n: int) -> str:
    """Bytes in words."""
    return f"{n / 2**30:.2g} GiB" if n < 100 * 2**30 else f"{n / 2**30:.0f} GiB"


def free_memory(device: Any) -> int | None:
    """Bytes that are free on a device, where PyTorch can say it."""
    if device.type != "cuda":
        return None
    cuda: Any = importlib.import_module("torch").cuda
    unused = cuda.memory_reserved(device) - cuda.memory_allocated(device)
    return int(cuda.mem_get_info(device)[0] + unused)


def check_processor(name: str, device: Device) -> None:
    """Raise if another device is named for frames that dask holds."""
    if device is not None and str(device) != "cpu":
        raise ValueError(
            f"device is {str(device)!r}, but with dask {name} is computed with on processors, other"
            " devices are not supported yet: leave device out, or pass an array of NumPy or a"
            " tensor with engine='auto'"
        )


def torch_device(device: Device) -> Any:
    """The device of PyTorch by this name, checked to be there."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise ImportError(
            f'device is {device!r}, which needs PyTorch: pip install "phinmf[gpu]"'
        ) from None
    names = "'cpu', 'cuda' or one of several as 'cuda:1'"
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        raise ValueError(
            f"device is {device!r}, which PyTorch does not know: use {names}"
        ) from None
    if place.type == "cuda":
        n = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if n == 0:
            raise ValueError(
                f"device is {device!r}, but PyTorch finds no CUDA device: use device='cpu', or"
                " install a driver and a PyTorch with CUDA"
            )
        if (place.index or 0) >= n:
            raise ValueError(
                f"device is {device!r}, but there are {n} CUDA devices: use 'cuda:0' to"
                f" 'cuda:{n - 1}'"
            )
        return torch.device("cuda", torch.cuda.current_device()) if place.index is None else place
    try:
        torch.zeros(1, dtype=torch.float64, device=place).sum().item()
    except Exception as error:
        raise ValueError(
            f"device is {device!r}, which cannot compute in double precision here: use {names}"
        ) from error
    return place


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
