"""Separate pieces by several methods and seeds, score what comes out, and compare in pairs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
from _pieces import MAKERS, Piece, pieces
from _separators import Mixture, Separator, Setting, dct_atoms, even
from _source_scores import Scores, grouped, oracle_grouping, oracle_mask, score
from scipy.stats import t as student
from scipy.stats import ttest_1samp, wilcoxon

COMPONENTS = {"chorale": 24, "piano": 12, "drums": 12, "example": 12, "arrangement": 16}
QUICK = 3.0  # seconds
CHOSEN = Setting()  # the defaults of unmix
MIXTURE, MASK = "mixture", "oracle mask"
Rows = list[dict[str, Any]]  #: a row holds the scores of one run


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which pieces, and how often."""
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=MAKERS, help="only these; writes no results")
    quick = f"{QUICK:g} s of one piece of each kind, one seed; writes no results"
    parser.add_argument("--quick", action="store_true", help=quick)


def chosen_pieces(kinds: Iterable[str], quick: bool) -> Iterator[Piece]:
    """The pieces of these kinds; if it must be quick, the start of one piece of each."""
    for kind in kinds:
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
    for seed in range(seeds):
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


def kinds_of(rows: Rows) -> dict[str, Rows]:
    """The rows of each kind of sound, and all rows."""
    names = [*dict.fromkeys(r["kind"] for r in rows), "all"]
    return {name: [r for r in rows if name in (r["kind"], "all")] for name in names}


def mean(rows: Rows, method: str, what: str) -> float:
    """Mean of a score, or of the seconds, over the runs of a method."""
    return float(np.mean([r[what] for r in rows if r["method"] == method]))


def differences(rows: Rows, measure: str, other: str, method: str) -> np.ndarray:
    """Score of a method minus that of another one, for each piece and seed."""
    value = {(r["piece"], r["seed"], r["method"]): float(r[measure]) for r in rows}
    pairs = [key[:2] for key in value if key[2] == method]
    return np.array([value[*pair, method] - value[*pair, other] for pair in pairs])


def interval(difference: np.ndarray) -> float:
    """Half the 95 % interval of the mean."""
    n = len(difference)
    return float(student.ppf(0.975, n - 1) * difference.std(ddof=1) / np.sqrt(n))


def paired(difference: np.ndarray) -> str:
    """Mean, 95 % interval and the p of Wilcoxon's test, in words; of one run only the mean."""
    words = f"{difference.mean():+.2f}"
    if len(difference) > 1:
        words += f" ± {interval(difference):.2f} (p = {wilcoxon(difference).pvalue:.2g})"
    return words


def by_piece(rows: Rows, measure: str, other: str, method: str) -> str:
    """The p of Student's test over pieces, each with the mean of its seeds."""
    means = [
        differences([r for r in rows if r["piece"] == name], measure, other, method).mean()
        for name in dict.fromkeys(r["piece"] for r in rows)
    ]
    return f"{ttest_1samp(means, 0).pvalue:.2g}" if len(means) > 1 else ""


def fewer_atoms(rows: Rows, method: str) -> float:
    """Mean share of the DCT's atoms that the learned transform does not need."""
    mine = [r for r in rows if r["method"] == method]
    return 1 - float(np.mean([r["atoms_95"] / r["dct_atoms_95"] for r in mine]))
