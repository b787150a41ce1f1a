"""How well are components grouped automatically? Pieces with exact stems, against the oracle.

The pieces are divided into two halves. The rule was chosen on the first; the second reports.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _common import ROOT, machine, write_csv
from _components import MEASURES, SIZES, Case, all_pieces, case
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from phinmf.unmixing.clustering import divide, suggestions
from phinmf.unmixing.similarity import RESPECTS, cosines, differences, similarity

CHOSEN_ON, REPORTED = "chosen on", "reported"  # the halves
MIXTURE, CHANCE, ORACLE, MASK = "mixture", "chance", "oracle groups", "oracle mask"
OLD, RULE, TRAINED = "before: loudness over time", "the rule", "trained on the other half"
DRAWS = 20  # groupings by chance, of equal size
QUICK = 2  # pieces


class Piece(NamedTuple):
    """A piece with one number of components."""

    kind: str
    name: str
    half: str
    case: Case


Rule = Callable[[Case], np.ndarray]  #: the group of each component


def loudness_over_time(one: Case) -> np.ndarray:
    """The rule of version 0.1."""
    loudness = np.sqrt(one.H)
    S = cosines(loudness - loudness.mean(axis=1, keepdims=True))
    return linked(S, one.J, "average")


def linked(S: np.ndarray, n: int, method: str) -> np.ndarray:
    pairs = squareform(np.clip(1 - S, 0, 2) * (1 - np.eye(len(S))), checks=False)
    return fcluster(linkage(pairs, method), n, "maxclust") - 1


def spectral(one: Case) -> np.ndarray:
    """Normalised cut."""
    cut = SpectralClustering(one.J, affinity="precomputed", random_state=0)
    return cut.fit_predict(of(one))


def of(one: Case, respects: Iterable[str] = RESPECTS) -> np.ndarray:
    """The similarity in some respects."""
    D = differences(one.H, one.spectra, one.channels, int(one.sample_rate))
    return np.exp(-D[[RESPECTS.index(name) for name in respects]].mean(axis=0))


def the_rule(one: Case) -> np.ndarray:
    """What `--groups` does."""
    S = similarity(one.H, one.spectra, one.channels, int(one.sample_rate))
    return divide(S.round(4), one.J, one.shares)


def in_respects(respects: Iterable[str]) -> Rule:
    return lambda one: divide(of(one, respects), one.J, one.shares)


RULES: dict[str, Rule] = {
    OLD: loudness_over_time,
    RULE: the_rule,
    **{f"{name} alone": in_respects([name]) for name in RESPECTS},
    **{f"without {name}": in_respects([r for r in RESPECTS if r != name]) for name in RESPECTS},
    "without energies": lambda one: divide(of(one), one.J),
    "average linkage alone": lambda one: linked(of(one), one.J, "average"),
    "Ward's method": lambda one: linked(of(one), one.J, "ward"),
    "normalised cut": spectral,
}


def trained(some: list[Piece]) -> Rule:
    """A bound: a logistic regression that learns from true sources which pairs belong together."""
    X, same, weight = [], [], []
    for piece in some:
        one = piece.case
        first, second = np.triu_indices(one.K, 1)
        X.append(pairs(one)[first, second])
        same.append(one.oracle[first] == one.oracle[second])
        weights = np.sqrt(one.shares[first] * one.shares[second])
        weight.append(weights / weights.mean())
    model = LogisticRegression(max_iter=1000)
    model.fit(np.concatenate(X), np.concatenate(same), np.concatenate(weight))

    def rule(one: Case) -> np.ndarray:
        known = model.predict_proba(pairs(one).reshape(one.K**2, -1))[:, 1]
        return divide(known.reshape(one.K, one.K), one.J, one.shares)

    return rule


def pairs(one: Case) -> np.ndarray:
    """What is known about each pair: the four differences, and their logarithms."""
    D = differences(one.H, one.spectra, one.channels, int(one.sample_rate))
    return np.concatenate([D, np.log(D + 0.1)]).transpose(1, 2, 0)


def chance(one: Case) -> np.ndarray:
    """Mean scores of groups of equal size that are drawn by chance."""
    rng = np.random.default_rng(0)
    draws = [rng.permutation(np.arange(one.K) % one.J) for _ in range(DRAWS)]
    return np.mean([one.matched(labels) for labels in draws], axis=0)


def measured(pieces: list[Piece]) -> list[dict[str, Any]]:
    """The scores of each rule on each piece."""
    bounds = {
        half: trained([piece for piece in pieces if piece.half != half])
        for half in (CHOSEN_ON, REPORTED)
        if any(piece.half != half for piece in pieces)
    }
    rows = []
    for piece in pieces:
        one = piece.case
        scores = {MIXTURE: one.mixture(), CHANCE: chance(one)}
        scores |= {name: one.matched(rule(one)) for name, rule in RULES.items()}
        if piece.half in bounds:
            scores[TRAINED] = one.matched(bounds[piece.half](one))
        scores |= {ORACLE: one.grouped_by_oracle(), MASK: one.mask}
        what = {"kind": piece.kind, "piece": piece.name, "half": piece.half, "K": one.K,
                "sources": one.J}  # fmt: skip
        for name, found in scores.items():
            decibels = zip(MEASURES, (f"{x:.3f}" for x in found), strict=True)
            rows.append(what | {"groups": name, **dict(decibels)})
    return rows


def mean(rows: list[dict[str, Any]], groups: str, measure: str) -> float:
    return float(np.mean([float(row[measure]) for row in rows if row["groups"] == groups]))


def share(rows: list[dict[str, Any]], groups: str, measure: str, zero: str) -> float:
    """What a rule gains over `zero`, as a share of what the oracle gains; of means over pieces."""
    low, high = mean(rows, zero, measure), mean(rows, ORACLE, measure)
    return (mean(rows, groups, measure) - low) / (high - low)


def summary(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """A row for each rule: the shares on both halves."""
    told = []
    for groups in (CHANCE, *RULES, TRAINED, ORACLE):
        row = {"groups": groups}
        for half in (CHOSEN_ON, REPORTED):
            some = [r for r in rows if r["half"] == half]
            for zero in (MIXTURE, CHANCE):
                for measure in MEASURES:
                    value = share(some, groups, measure, zero)
                    row[f"{half}: {measure} over {zero}"] = f"{value:.2f}"
        told.append(row)
    return told


def by_kind(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Decibels on the half that was not used to choose, by kind of sound and K."""
    told = []
    rows = [r for r in rows if r["half"] == REPORTED]
    for arranged in (True, False):
        of_kind = [r for r in rows if (r["kind"] == "arrangement") == arranged]
        for K in SIZES:
            some = [r for r in of_kind if r["K"] == K]
            row = {"sound": "arrangements" if arranged else "rendered", "K": str(K),
                   "pieces": str(len({r["piece"] for r in some}))}  # fmt: skip
            for groups in (MIXTURE, CHANCE, OLD, RULE, ORACLE, MASK):
                for measure in MEASURES:
                    row[f"{groups}: {measure}"] = f"{mean(some, groups, measure):.1f}"
            told.append(row)
    return told


def suggested(pieces: list[Piece]) -> list[dict[str, str]]:
    """How often the suggestions are right, by the oracle."""
    told = []
    for half in (CHOSEN_ON, REPORTED):
        for arranged in (True, False):
            some = [
                p.case for p in pieces if p.half == half and (p.kind == "arrangement") == arranged
            ]
            sets = right = total = 0
            same = []
            for one in some:
                S = similarity(one.H, one.spectra, one.channels, int(one.sample_rate)).round(4)
                agree = one.oracle[:, None] == one.oracle
                same.append(agree[np.triu_indices(one.K, 1)].mean())
                for members in suggestions(S):
                    k = np.array(members) - 1
                    sets += 1
                    right += int(np.triu(agree[np.ix_(k, k)], 1).sum())
                    total += len(k) * (len(k) - 1) // 2
            told.append({
                "half": half, "sound": "arrangements" if arranged else "rendered",
                "sets": f"{sets / max(1, len(some)):.1f}",
                "pairs of one source": f"{100 * right / max(1, total):.0f} %",
                "of all pairs": f"{100 * np.mean(same):.0f} %",
            })  # fmt: skip
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, default=ROOT / "data" / "grouping", metavar="FOLDER",
                        help="where what was computed is kept for the next time")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="two pieces; writes no results")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    pieces = []
    for i, piece in enumerate(islice(all_pieces(), QUICK if options.quick else None)):
        for K in SIZES:
            half = REPORTED if i % 2 else CHOSEN_ON
            pieces.append(Piece(piece.kind, piece.name, half, case(options.keep, piece, K)))
        print(piece.kind, piece.name, flush=True)
    rows = measured(pieces)
    results = {"grouping": rows, "grouping_summary": summary(rows)}
    if not options.quick:
        kinds = by_kind(rows)
        results |= {"grouping_kinds": kinds, "grouping_suggestions": suggested(pieces)}
        results["grouping_arrangements"] = [r for r in kinds if r["sound"] == "arrangements"]
    for name, table in results.items():
        if name != "grouping":
            print(*table, sep="\n")
        if not options.quick:
            write_csv(name, table)


if __name__ == "__main__":
    main()
