"""Activations of many frames for a known dictionary, by the fused update."""

from __future__ import annotations

from typing import Any

import torch

from phinmf._types import Tensor
from phinmf.engines.base import CHECK_EVERY
from phinmf.tensors import operations

ENTRIES = 2**24  #: that are settled together, in double precision


def settle(engine: Any, W: Tensor, mu: float, eps: float, tol: float, most: int) -> None:
    """Do what `converge_activations` of the engine does, some frames at a time."""
    X, H = engine.X, engine.H.clone()
    W = W.double().contiguous()[None]
    n = max(1, ENTRIES // (X.shape[0] * X.shape[1]))
    with operations.current(X.device):
        for first in range(0, X.shape[-1], n):
            some = slice(first, first + n)
            H[:, some] = settled(X[..., some], W, H[:, some], engine.divergence, mu, eps, tol, most)
    engine.set_activations(H)


def settled(
    X: Tensor, W: Tensor, H: Tensor, divergence: Any, mu: float, eps: float, tol: float, most: int
) -> Tensor:
    """Activations of frames (C, M, n), which leave the batch one by one as they settle."""
    M, K = W.shape[1:]
    number = {"dtype": torch.float64, "device": X.device}
    parameters = torch.tensor(mu, **number), torch.tensor(eps, **number)
    result = H.double()
    X = X.double().contiguous()[None]  # as kernels want them
    H = result.clone(memory_format=torch.contiguous_format)[None]
    update = operations.best(operations.kind_of(X, K, 1.0, 1.0, True, True, 0)).update_activations
    active = torch.arange(H.shape[2], device=X.device)
    before = torch.full((H.shape[2],), torch.inf, **number)
    for step in range(0, most + 1, CHECK_EVERY):
        V = X.square().mean(dim=1)[0]
        fit = divergence.value(V, (W @ H)[0] + eps, eps).sum(dim=0)
        cost = fit + mu * H[0].sum(dim=0)
        moving = before - cost > tol * M
        result[:, active] = H[0]
        before, active = cost[moving], active[moving]
        if step == most or not len(active):
            break
        if not moving.all():
            X, H = X[..., moving].contiguous(), H[..., moving].contiguous()
        for _ in range(CHECK_EVERY):
            update(X, W, H, *parameters, 1.0)
    return result
