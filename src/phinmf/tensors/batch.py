"""A batch of restarts on the frames of one stage: the steps of Algorithm 1, computed for all.

All arrays stay at the same place in memory, so that the work can be recorded and replayed. Φ, W
and H are a complete iterate after each step, and X = ΦY up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from phinmf._types import Indices, Tensor
from phinmf.algorithm.model import Iterate
from phinmf.algorithm.nmf import flat_activations
from phinmf.arrays import dtype_of
from phinmf.engines.sums import power
from phinmf.linalg.manifold import exactly_orthogonal, polish
from phinmf.penalties import Penalty
from phinmf.solvers.base import FARTHEST
from phinmf.solvers.metric import floored
from phinmf.tensors import operations, trial_run
from phinmf.tensors.exponential import exponential
from phinmf.tensors.graphs import Replay
from phinmf.tensors.layout import Layout
from phinmf.tensors.memory import Memory, set_metric

ALIGNED = 8  #: rows are padded to a multiple of this many frames, which speeds up products
GRAPHS_PAY = 2**25  #: entries up to which launching the kernels takes longer than running them

#: Columns of the report, which is copied to the host after each trial.
LOSS, SLOPE, TRIAL_LOSS, TRIAL_SLOPE, NORM, PAIRS, PENALTY, TARGET, GRADIENT = range(9)


class Batch:
    """Memory for B restarts on the frames of a stage, and the steps on them."""

    def __init__(self, layout: Layout) -> None:
        shape, dtype, device, shared, equal, family, gamma, metric, memory_size = layout
        B, C, M, n_frames, K = shape
        N = -(-n_frames // ALIGNED) * ALIGNED
        self.layout = layout
        self.lengths = [n_frames] * B  #: frames of each restart; the padding after them is zero
        self.shape = B, C, M, N, K
        self.dtype, self.family, self.gamma, self.exact = dtype, family, gamma, metric == "exact"
        self.equal = equal  # weights

        def empty(*size: int, dtype: torch.dtype = dtype) -> Tensor:
            return torch.zeros(size, dtype=dtype, device=device)

        self.Y = empty(1 if shared else B, C, M, N)
        self.weights = empty(1 if shared else B, N, dtype=torch.float64)
        self.X, self.X_trial, self.F = (empty(B, C, M, N) for _ in range(3))
        kind = operations.kind_of(self.X, K, gamma, family, equal, shared, memory_size)
        self.ops = trial_run.best(kind)
        self.WH, self.W, self.H = empty(B, M, N), empty(B, M, K), empty(B, K, N)
        self.Phi, self.T, self.E = (empty(B, M, M) for _ in range(3))
        self.G, self.g, self.G_trial = (empty(B, M, M) for _ in range(3))  # g = G - Gᵀ
        self.memory = Memory(B, memory_size, M, dtype, device)
        self.report = empty(B, 9, dtype=torch.float64)
        self.eps, self.mu, self.target = (empty(dtype=torch.float64) for _ in range(3))
        self.eta, self.accepted = empty(B, 1, 1), empty(B, dtype=torch.bool)
        self._accepted = [False] * B
        self.free = torch.ones(K, dtype=torch.bool, device=device)  # columns of W that may change
        self.replay = Replay(device.type == "cuda" and self.X.numel() <= GRAPHS_PAY)

        held = (v for owner in (self, self.memory) for v in vars(owner).values())
        self.nbytes = sum(v.numel() * v.element_size() for v in held if isinstance(v, torch.Tensor))

    def set(self, penalty: Penalty, target: float, kept: Indices | None) -> None:
        """Set the options of a fit, and remove the frames and the memory of the last one."""
        self.penalty = penalty
        self.mu.fill_(penalty.frame_rate)
        self.target.fill_(target)
        self.free.fill_(True)
        if kept is not None:
            self.free[torch.as_tensor(kept, device=self.free.device)] = False
        for stale in (self.Y, self.weights, self.H, self.memory.S, self.memory.Y):
            stale.zero_()

    def load(self, place: int, Y: Tensor, weights: Tensor) -> None:
        """Copy frames (C, M, n) and their weights; the padding has weight 0."""
        self.Y[place, ..., : Y.shape[-1]] = Y
        self.weights[place, : Y.shape[-1]] = weights

    def go_to(self, at: Sequence[Iterate], floor: float) -> None:
        """Go to iterates and make Φ orthogonal; compute activations of frames that have none."""
        self.eps.fill_(floor)
        Phi = torch.stack([a.Phi for a in at])
        self.Phi.copy_(exactly_orthogonal(Phi, dtype_of(self.Phi)))
        self.W.copy_(torch.stack([a.W for a in at]))
        self.rotate()
        known = [a.H.shape[1] == n for a, n in zip(at, self.lengths, strict=True)]
        if not all(known):
            self.activate()
        for place, a in enumerate(at):
            if known[place]:
                self.H[place, :, : self.lengths[place]] = a.H

    def continue_at(self, at: Sequence[Iterate]) -> None:
        """Go to iterates without changing them."""
        self.Phi.copy_(torch.stack([a.Phi for a in at]))
        self.W.copy_(torch.stack([a.W for a in at]))
        for place, a in enumerate(at):
            self.H[place, :, : self.lengths[place]] = a.H
        self.rotate()

    def iterate(self, place: int) -> Iterate:
        """Return a copy of the iterate of one restart."""
        H = self.H[place, :, : self.lengths[place]]
        return Iterate(*map(torch.clone, (self.Phi[place], self.W[place], H)))

    def refresh(self) -> None:
        """Make Φ orthogonal again and compute X = ΦY, so that rounding does not build up."""
        self.Phi.copy_(polish(self.Phi))
        self.rotate()

    def rotate(self) -> None:
        """X ← ΦY."""
        B, C, M, N, _ = self.shape
        if len(self.Y) == B:
            torch.matmul(self.Phi[:, None], self.Y, out=self.X)
        else:  # one product for all restarts, without copies of Y
            for c in range(C):
                product = self.Phi.view(B * M, M) @ self.Y[0, c]
                self.X[:, c] = product.view(B, M, N)

    def activate(self, n_iter: int = 10) -> None:
        """Compute activations for W: from the flat start, a few updates of H alone."""
        _, _, M, _, K = self.shape
        self.H.copy_(flat_activations(torch.mean(power(self.Y), dim=-2), M, K, self.penalty))
        for _ in range(n_iter):
            self.ops.update_activations(self.X, self.W, self.H, self.mu, self.eps, 1.0, self.family)

    def nmf_step(self) -> None:
        """Update W and H by step ⋆."""
        self.ops.nmf_step(
            self.X, self.W, self.H, self.weights, self.mu, self.eps, self.gamma, self.family,
            self.free,
        )  # fmt: skip

    def begin(self) -> None:
        """Compute WH, which is then fixed, and the loss and the gradient at X."""
        torch.matmul(self.W, self.H, out=self.WH)
        self.report[:, LOSS] = self.gradient(self.X, self.WH, self.weights, self.F, self.G)
        torch.sub(self.G, self.G.mT, out=self.g)

    def gradient(self, X: Tensor, WH: Tensor, weights: Tensor, F: Tensor, G: Tensor) -> Tensor:
        """Return the loss at X and write (8) to G."""
        loss = self.ops.loss_and_slope(X, WH, weights, self.equal, self.eps, self.family, F)
        if X.shape[1] == 1:
            torch.matmul(F[:, 0], X[:, 0].mT, out=G)
        else:
            torch.mean(F @ X.mT, dim=1, out=G)
        return loss

    def measure_curvature(self) -> None:
        """Compute the initial metric of L-BFGS: (9), at least a share of (12), or (12) itself."""
        exact, bound, V = self.ops.curvatures(self.X, self.WH, self.weights, self.eps, self.family)
        h = bound @ V.mT
        h = h + h.mT
        if self.exact:
            h = floored(exact @ V.mT, h, self.G)
        set_metric(self.memory, h)

    def aim(self) -> None:
        """Compute the direction E of L-BFGS and its slope."""
        slope, pairs = self.ops.aim(self.memory, self.g, FARTHEST, self.E)
        self.report[:, SLOPE] = slope
        self.report[:, PAIRS] = pairs
        self.eta.fill_(1)

    def trial(self, squarings: int) -> None:
        """Evaluate loss, slope and gradient at exp(ηE)X for every restart."""
        T, norm = exponential(self.eta * self.E, squarings, self.ops.combinations)
        self.T.copy_(T)
        torch.matmul(T[:, None], self.X, out=self.X_trial)
        loss = self.gradient(self.X_trial, self.WH, self.weights, self.F, self.G_trial)
        self.report[:, TRIAL_LOSS] = loss
        self.report[:, TRIAL_SLOPE] = inner(self.G_trial, self.E)
        self.report[:, NORM] = norm

    def trial_of(self, some: Tensor, squarings: int) -> None:
        """Evaluate the same for some of the restarts."""
        E, WH = self.E[some], self.WH[some]
        T, norm = exponential(self.eta[some] * E, squarings, self.ops.combinations)
        X = T[:, None] @ self.X[some]
        G = torch.empty_like(E)
        weights = self.weights if len(self.weights) == 1 else self.weights[some]
        loss = self.gradient(X, WH, weights, torch.empty_like(X), G)
        self.T[some], self.X_trial[some], self.G_trial[some] = T, X, G
        self.report[some, TRIAL_LOSS] = loss
        self.report[some, TRIAL_SLOPE] = inner(G, E)
        self.report[some, NORM] = norm

    def try_again(self, some: list[int], etas: list[float], squarings: int) -> None:
        """Evaluate some of the restarts at other step lengths."""
        index = torch.tensor(some, device=self.X.device)
        self.eta[index, 0, 0] = torch.tensor(etas, dtype=self.dtype, device=self.X.device)
        if len(some) == self.shape[0]:
            self.replay(f"trial {squarings}", lambda: self.trial(squarings))
        else:
            self.trial_of(index, squarings)

    def set_accepted(self, which: list[bool]) -> None:
        """Set the restarts that `accept` moves to their trial."""
        if which != self._accepted:
            self.accepted.copy_(torch.tensor(which, device=self.X.device))
            self._accepted = which

    def accept(self) -> None:
        """Move the restarts whose trial was accepted."""
        ops, report, accepted = self.ops, self.report, self.accepted
        curved = report[:, TRIAL_SLOPE] > report[:, SLOPE]  # the same as ⟨s|y⟩ > 0
        ops.remember(self.memory, self.g, self.G, self.G_trial, self.E, self.eta, accepted, curved)
        ops.take(self.Phi, self.T @ self.Phi, accepted)
        ops.take(self.X, self.X_trial, accepted)
        report[:, LOSS] = torch.where(accepted, report[:, TRIAL_LOSS], report[:, LOSS])

    def summarise(self) -> None:
        """Compute the other columns of the report at the end of an outer iteration."""
        self.report[:, PENALTY] = self.penalties()
        self.report[:, TARGET] = self.ops.loss(
            self.X, self.WH, self.weights, self.equal, self.target, self.family
        )
        self.report[:, GRADIENT] = inner(self.g, self.g).sqrt() / 2

    def penalties(self) -> Tensor:
        """Return μ Σ_k ‖w_k‖₁ ‖h_k‖₁ of each restart."""
        activation = (self.H * self.weights[:, None]).sum(dim=2)
        return self.mu * (self.W.sum(dim=1, dtype=torch.float64) * activation).sum(dim=1)


def inner(A: Tensor, B: Tensor) -> Tensor:
    """Return ⟨A|B⟩ of each restart, summed in double precision."""
    return (A * B).sum(dim=(1, 2), dtype=torch.float64)
