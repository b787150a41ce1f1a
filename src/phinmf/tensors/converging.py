"""Converge the activations of frames for a known dictionary, by the fused update."""

from __future__ import annotations

import torch

from phinmf._types import Tensor
from phinmf.divergences import Divergence, compiled_family
from phinmf.engines import Engine, sums
from phinmf.engines.array import ArrayEngine
from phinmf.engines.converging import CHECK_EVERY, converged
from phinmf.penalties import Penalty
from phinmf.tensors import operations, trial_run

ENTRIES = 2**24  #: entries of the frames that are computed at the same time, in double precision


def converge(
    engine: Engine, W: Tensor, penalty: Penalty, eps: float, tol: float, max_updates: int
) -> None:
    """Converge activations as the engine does, for a limited number of frames at a time."""
    assert isinstance(engine, ArrayEngine)  # the only engine of tensors
    X: Tensor = engine.X
    H: Tensor = engine.activations()
    W = W.double().contiguous()
    n = max(1, ENTRIES // (X.shape[0] * X.shape[1]))
    with operations.current(X.device):
        for first in range(0, X.shape[-1], n):
            some = slice(first, first + n)
            H[:, some] = converged_activations(
                X[..., some], W, H[:, some], engine.divergence, penalty, eps, tol, max_updates
            )
    engine.set_activations(H)


def converged_activations(
    X: Tensor, W: Tensor, H: Tensor, divergence: Divergence, penalty: Penalty, eps: float,
    tol: float, max_updates: int,
) -> Tensor:  # fmt: skip
    """Return the activations of frames (C, M, n), computed in double precision."""
    X = X.double().contiguous()
    number = {"dtype": torch.float64, "device": X.device}
    mu, floor = torch.tensor(penalty.frame_rate, **number), torch.tensor(eps, **number)
    family = compiled_family(divergence)
    assert family is not None  # `encode` asks only then
    kind = operations.kind_of(X[None], W.shape[1], 1.0, family, True, True, 0)
    fused = trial_run.best(kind).update_activations

    def cost(frames: Tensor, H: Tensor) -> Tensor:
        return sums.relative_costs(divergence, sums.power(frames), W, H, penalty.frame_rate, eps)

    def updated(frames: Tensor, H: Tensor) -> Tensor:
        frames = frames.contiguous()[None]  # as the kernels need them
        H = H.clone(memory_format=torch.contiguous_format)
        for _ in range(CHECK_EVERY):
            fused(frames, W[None], H[None], mu, floor, 1.0, family)  # in place
        return H

    return converged(X, H.double(), cost, updated, tol * len(W), max_updates)
