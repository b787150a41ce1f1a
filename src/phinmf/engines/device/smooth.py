"""Smooth activations as tensors: every other frame is updated, given those between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

import torch

from phinmf._types import AnyArray, Array, Tensor
from phinmf.divergences import Divergence
from phinmf.engines import sums
from phinmf.engines.blocked.shard import Nodes, Shard, SmoothStep
from phinmf.engines.device.host import host_array
from phinmf.engines.sums import power
from phinmf.penalties.smooth import difference, pull


class SmoothTensors(Shard):
    """The methods of a shard of tensors that need the activations of neighbouring frames."""

    H: Tensor  #: (K, n)
    dtype: torch.dtype
    divergence: Divergence
    frames: slice  #: of all frames
    weights: Tensor  #: (n,), in double precision
    links: Tensor  #: (n + 1,): whether each of its frames, and the next, follows the one before

    @abstractmethod
    def tensor(self, x: AnyArray, dtype: torch.dtype | None = None) -> Tensor:
        """Return the same numbers on the device."""

    @abstractmethod
    def each(self, one: Callable[[slice, Tensor], None]) -> None:
        """Call a function with each piece of X."""

    @abstractmethod
    def sums_over_activations(self, one: Callable[[slice], Sequence[Tensor]]) -> Nodes:
        """Add up what `one` returns for each piece, without X."""

    def edges(self) -> dict[int, Array]:
        return {
            self.frames.start: host_array(self.H[:, 0]),
            self.frames.stop - 1: host_array(self.H[:, -1]),
        }

    def column(self, n: int, edges: dict[int, Array]) -> Tensor:
        """Return (K, 1) the activations of a frame, maybe of the next shard; 0 if unknown."""
        if 0 <= n < self.H.shape[1]:
            return self.H[:, n : n + 1]
        known = edges.get(self.frames.start + n)
        return torch.zeros_like(self.H[:, :1]) if known is None else self.tensor(known)[:, None]

    def neighbours(self, frames: slice, edges: dict[int, Array]) -> tuple[Tensor, Tensor]:
        """Return (K, n) the activations before and after each frame of a piece."""
        H = self.H[:, frames]
        before = torch.cat([self.column(frames.start - 1, edges), H[:, :-1]], 1)
        after = torch.cat([H[:, 1:], self.column(frames.stop, edges)], 1)
        return before, after

    def update_every_other(self, first: int, step: SmoothStep, edges: dict[int, Array]) -> None:
        d, W, rates = self.divergence, self.tensor(step.W), self.tensor(step.rates)[:, None]
        strength = torch.where(self.weights > 0, step.smoothness / self.weights, 0)
        strength = strength.to(self.dtype)

        def one(frames: slice, X: Tensor) -> None:
            some = slice((self.frames.start + frames.start + first) % 2, None, 2)
            H, V = self.H[:, frames], power(X)[:, some]
            before, after = self.neighbours(frames, edges)
            linked = self.links[frames.start : frames.stop + 1]
            before = torch.where(linked[:-1], before, H)  # a missing one is the frame itself
            after = torch.where(linked[1:], after, H)
            h = H[:, some]
            pulled = pull(h, before[:, some], after[:, some], strength[frames][some])
            H[:, some] = sums.updated_activations(d, V, W, h, rates, step.eps, step.gamma, pulled)

        self.each(one)

    def roughness(self, edges: dict[int, Array]) -> Nodes:
        def one(frames: slice) -> tuple[Tensor]:
            H, before = self.H[:, frames].double(), self.neighbours(frames, edges)[0].double()
            return (torch.sum(difference(H, before, self.links[frames])),)

        return self.sums_over_activations(one)
