"""Which implementation of the work on a batch is used: fused kernels on a GPU, else plain ones."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import torch

MOST_COMPONENTS = 128  #: that the fused NMF step holds in registers
MOST_PAIRS = 15  #: that fit, with the gradient, into a tile of the fused memory

PLAIN = {
    "formulas": ("loss", "loss_and_slope", "curvatures", "update_activations", "nmf_step"),
    "memory": ("aim", "remember", "take"),
    "exponential": ("combinations",),
}
FUSED = {
    "fused_loss": ("loss", "loss_and_slope", "curvatures"),
    "fused_nmf": ("update_activations", "nmf_step"),
    "fused_memory": ("aim", "remember", "take", "combinations"),
}


def plain() -> Any:
    """The readable functions, for any device."""
    return _collected(PLAIN)


def fused() -> Any:
    """The Triton kernels; ImportError where Triton is missing."""
    return _collected(FUSED)


def _collected(modules: dict[str, tuple[str, ...]]) -> Any:
    functions: dict[str, Any] = {}
    for module, names in modules.items():
        source = importlib.import_module(f"phinmf.lockstep.{module}")
        functions |= {name: getattr(source, name) for name in names}
    return SimpleNamespace(**functions)


def best(device: torch.device, K: int, memory_size: int) -> Any:
    """The fastest functions for a batch of this kind."""
    if device.type == "cuda" and K <= MOST_COMPONENTS and memory_size <= MOST_PAIRS:
        try:
            return fused()
        except ImportError:
            pass
    return plain()


def current(device: torch.device) -> AbstractContextManager[Any]:
    """Kernels are launched on the current device: make it this one for a while."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()
