"""The functions that a batch is computed with: plain PyTorch, or fused Triton kernels on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch

from phinmf._types import Tensor
from phinmf.divergences import Family
from phinmf.tensors import exponential, memory
from phinmf.tensors import plain as formulas
from phinmf.tensors.memory import Memory

MANY = 2**16  #: frames of all restarts from which on every processor of the device has work


@dataclass(frozen=True)
class Operations:
    """One implementation of each function; `plain` and `memory` document the arguments."""

    loss: Callable[[Tensor, Tensor, Tensor, bool, Tensor, Family], Tensor]
    loss_and_slope: Callable[[Tensor, Tensor, Tensor, bool, Tensor, Family, Tensor], Tensor]
    curvatures: Callable[[Tensor, Tensor, Tensor, Tensor, Family], tuple[Tensor, Tensor, Tensor]]
    update_activations: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, float, Family], None]
    nmf_step: Callable[
        [Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, float, Family, Tensor], None
    ]
    aim: Callable[[Memory, Tensor, float, Tensor], tuple[Tensor, Tensor]]
    remember: Callable[[Memory, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor], None]
    take: Callable[[Tensor, Tensor, Tensor], None]
    combinations: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, ...]]


class Kind(NamedTuple):
    """Everything that decides which kernels are compiled for a batch."""

    device: torch.device
    dtype: torch.dtype
    channels: int
    M: int
    K: int
    gamma: float
    family: Family  #: of the divergence
    equal: bool  #: whether all weights are equal
    shared: bool  #: whether all restarts have the same weights
    many: bool  #: whether there are many frames
    aligned: bool  #: whether N is a multiple of 16
    pairs: int  #: of L-BFGS; 0 if only activations are updated


def kind_of(
    X: Tensor, K: int, gamma: float, family: Family, equal: bool, shared: bool, pairs: int
) -> Kind:
    """Return the kind of work on frames (B, C, M, N)."""
    B, C, M, N = X.shape
    many, aligned = B * N >= MANY, N % 16 == 0
    return Kind(
        X.device, X.dtype, C, M, K, gamma, family, equal, shared, many, aligned, pairs
    )  # fmt: skip


def plain() -> Operations:
    """Return the readable functions, which run on any device."""
    return Operations(
        loss=formulas.loss,
        loss_and_slope=formulas.loss_and_slope,
        curvatures=formulas.curvatures,
        update_activations=formulas.update_activations,
        nmf_step=formulas.nmf_step,
        aim=memory.aim,
        remember=memory.remember,
        take=memory.take,
        combinations=exponential.combinations,
    )


def fused(many: bool = False) -> Operations:
    """Return the Triton kernels, with tiles for many or for few frames.

    ImportError without Triton.
    """
    from phinmf.tensors import fused_loss, fused_memory, fused_nmf

    return Operations(
        loss=fused_loss.loss,
        loss_and_slope=fused_loss.loss_and_slope,
        curvatures=fused_loss.curvatures,
        update_activations=partial(fused_nmf.update_activations, many=many),
        nmf_step=partial(fused_nmf.nmf_step, many=many),
        aim=fused_memory.aim,
        remember=fused_memory.remember,
        take=fused_memory.take,
        combinations=fused_memory.combinations,
    )


def current(device: torch.device) -> AbstractContextManager[object]:
    """Make this device the current one, on which kernels are launched."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()
