"""Compare compiled kernels with the plain functions before they are used.

Whether a kernel is compiled correctly depends on the device, the version of the compiler, the
precision and the shapes, and no test suite covers all of them. So the first time that a process
meets a kind of work, each kernel runs on a small problem of that kind, with enough frames for every
loop to run more than once. A kernel that gives other results, or does not compile, is replaced by
the plain function.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import torch

from phinmf._types import Tensor
from phinmf.tensors import operations
from phinmf.tensors.memory import Memory
from phinmf.tensors.operations import Kind, Operations
from phinmf.warn import warn

FEW_FRAMES = 17 * 128  #: enough for at least two programs of every kernel that loops over frames
MAX_PAIRS = 15  #: of L-BFGS: with the gradient they fit into a tile of the fused memory
TOLERANCE = {torch.float32: 2e-4, torch.float64: 1e-9}

Function = Callable[..., Any]  #: one of `Operations`

_trusted: dict[Kind, Operations] = {}
_replaced: set[str] = set()  #: kernels that a warning has named
_lock = threading.Lock()


def best(kind: Kind) -> Operations:
    """Return the fastest functions for this kind of work that give the right results."""
    if kind.device.type != "cuda" or kind.pairs > MAX_PAIRS:
        return operations.plain()
    try:
        import triton  # noqa: F401
    except ImportError:
        return operations.plain()
    return trusted(kind)


def trusted(kind: Kind) -> Operations:
    """Return the fused functions that agree with the plain ones, and plain ones for the others.

    Only plain ones if the device has too little memory to compare them.
    """
    with _lock, operations.current(kind.device):
        if kind not in _trusted:
            try:
                _trusted[kind] = compared(kind)
            except torch.OutOfMemoryError:
                return operations.plain()
        return _trusted[kind]


def compared(kind: Kind, fused: Operations | None = None) -> Operations:
    """Return the fused functions, each one that differs replaced by the plain one."""
    fused, plain = fused or operations.fused(kind.many), operations.plain()
    questions = Questions(kind)
    wrong: dict[str, Function] = {}
    for name in (field.name for field in fields(Operations)):
        if kind.pairs == 0 and name != "update_activations":
            continue  # not used for this kind of work
        ask, right = getattr(questions, name), getattr(plain, name)
        if not same(ask, getattr(fused, name), right, TOLERANCE[kind.dtype]):
            wrong[name] = right
    if new := sorted(wrong.keys() - _replaced):
        _replaced.update(new)
        warn(
            f"{', '.join(new)}: the fused kernels give wrong results on"
            f" {torch.cuda.get_device_name(kind.device) if kind.device.type == 'cuda' else 'CPU'}"
            f" ({str(kind.dtype).removeprefix('torch.')}, {kind.family.name}, M={kind.M},"
            f" K={kind.K}); plain PyTorch is used instead, which is slower",
            RuntimeWarning,
        )
    return replace(fused, **wrong)


def same(
    ask: Callable[[Function], Iterator[Tensor]], fused: Function, plain: Function, tolerance: float
) -> bool:
    """Whether both functions return the same; False if the fused one cannot be compiled."""
    expected = list(ask(plain))
    try:
        found = list(ask(fused))
    except (torch.OutOfMemoryError, KeyboardInterrupt):
        raise
    except Exception:
        return False
    return all(close(a, b, tolerance) for a, b in zip(found, expected, strict=True))


def close(found: Tensor, expected: Tensor, tolerance: float) -> bool:
    """Whether no entry differs by more than `tolerance` times itself plus the mean."""
    found, expected = found.double(), expected.double()
    limit = tolerance * (expected.abs() + expected.abs().mean())
    return bool(((found - expected).abs() <= limit).all())  # NaN is never close


class Questions:
    """A small random problem, and a method that calls each function on it.

    The methods have the names of the fields of `Operations` and yield all that a function computes.
    """

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
        self.weights[:, N - N // 20 :] = 0  # as of the frames that pad a row
        self.free = torch.ones(K, dtype=torch.bool, device=kind.device)
        self.free[1:2] = False
        self.eps, self.mu = torch.tensor(1e-3, **self.number), torch.tensor(0.3, **self.number)

    def normal(self, *shape: int) -> Tensor:
        """Draw normal numbers of the device and precision of this kind."""
        kind = self.kind
        return torch.randn(
            shape, dtype=kind.dtype, device=kind.device, generator=self.generator
        )  # fmt: skip

    def enough_frames(self) -> int:
        """Return how many frames give every program of the sums over frames more than one tile."""
        from phinmf.tensors import fused_nmf

        BM, BN, _ = fused_nmf.TILE_OF_MANY if self.kind.many else fused_nmf.SUMS_TILE
        programs = -(-fused_nmf.PROGRAMS // (2 * -(-self.kind.M // BM)))
        return max(FEW_FRAMES, -(-3 * programs * BN // 32) * 16)

    def loss(self, function: Function) -> Iterator[Tensor]:
        """Yield the loss."""
        kind = self.kind
        yield function(self.X, self.WH, self.weights, kind.equal, self.eps, kind.family)

    def loss_and_slope(self, function: Function) -> Iterator[Tensor]:
        """Yield the loss, and the slope that is written to F."""
        kind, F = self.kind, torch.full_like(self.X, torch.nan)
        yield function(self.X, self.WH, self.weights, kind.equal, self.eps, kind.family, F)
        yield F

    def curvatures(self, function: Function) -> Iterator[Tensor]:
        """Yield both curvatures and the power."""
        yield from function(self.X, self.WH, self.weights, self.eps, self.kind.family)

    def update_activations(self, function: Function) -> Iterator[Tensor]:
        """Yield the updated H."""
        H = self.H.clone()
        kind = self.kind
        function(self.X, self.W, H, self.mu, self.eps, kind.gamma, kind.family)
        yield H

    def nmf_step(self, function: Function) -> Iterator[Tensor]:
        """Yield the updated W and H."""
        kind, W, H = self.kind, self.W.clone(), self.H.clone()
        function(self.X, W, H, self.weights, self.mu, self.eps, kind.gamma, kind.family, self.free)
        yield W
        yield H

    def memory(self) -> tuple[Memory, Tensor]:
        """Return a full memory whose pairs have positive curvature, and a gradient."""
        kind, B = self.kind, self.restarts
        memory = Memory(B, kind.pairs, kind.M, kind.dtype, kind.device)
        self.generator.manual_seed(1)
        steps = self.normal(B, kind.pairs, kind.M, kind.M)
        memory.S.copy_((steps - steps.mT).flatten(2))
        memory.Y.copy_(memory.S + 0.1 * self.normal(B, kind.pairs, kind.M**2))
        memory.inverse.copy_(self.normal(B, kind.M**2).abs() + 0.5)
        memory.oldest.fill_(kind.pairs - 1)
        return memory, steps[:, 0]

    def aim(self, function: Function) -> Iterator[Tensor]:
        """Yield the slope, the number of pairs and the direction, from a full memory."""
        memory, G = self.memory()
        E = torch.empty_like(G)
        slope, pairs = function(memory, (G - G.mT).contiguous(), 2.0, E)
        yield from (slope, pairs, E)

    def remember(self, function: Function) -> Iterator[Tensor]:
        """Yield the memory and the gradients after a step of some restarts."""
        memory, G = self.memory()
        G, G_trial, E = (self.normal(*G.shape) for _ in range(3))
        g, eta = (G - G.mT).contiguous(), self.normal(self.restarts, 1, 1)
        function(memory, g, G, G_trial, E, eta, self.some(0), self.some(0))
        yield from (memory.S, memory.Y, memory.oldest, g, G)

    def take(self, function: Function) -> Iterator[Tensor]:
        """Yield the target after some restarts were copied."""
        target = self.X.clone()
        function(target, self.X + 1, self.some(0))
        yield target

    def some(self, first: int) -> Tensor:
        """Return a mask of every other restart, beginning with this one."""
        return torch.arange(self.restarts, device=self.kind.device) % 2 == first

    def combinations(self, function: Function) -> Iterator[Tensor]:
        """Yield the matrices B₁ … B₅ of the exponential."""
        self.generator.manual_seed(2)
        yield from function(*(self.normal(self.restarts, *[self.kind.M] * 2) for _ in range(4)))
