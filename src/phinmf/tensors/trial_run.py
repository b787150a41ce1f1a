"""Compiled kernels are compared with the plain functions before they are used.

What a compiler makes of a kernel depends on the device, its own version, the precision and the
shapes, and no test suite sees them all. So the first time a process meets a kind of work, each
kernel runs on a small problem of that kind, whose frames are enough for every loop to run more than
once. A kernel that differs, or does not compile, is replaced by the plain function.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from phinmf._types import Tensor
from phinmf.tensors import operations
from phinmf.tensors.memory import Memory
from phinmf.tensors.operations import Kind
from phinmf.warn import warn

FEW_FRAMES = 17 * 128  #: two programs of every kernel that goes through frames, and more
TOLERANCE = {torch.float32: 2e-4, torch.float64: 1e-9}

_trusted: dict[Kind, Any] = {}
_replaced: set[str] = set()  #: kernels that a warning has named
_lock = threading.Lock()


def trusted(kind: Kind) -> Any:
    """Fused functions where they agree with the plain ones for this kind of work, else those.

    Where there is no memory to compare them, plain ones.
    """
    with _lock, operations.current(kind.device):
        if kind not in _trusted:
            try:
                _trusted[kind] = compared(kind)
            except torch.OutOfMemoryError:
                return operations.plain()
        return _trusted[kind]


def compared(kind: Kind, fused: Any = None) -> Any:
    """The fused functions, with a plain one in place of each that differs from it."""
    fused, plain = fused or operations.fused(kind.many), operations.plain()
    questions = Questions(kind)
    wrong = []
    for name in vars(fused):
        if kind.pairs == 0 and name != "update_activations":
            continue
        ask = getattr(questions, name)
        if not same(ask, getattr(fused, name), getattr(plain, name), TOLERANCE[kind.dtype]):
            setattr(fused, name, getattr(plain, name))
            wrong.append(name)
    if new := sorted(set(wrong) - _replaced):
        _replaced.update(new)
        warn(
            f"{', '.join(new)}: the fused kernels give wrong results on"
            f" {torch.cuda.get_device_name(kind.device) if kind.device.type == 'cuda' else 'CPU'}"
            f" ({str(kind.dtype).removeprefix('torch.')}, M={kind.M}, K={kind.K}); plain PyTorch"
            " is used instead, which is slower",
            RuntimeWarning,
        )
    return fused


def same(ask: Callable[[Any], Iterator[Tensor]], fused: Any, plain: Any, tolerance: float) -> bool:
    """Whether both functions give the same answers; one that cannot be compiled gives none."""
    theirs = list(ask(plain))
    try:
        ours = list(ask(fused))
    except (torch.OutOfMemoryError, KeyboardInterrupt):
        raise
    except Exception:
        return False
    return all(close(a, b, tolerance) for a, b in zip(ours, theirs, strict=True))


def close(ours: Tensor, theirs: Tensor, tolerance: float) -> bool:
    """Whether no entry differs by more than this share of itself and of the mean."""
    ours, theirs = ours.double(), theirs.double()
    limit = tolerance * (theirs.abs() + theirs.abs().mean())
    return bool(((ours - theirs).abs() <= limit).all())  # NaN is never close


class Questions:
    """A small random problem, and what each function is asked about it."""

    def __init__(self, kind: Kind, n_frames: int | None = None, restarts: int = 2) -> None:
        self.kind, self.restarts = kind, restarts
        self.generator = torch.Generator(kind.device).manual_seed(0)
        B, M, K = restarts, kind.M, kind.K
        N = n_frames or self.enough_frames() + (0 if kind.aligned else 8)
        self.number = {"dtype": torch.float64, "device": kind.device}
        self.X = self.normal(B, kind.channels, M, N)
        self.W, self.H = self.normal(B, M, K).abs(), self.normal(B, K, N).abs()
        self.W /= self.W.sum(dim=1, keepdim=True)
        self.WH = self.W @ self.H
        self.weights = torch.ones(1 if kind.shared else B, N, **self.number)
        if not kind.equal:
            self.weights += self.normal(*self.weights.shape).abs().double()
        self.weights[:, N - N // 20 :] = 0  # frames that fill up a row
        self.free = torch.ones(K, dtype=torch.bool, device=kind.device)
        self.free[1:2] = False
        self.eps, self.mu = torch.tensor(1e-3, **self.number), torch.tensor(0.3, **self.number)

    def normal(self, *shape: int) -> Tensor:
        """Normal numbers of this kind."""
        kind = self.kind
        return torch.randn(
            shape, dtype=kind.dtype, device=kind.device, generator=self.generator
        )  # fmt: skip

    def enough_frames(self) -> int:
        """Frames for which a program of the sums over frames has more than one tile."""
        from phinmf.tensors import fused_nmf

        BM, BN, _ = fused_nmf.TILE_OF_MANY if self.kind.many else fused_nmf.SUMS_TILE
        programs = -(-fused_nmf.PROGRAMS // (2 * -(-self.kind.M // BM)))
        return max(FEW_FRAMES, -(-3 * programs * BN // 32) * 16)

    def loss(self, function: Any) -> Iterator[Tensor]:
        """The loss."""
        kind = self.kind
        yield function(self.X, self.WH, self.weights, kind.equal, self.eps, kind.kappa)

    def loss_and_slope(self, function: Any) -> Iterator[Tensor]:
        """The loss, and the slope that F receives."""
        kind, F = self.kind, torch.full_like(self.X, torch.nan)
        yield function(self.X, self.WH, self.weights, kind.equal, self.eps, kind.kappa, F)
        yield F

    def curvatures(self, function: Any) -> Iterator[Tensor]:
        """Both curvatures, and the power."""
        yield from function(self.X, self.WH, self.weights, self.eps, self.kind.kappa)

    def update_activations(self, function: Any) -> Iterator[Tensor]:
        """The next H."""
        H = self.H.clone()
        function(self.X, self.W, H, self.mu, self.eps, self.kind.gamma)
        yield H

    def nmf_step(self, function: Any) -> Iterator[Tensor]:
        """The next W and H."""
        W, H = self.W.clone(), self.H.clone()
        function(self.X, W, H, self.weights, self.mu, self.eps, self.kind.gamma, self.free)
        yield W
        yield H

    def memory(self) -> tuple[Memory, Tensor]:
        """A full memory whose pairs curve upwards, and a gradient."""
        kind, B = self.kind, self.restarts
        memory = Memory(B, kind.pairs, kind.M, kind.dtype, kind.device)
        self.generator.manual_seed(1)
        steps = self.normal(B, kind.pairs, kind.M, kind.M)
        memory.S.copy_((steps - steps.mT).flatten(2))
        memory.Y.copy_(memory.S + 0.1 * self.normal(B, kind.pairs, kind.M**2))
        memory.inverse.copy_(self.normal(B, kind.M**2).abs() + 0.5)
        memory.oldest.fill_(kind.pairs - 1)
        return memory, steps[:, 0]

    def aim(self, function: Any) -> Iterator[Tensor]:
        """A direction with its slope, from a full memory."""
        memory, G = self.memory()
        E = torch.empty_like(G)
        slope, pairs = function(memory, (G - G.mT).contiguous(), 2.0, E)
        yield from (slope, pairs, E)

    def remember(self, function: Any) -> Iterator[Tensor]:
        """The memory and the gradients after a step of some restarts."""
        memory, G = self.memory()
        G, G_trial, E = (self.normal(*G.shape) for _ in range(3))
        g, eta = (G - G.mT).contiguous(), self.normal(self.restarts, 1, 1)
        function(memory, g, G, G_trial, E, eta, self.some(0), self.some(0))
        yield from (memory.S, memory.Y, memory.oldest, g, G)

    def take(self, function: Any) -> Iterator[Tensor]:
        """Where restarts are after some of them moved."""
        target = self.X.clone()
        function(target, self.X + 1, self.some(0))
        yield target

    def some(self, first: int) -> Tensor:
        """Which restarts are meant: every other one, from this one on."""
        return torch.arange(self.restarts, device=self.kind.device) % 2 == first

    def combinations(self, function: Any) -> Iterator[Tensor]:
        """The sums that the exponential multiplies."""
        self.generator.manual_seed(2)
        yield from function(*(self.normal(self.restarts, *[self.kind.M] * 2) for _ in range(4)))
