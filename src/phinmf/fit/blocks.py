"""Frames of a stream in blocks of one size, however they were cut when they arrived."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phinmf import arrays, checks
from phinmf._types import Array, Device
from phinmf.arrays.levels import levels
from phinmf.fit import power
from phinmf.fit.devices import ComputeDevice


@dataclass(frozen=True)
class Block:
    """Frames with sound, and what they weigh."""

    Y: Array  #: (C, M, n), as given
    weights: Array | None  #: (n,), all positive, on the host; None: all are 1
    energy: float  #: Σ y², weighted

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.Y.shape[2] if self.weights is None else self.weights.sum())

    def check_scale(self, scale: float) -> None:
        """Raise if powers of frames of this root mean square cannot be computed."""
        largest = power.largest_power(dtype := arrays.dtype_of(self.Y))
        if not 1 / largest < scale < largest:
            raise ValueError(
                f"the frames have root mean square {scale:.3g}, whose square leaves the range of"
                f" {dtype}: scale them nearer to 1"
            )


def converted(name: str, Y: Array, example: Array) -> Array:
    """A copy of frames of the kind, on the device and in the precision of an example."""
    dtype = arrays.dtype_of(example)
    with np.errstate(over="ignore"):  # looked for next
        found = arrays.copied(arrays.like(Y, example), dtype)
    if not bool(arrays.namespace(found).isfinite(found).all()):
        raise ValueError(
            f"{name} has values that {dtype}, the precision of the first frames, cannot hold:"
            " scale them nearer to 1, or give all frames in float64"
        )
    return found


def with_sound(Y: Array, weights: Array | None = None) -> Block | None:
    """Leave out frames that are exactly zero or of weight 0; None if nothing is left."""
    known = levels(Y)
    heard = arrays.to_numpy(~known.silent)
    if weights is not None:
        heard = heard & (weights > 0)
    kept = np.flatnonzero(heard)
    if not len(kept):
        return None
    some = None if weights is None else weights[kept]
    energies = arrays.to_numpy(known.energies)[kept]
    energy = energies.sum() if some is None else energies @ some
    with np.errstate(over="ignore"):  # an infinite one is found by `check_scale`
        energy = float(np.ldexp(energy, 2 * known.exponent))
    return Block(arrays.take_frames(Y, kept), some, energy)


class Waiting:
    """Frames (C, M, n) that have arrived, and their weights, until there are enough for a block."""

    def __init__(self) -> None:
        self.parts: list[tuple[Array, Array]] = []

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return sum(Y.shape[2] for Y, _ in self.parts)

    def put(self, Y: Array, weights: Array | None = None) -> None:
        """Add frames; without weights each counts once."""
        self.parts.append((Y, np.ones(Y.shape[2]) if weights is None else weights))

    def take(self, size: int) -> tuple[Array, Array | None]:
        """Remove the first frames, at most so many, and return them with their weights."""
        taken: list[tuple[Array, Array]] = []
        while size and self.parts:
            Y, weights = self.parts.pop(0)
            taken.append((Y[:, :, :size], weights[:size]))
            if len(rest := weights[size:]):
                few = len(rest) < size  # do not keep the memory of all for them
                left = arrays.copied(Y[:, :, size:]) if few else Y[:, :, size:]
                self.parts.insert(0, (left, rest))
            size -= len(taken[-1][1])
        xp = arrays.namespace(taken[0][0])
        Y = taken[0][0] if len(taken) == 1 else xp.concat([part for part, _ in taken], axis=2)
        weights = np.concatenate([w for _, w in taken])
        return Y, None if (weights == 1).all() else weights


class Blocks:
    """The frames of a stream, checked, in blocks of one size."""

    def __init__(self, stream: Iterable[Any], device: Device = None) -> None:
        self.arriving = iter(stream)
        self.number = 0  #: of blocks that arrived
        first = self.next_given()
        if first is None:
            raise ValueError("the stream has no frames: there is nothing to learn from")
        example = arrays.copied(first[:, :, :1])  # of its shape and type, and where it is
        self.place = ComputeDevice("a frame of the stream", example, device)
        self.example = self.place.take(example)  #: the same where it is computed with
        self.waiting = Waiting()
        self.waiting.put(self.taken(first))

    @property
    def first(self) -> Array:
        """The first frames that wait (C, M, n): before any are taken, the first block."""
        return self.waiting.parts[0][0]

    def taken(self, Y: Array) -> Array:
        """A copy of a block where it is computed with: its owner may use the memory again."""
        return converted(f"block {self.number} of the stream", Y, self.example)

    def next_given(self) -> Any:
        """The next block that has frames, (C, M, n), as it was given; None at the end."""
        for given in self.arriving:
            self.number += 1
            name = f"block {self.number} of the stream"
            checks.refuse_path(
                name, given, "frames are needed: pass phinmf.stream_frames(files, M)"
            )
            checks.refuse_complex(name, given)
            Y = checks.real_array(name, given)
            if Y.ndim not in (2, 3) or 0 in Y.shape[:-1]:
                raise ValueError(
                    f"{name} has shape {tuple(Y.shape)}, but frames of shape (M, n) or (C, M, n)"
                    " are needed"
                )
            if Y.shape[-1]:
                return Y if Y.ndim == 3 else Y[None]
        return None

    def take(self, size: int) -> Array | None:
        """The next frames, so many; fewer at the end of the stream, and None after it."""
        C, M = self.example.shape[:2]
        while self.waiting.n_frames < size and (Y := self.next_given()) is not None:
            if tuple(Y.shape[:2]) != (C, M):
                raise ValueError(
                    f"block {self.number} of the stream has frames of {Y.shape[1]} samples on"
                    f" {Y.shape[0]} channels, but the first block of {M} on {C}"
                )
            self.waiting.put(self.taken(Y))
        return self.waiting.take(size)[0] if self.waiting.n_frames else None
