"""Separate a piece by several methods and seeds, and score what comes out."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
from _pieces import MAKERS, Piece, pieces
from _separators import Mixture, Separator, Setting, dct_atoms, even
from _source_scores import Scores, grouped, oracle_grouping, oracle_mask, score

COMPONENTS = {"chorale": 24, "piano": 12, "drums": 12, "example": 12, "arrangement": 16}
LARGE = "arrangement"  # the kind of sound that takes the longest
LARGE_SEEDS = 2  # at most
QUICK = 3.0  # seconds
CHOSEN = Setting()  # the defaults of unmix
MIXTURE, MASK = "mixture", "oracle mask"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which pieces, and how often."""
    parser.add_argument("--seeds", type=int, default=5, help=f"at most {LARGE_SEEDS} for {LARGE}")
    parser.add_argument("--kinds", nargs="+", choices=MAKERS, help="only these; writes no results")
    quick = f"{QUICK:g} s of one piece of each kind, one seed; writes no results"
    parser.add_argument("--quick", action="store_true", help=quick)


def wanted(names: Iterable[str], quick: bool) -> Iterator[Piece]:
    """The pieces of these kinds; if it must be quick, the start of one piece of each."""
    for kind in names:
        if quick:
            yield from (piece.cut(QUICK) for piece in islice(pieces([kind]), 1))
        else:
            yield from pieces([kind])


def mean_scores(estimates: Iterable[np.ndarray], stems: np.ndarray) -> dict[str, float]:
    scores = [score(estimate, stems, j) for j, estimate in enumerate(estimates)]
    means = np.mean(scores, axis=0)
    return {name: round(float(x), 4) for name, x in zip(Scores._fields, means, strict=True)}


def runs(
    piece: Piece, setting: Setting, seeds: int, methods: Mapping[str, Separator]
) -> Iterator[dict[str, Any]]:
    """The scores of each method and seed on a piece, components grouped by the oracle."""
    stems = np.stack(list(piece.stems.values()))
    M, K = even(setting.window, piece.rate), COMPONENTS[piece.kind]
    mixture = Mixture(stems.sum(axis=0), piece.rate, M, K)
    of_the_dct = dct_atoms(mixture)
    what = {"kind": piece.kind, "piece": piece.name, "M": M, "K": K, "sparsity": setting.sparsity}
    for seed in range(min(seeds, LARGE_SEEDS) if piece.kind == LARGE else seeds):
        for method, separate in methods.items():
            components, atoms, seconds = separate(mixture, setting, seed)
            sums = grouped(components, oracle_grouping(components, stems), len(stems))
            yield what | {
                "method": method, "seed": seed, **mean_scores(sums, stems),
                "atoms_95": atoms or "", "dct_atoms_95": of_the_dct, "seconds": round(seconds, 2),
            }  # fmt: skip
    for method, estimates in ((MIXTURE, [mixture.y] * len(stems)), (MASK, oracle_mask(stems, M))):
        yield what | {
            "method": method, "seed": "", **mean_scores(estimates, stems), "atoms_95": "",
            "dct_atoms_95": of_the_dct, "seconds": "",
        }  # fmt: skip
