"""Which implementation of the sums over frames is used: fused kernels on a GPU, else plain ones."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import torch

from phinmf.lockstep import exponential, formulas


class Plain:
    """The functions of `formulas`."""

    loss = staticmethod(formulas.loss)
    loss_and_slope = staticmethod(formulas.loss_and_slope)
    curvatures = staticmethod(formulas.curvatures)
    update_activations = staticmethod(formulas.update_activations)
    dictionary_sums = staticmethod(formulas.dictionary_sums)
    combinations = staticmethod(exponential.combinations)


@functools.cache
def fused() -> Any:
    """The Triton kernels, or None where Triton is missing."""
    try:
        return importlib.import_module("phinmf.lockstep.fused")
    except ImportError:
        return None


def best(device: torch.device, K: int) -> Any:
    """The fastest functions for tensors on this device."""
    kernels = fused() if device.type == "cuda" else None
    return kernels if kernels is not None and K <= kernels.MOST_COMPONENTS else Plain
