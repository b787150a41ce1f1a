"""Refine a model with marks, and hear a stretch of it at once.

With the gains A_g of marks, 1 where nothing is said (`marks.py`), the model of the power v is

    v̂ = Σ_g A_g∘(W_g H_g) + ε ,        C = Σ d(v + ε | v̂) + μ Σ_k ‖w_k‖₁ ‖h_k‖₁ .

With P = (v + ε)/v̂² and Q = 1/v̂, the updates that never raise C are

    H_g ← H_g ∘ [W_gᵀ(A_g∘P)] / [W_gᵀ(A_g∘Q) + μ W_gᵀ1] ,
    W_g ← W_g ∘ [(A_g∘P)H_gᵀ] / [(A_g∘Q)H_gᵀ + μ 1(H_g 1)ᵀ] .

The penalty counts all of a component, also what a gain takes away, so that it costs 1/A times as
much to sound where the group is silent: a small A does what 0 does, and forgives marks that are
wrong.

Frames are in blocks, whose sums are added in their order: the bits do not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phinmf._types import Array, Indices
from phinmf.algorithm.nmf import flat_activations
from phinmf.arrays.threads import Workers
from phinmf.audio import Source
from phinmf.audio.frames import frame_count, window, windowed
from phinmf.divergences import ItakuraSaito, Penalty
from phinmf.divergences.base import multiply
from phinmf.engines.sums import power
from phinmf.errors import InvalidValue
from phinmf.linalg.manifold import is_dft
from phinmf.result.masks import component_rows
from phinmf.unmixing.learn import STRETCH
from phinmf.unmixing.marks import Gains, Marks, grouped_with_new, runs
from phinmf.unmixing.mix import Group, Grouping, folded
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.progress import LEARNING, Progress, no_progress

MOST_FRAMES = 2048  #: that are learned from; at most half of them are chosen for their marks
NEW = 4  #: components of a new group
FIRST = 10  #: updates of H alone, before W follows
UPDATES = 30  #: of H and W
HEARD = 40  #: updates of H alone, until a stretch is heard

IS = ItakuraSaito()


@dataclass(frozen=True, eq=False)
class Block:
    """Some frames: their power, their gains (None: 1), and which components each gain is of."""

    V: Array  #: (P, n)
    A: Array | None  #: (groups, P, n)
    parts: list[Indices]  #: components of each group

    def model(self, W: Array, H: Array) -> Array:
        """Return Σ_g A_g∘(W_g H_g)."""
        if self.A is None:
            return W @ H
        return sum(A * (W[:, k] @ H[k]) for A, k in zip(self.A, self.parts, strict=True))

    def split(self, W: Array, H: Array, eps: float) -> tuple[Array, Array]:
        """Return P and Q (P, n)."""
        return IS.nmf_split(self.V, self.model(W, H) + self.V.dtype.type(eps), eps)

    def onto(self, W: Array, E: Array) -> Array:
        """Return W_gᵀ(A_g∘E) of all groups: (K, n)."""
        if self.A is None:
            return W.T @ E
        out = np.empty((W.shape[1], E.shape[1]), E.dtype)
        for A, k in zip(self.A, self.parts, strict=True):
            out[k] = W[:, k].T @ (A * E)
        return out

    def gathered(self, H: Array, E: Array) -> Array:
        """Return (A_g∘E)H_gᵀ of all groups: (P, K)."""
        if self.A is None:
            return E @ H.T
        out = np.empty((len(E), len(H)), E.dtype)
        for A, k in zip(self.A, self.parts, strict=True):
            out[:, k] = (A * E) @ H[k].T
        return out

    def updated(self, W: Array, H: Array, mu: float, eps: float) -> Array:
        """Return H after an update."""
        P, Q = self.split(W, H, eps)
        rates = self.V.dtype.type(mu) * W.sum(axis=0)
        return multiply(H, self.onto(W, P), self.onto(W, Q) + rates[:, None], 1)

    def sums(self, W: Array, H: Array, mu: float, eps: float) -> tuple[Array, Array]:
        """Return numerator and denominator (P, K) of the update of W."""
        P, Q = self.split(W, H, eps)
        rates = self.V.dtype.type(mu) * H.sum(axis=1)
        return self.gathered(H, P), self.gathered(H, Q) + rates


class MarkedFrames:
    """Frames of a source at the unit power of a model, with the gains of marks."""

    def __init__(self, source: Source, model: UnmixModel, marks: Marks) -> None:
        self.source, self.model = source, model
        self.gains = Gains.of(marks, model, source)
        self.parts = self.gains.parts
        self.fourier = is_dft(model.Phi) and 2 * len(model.W) == model.M
        self.Phi = model.Phi[:0] if self.fourier else model.Phi.astype(np.float32)
        self.W = (model.W / model.scale**2).astype(np.float32)
        self.W /= np.where(self.W.any(axis=0), self.W.sum(axis=0), 1)
        self.mu = model.sparsity
        smallest = float(np.finfo(np.float32).tiny) ** 0.5  # else a silent frame is 0/0
        self.eps = max(model.floor / model.scale**2, smallest)

    def samples(self, first: int, n: int) -> Array:
        """Return windowed frames (channels, M, n) from a number on, at unit power."""
        hop = self.model.M // 2
        start, end = (first - 1) * hop, (first + n) * hop
        y = self.source.read(max(0, start), end - max(0, start))
        padded = np.pad(y, ((max(0, -start), end - max(0, start) - len(y)), (0, 0)))
        return windowed((padded.T / self.model.scale).astype(np.float32, "C"), self.model.M)

    def coefficients(self, Y: Array) -> NDArray[Any]:
        """Return ΦY, or the bins (channels, M/2 + 1, n) of the DFT."""
        return np.fft.rfft(Y, axis=1, norm="ortho") if self.fourier else self.Phi @ Y

    def masked(self, X: NDArray[Any], mask: Array) -> Array:
        """Return the frames of coefficients times a mask (P, n)."""
        if self.fourier:
            mask = np.concatenate([mask, mask[:1]])
            return np.fft.irfft(X * mask, self.model.M, axis=1, norm="ortho")
        return self.Phi.T @ (X * mask.repeat(self.model.M // len(mask), axis=0))

    def block(self, Y: Array, first: int, X: NDArray[Any] | None = None) -> Block:
        """Return the block of frames (channels, M, n) at unit power, of coefficients X."""
        X = self.coefficients(Y) if X is None else X
        if self.fourier:  # bins 0 and M/2 are a pair
            V = np.square(np.abs(X)).mean(axis=0)
            V = np.concatenate([(V[:1] + V[-1:]) / 2, V[1:-1]])
        else:
            V = power(X, len(self.W))
        A = self.gains.of_frames(first, V.shape[1])
        return Block(V.astype(np.float32), A, self.parts)

    def flat(self, block: Block) -> Array:
        """Return activations (K, n) to start from."""
        P, K = self.W.shape
        H = flat_activations(block.V.mean(axis=0), P, K, Penalty(self.mu))
        return H.astype(np.float32)

    def activations(self, block: Block) -> Array:
        """Return activations (K, n) for the columns of the model, in the units of its power."""
        sums = self.model.W.sum(axis=0)
        scales = np.where(sums > 0, self.model.scale**2 / np.where(sums > 0, sums, 1), 0)
        return self.encoded(block, HEARD) * scales[:, None]

    def component_rows(self, A: Array, Y: Array, Phi: Array, W: Array, H: Array) -> Iterator[Array]:
        """Yield the frames (channels, n, M) of each component in turn: their sum is Y.

        In a run of frames with the same gains, A_g∘W_g is an ordinary W.
        """
        member = np.empty(len(H), np.intp)
        for g, part in enumerate(self.parts):
            member[part] = g
        stretches = []
        for run in runs(A):
            gained = A[member, :, run.start].T.astype(W.dtype) * W
            floor, fourier = self.model.floor, self.fourier
            stretches.append(component_rows(Y[:, run], Phi, gained, H[:, run], floor, fourier))
        for rows in zip(*stretches, strict=True):
            yield np.concatenate(rows, axis=1)

    def encoded(self, block: Block, n_updates: int) -> Array:
        """Return activations (K, n) after some updates of H alone."""
        H = self.flat(block)
        for _ in range(n_updates):
            H = block.updated(self.W, H, self.mu, self.eps)
        return H


def check_marks(
    source: Source, model: UnmixModel, marks: Marks, groups: Grouping | None = None
) -> list[Group]:
    """Return the groups of a model, by default its own, and new ones that marks ask for.

    Raise ValueError if the marks belong to another recording, or to groups that do not exist.
    """
    marks.check_recording(source)
    if isinstance(groups, int):
        raise InvalidValue("marks need groups with names: group the components first")
    return grouped_with_new(marks, model.groups if groups is None else groups, model.K, NEW)


def refine(
    source: Source,
    model: UnmixModel,
    marks: Marks,
    groups: Grouping | None = None,
    *,
    n_threads: int | None = None,
    progress: Progress = no_progress,
) -> UnmixModel:
    """Return a model whose components follow what marks say; its groups are in it.

    The groups of components are by default those of the model. New ones get components of their
    own, the last of the model, which are learned first from what is marked as theirs.
    """
    grouping = check_marks(source, model, marks, groups)
    new = [group for group in grouping if any(k > model.K for k in group.components)]
    W = np.pad(model.W, ((0, 0), (0, NEW * len(new))))
    frames = MarkedFrames(source, replace(model, W=W, groups=tuple(grouping)), marks)
    progress(LEARNING, 0.0)
    with Workers(n_threads) as workers:
        stretches = chosen(frames, frame_count(source.length, model.M), new)

        def read(first: int) -> Block:
            n = min(STRETCH, frame_count(source.length, model.M) - first)
            return frames.block(frames.samples(first, n), first)

        blocks = list(workers.map(read, stretches))
        for group in new:
            columns = np.array(group.components) - 1
            frames.W[:, columns] = first_columns(frames, blocks, group)
        H = list(workers.map(lambda block: frames.encoded(block, FIRST), blocks))

        def step(item: tuple[Block, Array]) -> tuple[Array, Array, Array]:
            block, H = item
            H = block.updated(frames.W, H, frames.mu, frames.eps)
            return H, *block.sums(frames.W, H, frames.mu, frames.eps)

        for i in range(UPDATES):
            numerator, denominator = np.zeros_like(frames.W), np.zeros_like(frames.W)
            items = list(zip(blocks, H, strict=True))
            for j, (activations, *sums) in enumerate(workers.map(step, items)):
                H[j] = activations
                numerator += sums[0]
                denominator += sums[1]
            frames.W = multiply(frames.W, numerator, denominator, 1)
            progress(LEARNING, (i + 1) / UPDATES)
    return replace(frames.model, W=frames.W.astype(np.float64) * model.scale**2)


def chosen(frames: MarkedFrames, N: int, new: Sequence[Group] = ()) -> list[int]:
    """Return first frames of the stretches that are learned from: all, or those with marks first.

    At most half of them are chosen for their marks, and half of these for the marks of new groups;
    the others lie evenly between.
    """
    firsts = np.arange(0, N, STRETCH)
    most = MOST_FRAMES // STRETCH
    if len(firsts) <= most:
        return firsts.tolist()

    def touched(gains: Gains, n: int) -> Indices:
        return evenly(firsts[[gains.touches(int(first), STRETCH) for first in firsts]], n)

    marked = touched(frames.gains, most // 4 if new else most // 2)
    for group in new:
        own = [m for m in frames.gains.marks if folded(m.group) == folded(group.name)]
        n = max(3, most // 4 // len(new))  # a short mark may merely touch two of them
        marked = np.union1d(marked, touched(replace(frames.gains, marks=own), n))
    others = evenly(np.setdiff1d(firsts, marked), max(0, most - len(marked)))
    return np.sort(np.concatenate([marked, others])).tolist()


def evenly(values: Indices, n: int) -> Indices:
    """Return at most n values, evenly spread."""
    return values[np.unique(np.linspace(0, len(values) - 1, min(n, len(values))).astype(int))]


def first_columns(frames: MarkedFrames, blocks: list[Block], group: Group) -> Array:
    """Return columns (P, NEW) of W that are learned from what is marked as a new group's alone."""
    regions = [frames.gains.region(block.A, group) for block in blocks]
    some = [i for i, region in enumerate(regions) if region.any() and blocks[i].V[region].any()]
    if not some:
        raise InvalidValue(
            f"nothing sounds where the new group {group.name!r} is marked, or other marks overrule"
            " that: mark it where it sounds"
        )
    V = np.concatenate([blocks[i].V[:, regions[i].any(axis=0)] for i in some], axis=1)
    A = np.concatenate([regions[i][:, regions[i].any(axis=0)] for i in some], axis=1)
    alone = Block(V, A[None].astype(np.float32), [np.arange(NEW)])
    rng = np.random.default_rng(0)
    W = V.mean(axis=1, keepdims=True) * rng.uniform(0.5, 1.5, (len(V), NEW)).astype(np.float32)
    H = np.ones((NEW, V.shape[1]), np.float32)
    for _ in range(UPDATES):
        H = alone.updated(W, H, frames.mu, frames.eps)
        W = multiply(W, *alone.sums(W, H, frames.mu, frames.eps), 1)
    W = np.where(W.any(axis=0), W, (A * V).sum(axis=1, keepdims=True))  # what a penalty removed
    return W / W.sum(axis=0)


def hear(
    source: Source,
    model: UnmixModel,
    marks: Marks,
    start: int = 0,
    length: int | None = None,
    *,
    n_threads: int | None = None,
) -> dict[str, Array]:
    """Return what each group of a model sounds like in a stretch: arrays (length, channels).

    They add up to the recording. The stretch of the source, by default all of it, should be short:
    it is in memory. Activations are nearly those of `separate`, which lets them converge.
    """
    marks.check_recording(source)
    frames = MarkedFrames(source, model, marks)
    hop, length = model.M // 2, source.length - start if length is None else length
    first, last = start // hop, (start + length - 1) // hop + 1  # frames that have a sample of it
    w = window(model.M).astype(np.float32)[:, None]
    names = [group.name for group in frames.gains.groups]

    def work(first: int) -> Array:
        """Return frames (groups, channels, M, n)."""
        n = min(STRETCH // 4, last + 1 - first)
        X = frames.coefficients(Y := frames.samples(first, n))
        block = frames.block(Y, first, X)
        H = frames.encoded(block, HEARD)
        v_hat = block.model(frames.W, H) + np.float32(frames.eps)
        out = np.empty((len(names), *Y.shape), np.float32)
        for g, k in enumerate(frames.parts[:-1]):
            part = frames.W[:, k] @ H[k]
            mask = part if block.A is None else block.A[g] * part
            mask += np.float32(frames.eps * len(k) / model.K)
            out[g] = frames.masked(X, mask / v_hat)
        out[-1] = Y - out[:-1].sum(axis=0)
        return out * (w * np.float32(model.scale))

    with Workers(n_threads) as workers:
        firsts = list(range(first, last + 1, STRETCH // 4))
        frames_out = np.concatenate(list(workers.map(work, firsts)), axis=3)
    halves = frames_out.transpose(0, 3, 2, 1)  # (groups, n, M, channels)
    y = halves[:, 1:, :hop] + halves[:, :-1, hop:]
    y = y.reshape(len(names), -1, source.channels)[:, start - first * hop :][:, :length]
    return dict(zip(names, y, strict=True))
