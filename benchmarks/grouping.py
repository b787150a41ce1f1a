"""How well does `unmix --groups` group components? Pieces with exact stems, against the oracle.

Of all pieces every second one is measured: on the others the constants of the rule were chosen
(`--chosen` shows them). A piece is taken apart once; what is kept in a folder are the similarities
of its components and their inner products with the sources, from which any grouping is scored.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from _common import ROOT, Piece, machine, write_csv
from _modules import modules
from _pieces import pieces
from _source_scores import LIMIT, oracle_grouping
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.unmixing.similarity import divide, similarity, spectra_of

RENDERED = "chorale", "piano", "drums", "example"
MEASURES = "snr", "si_sdr"
MIXTURE, CHANCE, RULE, ORACLE = GROUPS = "mixture", "chance", "the rule", "oracle groups"
DRAWS = 20  # groupings by chance, of equal size
QUICK = 1  # pieces


@dataclass(frozen=True, eq=False)
class Case:
    """A piece that was taken apart into K components."""

    products: np.ndarray  #: (K + J, K + J): inner products of the components and the sources
    oracle: np.ndarray  #: (K,): the source of each component
    similarity: np.ndarray  #: (K, K)

    @property
    def K(self) -> int:
        return len(self.oracle)

    @property
    def J(self) -> int:
        """Number of sources."""
        return len(self.products) - self.K

    def labels(self) -> np.ndarray:
        """The group of each component by the rule."""
        energies = np.diag(self.products)[: self.K]
        return divide(self.similarity, self.J, energies / energies.sum())

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
        scores = self.scores((labels == np.arange(self.J)[:, None]).astype(float))
        return scores[(slice(None), *linear_sum_assignment(-scores[1]))].mean(axis=1)

    def results(self) -> dict[str, np.ndarray]:
        """Mean SNR and SI-SDR of each kind of groups."""
        rng = np.random.default_rng(0)
        draws = [rng.permutation(np.arange(self.K) % self.J) for _ in range(DRAWS)]
        by_oracle = self.scores((self.oracle == np.arange(self.J)[:, None]).astype(float))
        return {
            MIXTURE: self.scores(np.ones((1, self.K)))[:, 0].mean(axis=1),
            CHANCE: np.mean([self.matched(labels) for labels in draws], axis=0),
            RULE: self.matched(self.labels()),
            ORACLE: np.diagonal(by_oracle, axis1=1, axis2=2).mean(axis=1),
        }


def half(first: int) -> Iterator[Piece]:
    """Every second of the rendered pieces and arrangements, which have always the same order."""
    everything = chain(pieces(RENDERED), modules())
    yield from islice(everything, first, None, 2)


def case(folder: Path, piece: Piece) -> Case:
    """Take a piece apart, or read what was kept."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / re.sub(r"[^\w.-]+", "_", f"{piece.kind} {piece.name}.npz")
    if path.exists():
        with np.load(path) as arrays:
            return Case(**arrays)
    new = taken_apart(piece)
    np.savez(path, **asdict(new))
    return new


def taken_apart(piece: Piece) -> Case:
    """Use `unmix` as users do."""
    stems = np.stack(list(piece.stems.values()))
    stems = stems.reshape(*stems.shape[:2], -1)
    u = phinmf.unmix(stems.sum(axis=0), piece.rate, seed=0)
    K = len(u.components)
    signals = np.concatenate([u.components, stems]).reshape(K + len(stems), -1)
    channels = np.einsum("knc,knd->kcd", u.components, u.components)
    return Case(
        products=signals @ signals.T,
        oracle=oracle_grouping(u.components, stems),
        similarity=similarity(u.H, spectra_of(u.model), channels, piece.rate).round(4),
    )


def by_kind(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Mean decibels by kind of sound, and which part of the gain of the oracle the rule reaches."""
    table = []
    for sound in ("arrangements", "rendered"):
        mine = [r for r in rows if (r["kind"] == "arrangement") == (sound == "arrangements")]
        if not mine:
            continue
        row = {"sound": sound, "pieces": str(len({r["piece"] for r in mine}))}
        for measure in MEASURES:
            mean = {
                groups: float(np.mean([float(r[measure]) for r in mine if r["groups"] == groups]))
                for groups in GROUPS
            }
            row |= {f"{groups}: {measure}": f"{mean[groups]:.1f}" for groups in GROUPS}
            gained = (mean[RULE] - mean[CHANCE]) / (mean[ORACLE] - mean[CHANCE])
            row[f"part of the gain: {measure}"] = f"{gained:.2f}"
        table.append(row)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, default=ROOT / "data" / "grouping", metavar="FOLDER",
                        help="where what was computed is kept for the next time")  # fmt: skip
    parser.add_argument("--chosen", action="store_true",
                        help="the other half of the pieces; writes no results")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="one piece; writes no results")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    rows = []
    for piece in islice(half(0 if options.chosen else 1), QUICK if options.quick else None):
        this = case(options.keep, piece)
        what = {"kind": piece.kind, "piece": piece.name, "K": this.K, "sources": this.J}
        for groups, scores in this.results().items():
            decibels = zip(MEASURES, (f"{x:.3f}" for x in scores), strict=True)
            rows.append(what | {"groups": groups, **dict(decibels)})
        print(piece.kind, piece.name, flush=True)
    kinds = by_kind(rows)
    print(*kinds, sep="\n")
    if not options.quick and not options.chosen:
        write_csv("grouping", rows)
        write_csv("grouping_kinds", kinds)


if __name__ == "__main__":
    main()
