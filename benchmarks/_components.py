"""Pieces with exact stems, taken apart once and kept in a folder.

What is kept are inner products, from which any grouping is scored, and what a rule may look at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from _modules import modules
from _pieces import Piece, pieces
from _separators import even
from _source_scores import LIMIT, oracle_grouping, oracle_mask, score
from scipy.optimize import linear_sum_assignment

import phinmf
from phinmf.unmixing.similarity import spectra_of

SIZES = 8, 16, 24  # numbers of components
RENDERED = "chorale", "piano", "drums", "example"
WINDOW = 0.04  # s, of the oracle mask; the default of unmix
MEASURES = "snr", "si_sdr"


@dataclass(frozen=True, eq=False)
class Case:
    """A piece that was taken apart into K components."""

    products: np.ndarray  #: (K + J, K + J): inner products of the components and the sources
    oracle: np.ndarray  #: (K,): the source of each component
    mask: np.ndarray  #: SNR and SI-SDR of the oracle mask, means over sources
    H: np.ndarray  #: (K, N): activations
    spectra: np.ndarray  #: (K, M/2 + 1)
    channels: np.ndarray  #: (K, channels, channels)
    sample_rate: np.ndarray

    @property
    def K(self) -> int:
        return len(self.H)

    @property
    def J(self) -> int:
        """Number of sources."""
        return len(self.products) - self.K

    @property
    def shares(self) -> np.ndarray:
        """Share of the energy of each component."""
        energies = np.diag(self.products)[: self.K]
        return energies / energies.sum()

    def scores(self, members: np.ndarray) -> np.ndarray:
        """SNR and SI-SDR of sums of components, rows of zeros and ones, for each source."""
        K = self.K
        own = np.einsum("gk,kl,gl->g", members, self.products[:K, :K], members)[:, None]
        shared = members @ self.products[:K, K:]
        source = np.diag(self.products)[K:]
        target = shared**2 / source
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = source / (own - 2 * shared + source), target / np.maximum(own - target, 0)
            return np.clip(10 * np.log10(ratios), -LIMIT, LIMIT)

    def matched(self, labels: np.ndarray) -> np.ndarray:
        """Mean SNR and SI-SDR over sources, each with the group that suits it."""
        found = self.scores((labels == np.arange(self.J)[:, None]).astype(float))
        return found[(slice(None), *linear_sum_assignment(-found[1]))].mean(axis=1)

    def grouped_by_oracle(self) -> np.ndarray:
        found = self.scores((self.oracle == np.arange(self.J)[:, None]).astype(float))
        return np.diagonal(found, axis1=1, axis2=2).mean(axis=1)

    def mixture(self) -> np.ndarray:
        """The scores of the mixture itself as the estimate of every source."""
        return self.scores(np.ones((1, self.K)))[:, 0].mean(axis=1)


def all_pieces() -> Iterator[Piece]:
    """Rendered pieces and arrangements, always in the same order."""
    yield from pieces(RENDERED)
    yield from modules()


def case(folder: Path, piece: Piece, K: int) -> Case:
    """Take a piece apart, or read what was kept."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / re.sub(r"[^\w.-]+", "_", f"{piece.kind} {piece.name} {K}.npz")
    if path.exists():
        with np.load(path) as kept:
            return Case(**kept)
    found = taken_apart(piece, K)
    np.savez(path, **asdict(found))
    return found


def taken_apart(piece: Piece, K: int) -> Case:
    """Use `unmix` as users do."""
    stems = np.stack(list(piece.stems.values()))
    stems = stems.reshape(*stems.shape[:2], -1)
    found = phinmf.unmix(stems.sum(axis=0), piece.rate, K, seed=0)
    signals = np.concatenate([found.components, stems]).reshape(K + len(stems), -1)
    masked = oracle_mask(stems, even(WINDOW, piece.rate))
    mask = [score(one, stems, j) for j, one in enumerate(masked)]
    return Case(
        products=signals @ signals.T,
        oracle=oracle_grouping(found.components, stems),
        mask=np.mean([[getattr(one, name) for name in MEASURES] for one in mask], axis=0),
        H=found.H,
        spectra=spectra_of(found.model),
        channels=np.einsum("knc,knd->kcd", found.components, found.components),
        sample_rate=np.array(piece.rate),
    )
