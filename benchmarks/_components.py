"""Components of pieces with exact stems, computed once and kept in a folder.

What is kept are inner products, from which any grouping can be scored, and what a rule for grouping
may look at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
from _modules import modules
from _pieces import Piece, pieces
from _separators import even

import phinmf
from phinmf.scores.grouping import oracle_grouping
from phinmf.scores.oracles import oracle_mask

SIZES = 8, 16, 24  # numbers of components
RENDERED = "chorale", "piano", "drums", "example"
WINDOW = 0.04  # s


@dataclass(frozen=True, eq=False)
class Case:
    """A piece taken apart into K components."""

    kind: np.ndarray
    piece: np.ndarray
    rate: np.ndarray
    products: np.ndarray  #: (K + J, K + J) inner products of the components and the sources
    masked: np.ndarray  #: (J, 2) SI-SDR and SNR of the oracle mask
    oracle: np.ndarray  #: (K,) the source of each component, by the oracle
    H: np.ndarray  #: (K, N) activations
    W: np.ndarray  #: (M, K)
    atoms: np.ndarray  #: (M, M/2 + 1) spectra of the atoms
    channels: np.ndarray  #: (K, C, C) inner products of the channels of each component
    bands: np.ndarray  #: (K, bands, N)

    @property
    def K(self) -> int:
        return len(self.H)

    @property
    def J(self) -> int:
        return len(self.products) - self.K


def all_pieces() -> Iterator[Piece]:
    """Rendered pieces and arrangements, always in the same order."""
    yield from pieces(RENDERED)
    yield from modules()


def cases(folder: Path, sizes: tuple[int, ...] = SIZES) -> Iterator[Case]:
    """Take all pieces apart, or read what was kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for piece in all_pieces():
        for K in sizes:
            yield case(folder, piece, K)


def case(folder: Path, piece: Piece, K: int) -> Case:
    name = hashlib.sha256(f"{piece.kind} {piece.name} {K}".encode()).hexdigest()[:16]
    path = folder / f"{name}.npz"
    if path.exists():
        with np.load(path) as kept:
            return Case(**kept)
    found = take_apart(piece, K)
    np.savez(path, **asdict(found))
    return found
