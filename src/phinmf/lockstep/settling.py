"""Activations of many frames for a known dictionary, by the fused update."""

from __future__ import annotations

from typing import Any

import torch

from phinmf._types import Tensor
from phinmf.engines.base import CHECK_EVERY
from phinmf.lockstep import operations


def settle(engine: Any, W: Tensor, mu: float, eps: float, tol: float, most: int) -> None:
    """Do what `settle_activations` of the engine does; frames leave the batch as they settle."""
    X, W = (A.double().contiguous()[None] for A in (engine.X, W))  # as kernels want them
    M, K = W.shape[1:]
    number = {"dtype": torch.float64, "device": X.device}
    update = operations.best(X.device, K, 0).update_activations
    parameters = torch.tensor(mu, **number), torch.tensor(eps, **number)
    settled = engine.H.double()
    H = settled.clone(memory_format=torch.contiguous_format)[None]
    active = torch.arange(H.shape[2], device=X.device)
    before = torch.full((H.shape[2],), torch.inf, **number)
    for n in range(0, most + 1, CHECK_EVERY):
        V = X.square().mean(dim=1)[0]
        fit = engine.divergence.value(V, (W @ H)[0] + eps, eps).sum(dim=0)
        cost = fit + mu * H[0].sum(dim=0)
        moving = before - cost > tol * M
        settled[:, active] = H[0]
        before, active = cost[moving], active[moving]
        if n == most or not len(active):
            break
        if not moving.all():
            X, H = X[..., moving].contiguous(), H[..., moving].contiguous()
        with operations.current(X.device):
            for _ in range(CHECK_EVERY):
                update(X, W, H, *parameters, 1.0)
    engine.set_activations(settled)
