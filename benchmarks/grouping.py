"""How well does `unmix --groups` group components? Pieces with exact stems, against the oracle.

Of all pieces every second one is measured: on the others the constants of the rule were chosen.
A piece is taken apart once; any grouping is scored from the inner products of its components and
sources.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from _common import Piece, machine, write_csv
from _modules import modules
from _pieces import pieces
from _separators import even
from _source_scores import LIMIT, oracle_grouping, oracle_mask, score
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.unmixing.similarity import divide, similarity, spectra_of

SIZES = 8, 24  # numbers of components
RENDERED = "chorale", "piano", "drums", "example"
WINDOW = 0.093  # s, of the oracle mask; the default of unmix
MEASURES = "snr", "si_sdr"
MIXTURE, CHANCE, RULE, ORACLE, MASK = GROUPS = (
    "mixture", "chance", "the rule", "oracle groups", "oracle mask",
)  # fmt: skip
DRAWS = 20  # groupings by chance, of equal size
QUICK = 1  # pieces


@dataclass(frozen=True, eq=False)
class Case:
    """A piece that was taken apart into K components."""

    products: np.ndarray  #: (K + J, K + J): inner products of the components and the sources
    oracle: np.ndarray  #: (K,): the source of each component
    mask: np.ndarray  #: SNR and SI-SDR of the oracle mask, means over sources
    labels: np.ndarray  #: (K,): the group of each component by the rule

    @property
    def K(self) -> int:
        return len(self.oracle)

    @property
    def J(self) -> int:
        """Number of sources."""
        return len(self.products) - self.K

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
            RULE: self.matched(self.labels),
            ORACLE: np.diagonal(by_oracle, axis1=1, axis2=2).mean(axis=1),
            MASK: self.mask,
        }


def measured_pieces() -> Iterator[Piece]:
    """Every second of the rendered pieces and arrangements, which have always the same order."""
    everything = chain(pieces(RENDERED), modules())
    yield from islice(everything, 1, None, 2)


def taken_apart(piece: Piece, K: int) -> Case:
    """Use `unmix` and its automatic groups as users do."""
    stems = np.stack(list(piece.stems.values()))
    stems = stems.reshape(*stems.shape[:2], -1)
    u = phinmf.unmix(stems.sum(axis=0), piece.rate, K, seed=0)
    signals = np.concatenate([u.components, stems]).reshape(K + len(stems), -1)
    products = signals @ signals.T
    channels = np.einsum("knc,knd->kcd", u.components, u.components)
    S = similarity(u.H, spectra_of(u.model), channels, piece.rate).round(4)
    energies = np.diag(products)[:K]
    masked = oracle_mask(stems, even(WINDOW, piece.rate))
    mask = [score(estimate, stems, j) for j, estimate in enumerate(masked)]
    return Case(
        products=products,
        oracle=oracle_grouping(u.components, stems),
        mask=np.mean([[getattr(s, name) for name in MEASURES] for s in mask], axis=0),
        labels=divide(S, len(stems), energies / energies.sum()),
    )


def by_kind(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Mean decibels by kind of sound and number of components."""
    table = []
    for sound in ("arrangements", "rendered"):
        for K in SIZES:
            mine = [r for r in rows if r["K"] == K
                    and (r["kind"] == "arrangement") == (sound == "arrangements")]  # fmt: skip
            row = {"sound": sound, "K": str(K), "pieces": str(len({r["piece"] for r in mine}))}
            for groups in GROUPS:
                for measure in MEASURES:
                    decibels = [float(r[measure]) for r in mine if r["groups"] == groups]
                    row[f"{groups}: {measure}"] = f"{np.mean(decibels):.1f}" if decibels else ""
            table.append(row)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one piece; writes no results")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    rows = []
    for piece in islice(measured_pieces(), QUICK if options.quick else None):
        for K in SIZES:
            this = taken_apart(piece, K)
            what = {"kind": piece.kind, "piece": piece.name, "K": K, "sources": this.J}
            for groups, scores in this.results().items():
                decibels = zip(MEASURES, (f"{x:.3f}" for x in scores), strict=True)
                rows.append(what | {"groups": groups, **dict(decibels)})
        print(piece.kind, piece.name, flush=True)
    kinds = by_kind(rows)
    print(*kinds, sep="\n")
    if not options.quick:
        write_csv("grouping", rows)
        write_csv("grouping_kinds", kinds)


if __name__ == "__main__":
    main()
