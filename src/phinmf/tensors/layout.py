"""What the memory of a batch, and the work that is recorded on it, depend on."""

from __future__ import annotations

from typing import NamedTuple

import torch

from phinmf.divergences import Family


class Layout(NamedTuple):
    """Sizes, precision, device and constants; fits of the same layout can use the same batch."""

    shape: tuple[int, int, int, int, int]  #: restarts, channels, window length, frames, components
    dtype: torch.dtype
    device: torch.device
    shared: bool  #: whether all restarts have the same frames and weights
    equal: bool  #: whether all weights are equal
    family: Family  #: of the divergence
    gamma: float  #: exponent of an NMF step
    metric: str  #: of L-BFGS
    memory_size: int  #: pairs of L-BFGS
