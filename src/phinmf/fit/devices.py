"""The `device` argument of the public functions: where a fit computes."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, ParamSpec

from phinmf import arrays, checks
from phinmf._types import AnyArray, Array, Device
from phinmf.arrays.lazy import is_lazy
from phinmf.arrays.precision import full_precision, torch_device
from phinmf.errors import InvalidValue
from phinmf.result import Result, State

P = ParamSpec("P")


class ComputeDevice:
    """Where a fit of frames computes; its results go back to where the frames came from."""

    def __init__(
        self, name: str, frames: AnyArray, device: Device = None, engine: str = "auto"
    ) -> None:
        self.name = name
        self.frames = frames
        self.device: Any = None  #: that computes; None: where NumPy's arrays or the workers are
        self.away = False  #: whether it is another device than that of the frames
        if arrays.is_tensor(frames):
            self.device = frames.device if device is None else torch_device(device)
            self.away = bool(self.device != frames.device)
        elif not is_lazy(frames) and engine != "dask" and str(device or "cpu") != "cpu":
            self.device, self.away = torch_device(device), True

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
            place = self.device or "the device of a worker"
            raise MemoryError(
                f"{place} has too little memory for {self.name} of shape"
                f" {tuple(self.frames.shape)}: learn fewer atoms (n_atoms), pass float32 rather"
                " than float64, or compute on the CPU (device='cpu')"
            ) from error


def check_same_device(name: str, frames: AnyArray, others: Mapping[str, Any]) -> None:
    """Raise if a tensor is on another device than the frames; arrays of NumPy are moved."""
    device = str(frames.device) if arrays.is_tensor(frames) else "cpu"
    for other, value in others.items():
        if arrays.is_tensor(value) and str(value.device) != device:
            raise InvalidValue(
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
        Y, device = arguments["Y"], arguments.get("device")
        if device is None and not any(map(arrays.is_tensor, arguments.values())):
            return function(*args, **kwargs)
        check_same_device("Y", Y, arguments)
        frames = Y if arrays.is_tensor(Y) else checks.frames(Y)
        place = ComputeDevice("Y", frames, device, arguments.get("engine", "auto"))
        if place.device is not None:
            arguments["device"] = None
        with place.computing():
            arguments["Y"] = place.take(place.frames)
            callback = checks.function("callback", arguments.get("callback"))
            if callback is not None:
                arguments["callback"] = lambda state: callback(place.for_callback(state))
            result = function(*bound.args, **bound.kwargs)
            factors = {name: place.back(getattr(result, name)) for name in ("Phi", "W", "H")}
            return dataclasses.replace(result, **factors)

    return wrapper
