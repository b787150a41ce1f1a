"""How near components come to the true sources: scores in decibels, oracle groups, oracle masks.

Arrays are (J, n) or (J, n, channels) for J sources of n samples, (K, …) for K components.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import phinmf
from phinmf.linalg.manifold import dct
from phinmf.result.masks import component_frames

LIMIT = 200.0  # dB; scores beyond it would be rounding or silence
EXHAUSTIVE = 2**16  # number of groupings up to which all are tried


class Scores(NamedTuple):
    """Decibels, each from -200 to 200; more is better."""

    sdr: float  #: target / (interference + artefacts); a gain for each channel does not count
    sir: float  #: target / interference
    sar: float  #: (target + interference) / artefacts
    si_sdr: float  #: as sdr, with one gain for all channels; the same for one channel
    snr: float  #: reference / (estimate - reference); gains count as errors


def score(estimate: np.ndarray, references: np.ndarray, source: int) -> Scores:
    """Score an estimate (n,) or (n, channels) of one of the references.

    The estimate is split, channel by channel, into its reference times a gain (the target), the
    other references times gains (interference) and the rest (artefacts): BSS Eval with filters of
    one tap (Vincent, Gribonval and Févotte 2006).
    """
    truths = np.asarray(references, dtype=float)
    truths = truths.reshape(*truths.shape[:2], -1)
    heard, truth = np.asarray(estimate, dtype=float).reshape(truths.shape[1:]), truths[source]
    if not heard.any() and not truth.any():
        return Scores(*[LIMIT] * 5)
    target, explained = np.zeros_like(heard), np.zeros_like(heard)
    for c in range(heard.shape[1]):
        target[:, c] = projection(heard[:, c], truth[:, c : c + 1])
        explained[:, c] = projection(heard[:, c], truths[:, :, c].T)
    one_gain = projection(heard.ravel(), truth.reshape(-1, 1)).reshape(heard.shape)
    return Scores(
        sdr=decibels(energy(target), energy(heard - target)),
        sir=decibels(energy(target), energy(explained - target)),
        sar=decibels(energy(explained), energy(heard - explained)),
        si_sdr=decibels(energy(one_gain), energy(heard - one_gain)),
        snr=decibels(energy(truth), energy(heard - truth)) if heard.any() else -LIMIT,
    )


def decibels(signal: float, noise: float) -> float:
    """10 log10(signal / noise), within the limit; no signal is the lower limit."""
    if signal <= 0:
        return -LIMIT
    if noise <= 0:
        return LIMIT
    return min(LIMIT, max(-LIMIT, 10 * (math.log10(signal) - math.log10(noise))))


def projection(y: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Project y (n,) onto the span of the columns of basis (n, J), which may be dependent."""
    norms = np.linalg.norm(basis, axis=0)
    columns = basis[:, norms > 0] / norms[norms > 0]
    gains = np.linalg.lstsq(columns.T @ columns, columns.T @ y, rcond=1e-12)[0]
    return columns @ gains


def energy(y: np.ndarray) -> float:
    return float(np.vdot(y, y))


def oracle_grouping(components: np.ndarray, references: np.ndarray) -> np.ndarray:
    """The source (K,) of each component for which the mean SDR is the largest.

    All groupings are tried if there are at most 65,536. Otherwise each component starts at the
    source that it shares the most energy with, and single components move or swap as long as that
    improves the result. A silent source gets no components, unless all are silent.
    """
    parts, truths = (np.asarray(a, dtype=float) for a in (components, references))
    parts, truths = (a.reshape(*a.shape[:2], -1) for a in (parts, truths))
    audible = np.flatnonzero(truths.any(axis=(1, 2)))
    if len(audible) == 0:
        return np.zeros(len(parts), dtype=np.intp)
    return audible[Search(parts, truths[audible]).best()]


def grouped(components: np.ndarray, grouping: np.ndarray, n_groups: int) -> np.ndarray:
    """The sums (n_groups, n, channels) of the components of each group."""
    parts = np.asarray(components, dtype=float)
    sums = np.zeros((n_groups, *parts.shape[1:]))
    np.add.at(sums, grouping, parts)
    return sums.reshape(*sums.shape[:2], -1)


class Search:
    """Search for the best grouping; inner products give the SDR of a group without its signal."""

    def __init__(self, components: np.ndarray, truths: np.ndarray) -> None:
        norms = np.linalg.norm(truths, axis=1)  # (J, channels)
        with np.errstate(divide="ignore", invalid="ignore"):
            units = np.where(norms[:, None] > 0, truths / norms[:, None], 0)
        self.shared = np.einsum("knc,jnc->kjc", components, units)
        flat = components.reshape(len(components), -1)
        self.common = flat @ flat.T
        self.K, self.J = len(components), len(truths)

    def sdr(self, members: np.ndarray, source: int) -> np.ndarray:
        """The SDR of groups, rows of zeros and ones, for a source."""
        target = np.square(members @ self.shared[:, source]).sum(axis=1)
        whole = np.einsum("gk,kl,gl->g", members, self.common, members)
        rest = np.maximum(whole - target, 0)
        silent = target <= 1e-20 * np.trace(self.common)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = 10 * np.log10(target / rest)
        return np.where(silent, -LIMIT, np.clip(ratio, -LIMIT, LIMIT))

    def best(self) -> np.ndarray:
        if self.J == 1:
            return np.zeros(self.K, dtype=np.intp)
        return self.exact() if self.J**self.K <= EXHAUSTIVE else self.local()

    def exact(self) -> np.ndarray:
        """The best of all groupings."""
        subsets = (np.arange(2**self.K)[:, None] >> np.arange(self.K)) & 1
        values = np.stack([self.sdr(subsets.astype(float), j) for j in range(self.J)])
        groupings = np.indices((self.J,) * self.K).reshape(self.K, -1)
        total = np.zeros(groupings.shape[1])
        for j in range(self.J):
            total += values[j, ((groupings == j) << np.arange(self.K)[:, None]).sum(axis=0)]
        return groupings[:, total.argmax()]

    def local(self) -> np.ndarray:
        """A grouping that no move of a component and no swap of two improves."""
        grouping = np.square(self.shared).sum(axis=2).argmax(axis=1)
        value = self.values(grouping[None])[0]
        while True:
            near = np.concatenate([self.moves(grouping), self.swaps(grouping)])
            values = self.values(near)
            best = int(values.argmax())
            if values[best] <= value + 1e-9:
                return grouping
            grouping, value = near[best], values[best]

    def values(self, groupings: np.ndarray) -> np.ndarray:
        """The sum of the SDR of each grouping (a row)."""
        sums = [self.sdr((groupings == j).astype(float), j) for j in range(self.J)]
        return np.sum(sums, axis=0)

    def moves(self, grouping: np.ndarray) -> np.ndarray:
        """All groupings in which one component has another source."""
        near = np.repeat(grouping[None], self.K * self.J, axis=0)
        component = np.repeat(np.arange(self.K), self.J)
        near[np.arange(self.K * self.J), component] = np.tile(np.arange(self.J), self.K)
        return near

    def swaps(self, grouping: np.ndarray) -> np.ndarray:
        """All groupings in which two components have changed places."""
        first, second = np.triu_indices(self.K, 1)
        near = np.repeat(grouping[None], len(first), axis=0)
        rows = np.arange(len(first))
        near[rows, first], near[rows, second] = grouping[second], grouping[first]
        return near


def oracle_mask(references: np.ndarray, M: int) -> np.ndarray:
    """Share each coefficient of the mixture in the DCT among the sources by their power there.

    This is the ideal ratio mask: the best that masks of this kind could do. The estimates
    (J, n, channels) add up to the mixture; channels share the mask.
    """
    truths = np.asarray(references, dtype=float)
    truths = truths.reshape(*truths.shape[:2], -1)
    powers = [np.square(dct(M) @ phinmf.to_frames(truth, M)).mean(axis=0) for truth in truths]
    total = np.sum(powers, axis=0)
    mixture = dct(M) @ phinmf.to_frames(truths.sum(axis=0), M)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [np.where(total > 0, power / total, 1 / len(truths)) for power in powers]
    frames = [dct(M).T @ (share * mixture) for share in shares]
    return np.stack([phinmf.from_frames(Y, truths.shape[1]) for Y in frames])


def component_signals(
    Y: np.ndarray, result: phinmf.Result, length: int, floor: float
) -> np.ndarray:
    """The components of a fit: (K, length, channels), or (K, length) for Y (M, N)."""
    parts = component_frames(Y, result.Phi, result.W, result.H, floor * result.scale**2)
    return np.stack([phinmf.from_frames(part, length) for part in parts])
