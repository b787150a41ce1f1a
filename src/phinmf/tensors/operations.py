"""Which implementation of the work on a batch is used: fused kernels on a GPU, else plain ones."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch

MOST_PAIRS = 15  #: that fit, with the gradient, into a tile of the fused memory
MANY = 2**16  #: frames of all restarts, from which on there is work for every processor

PLAIN = {
    "plain": ("loss", "loss_and_slope", "curvatures", "update_activations", "nmf_step"),
    "memory": ("aim", "remember", "take"),
    "exponential": ("combinations",),
}
FUSED = {
    "fused_loss": ("loss", "loss_and_slope", "curvatures"),
    "fused_nmf": ("update_activations", "nmf_step"),
    "fused_memory": ("aim", "remember", "take", "combinations"),
}


class Kind(NamedTuple):
    """All that decides which kernels a batch is compiled to."""

    device: torch.device
    dtype: torch.dtype
    channels: int
    M: int
    K: int
    gamma: float
    kappa: float
    equal: bool  #: weights
    shared: bool  #: weights of all restarts
    many: bool  #: frames
    aligned: bool  #: N is a multiple of 16
    pairs: int  #: of L-BFGS; 0 if only activations are updated


def kind_of(
    X: torch.Tensor, K: int, gamma: float, kappa: float, equal: bool, shared: bool, pairs: int
) -> Kind:
    """The kind of work on these frames (B, C, M, N)."""
    B, C, M, N = X.shape
    many, aligned = B * N >= MANY, N % 16 == 0
    return Kind(
        X.device, X.dtype, C, M, K, gamma, kappa, equal, shared, many, aligned, pairs
    )  # fmt: skip


def plain() -> Any:
    """The readable functions, for any device."""
    return _collected(PLAIN)


def fused(many: bool = False) -> Any:
    """The Triton kernels, with the tiles of many frames or of few; ImportError without Triton."""
    functions = _collected(FUSED)
    for name in FUSED["fused_nmf"]:
        setattr(functions, name, partial(getattr(functions, name), many=many))
    return functions


def _collected(modules: dict[str, tuple[str, ...]]) -> Any:
    functions: dict[str, Any] = {}
    for module, names in modules.items():
        source = importlib.import_module(f"phinmf.tensors.{module}")
        functions |= {name: getattr(source, name) for name in names}
    return SimpleNamespace(**functions)


def best(kind: Kind) -> Any:
    """The fastest functions for this kind of work that were found to be right."""
    if kind.device.type == "cuda" and kind.pairs <= MOST_PAIRS:
        try:
            importlib.import_module("triton")
        except ImportError:
            return plain()
        return importlib.import_module("phinmf.tensors.trial_run").trusted(kind)
    return plain()


def current(device: torch.device) -> AbstractContextManager[Any]:
    """Kernels are launched on the current device: make it this one for a while."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()
