"""The scores of a separation beside those of what it is compared with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from phinmf._types import Array, Indices
from phinmf.algorithm.options import DEFAULT_SPARSITY
from phinmf.scores.grouping import grouped, oracle_grouping
from phinmf.scores.measures import LIMIT, Scores, described, score, signals
from phinmf.scores.oracles import dct_nmf, oracle_mask

if TYPE_CHECKING:
    from rich.table import Table

MIXTURE, ESTIMATE, DCT, MASK = "mixture", "estimate", "DCT IS-NMF", "oracle mask"
GROUPS = "groups"  #: that a listener made, each given to a source as a whole
EXACT, NOTHING = "exact", "–"  #: what the table shows for +LIMIT and -LIMIT
GROUPING = "oracle: each component is given to the source that makes the mean SDR the largest"


class ScoreRow(NamedTuple):
    """How well one method estimates one source."""

    source: str  #: its name
    method: str  #: what estimates it
    components: tuple[int, ...] | None  #: those grouped for the source, counted from 1
    scores: Scores  #: decibels


@dataclass(frozen=True)
class ScoreOptions:
    """What the methods were asked to do."""

    M: int  #: samples of a frame
    K: int  #: components
    sparsity: float
    mask_transform: str  #: "DCT", or "given"
    sample_rate: int | None = None  #: of sound files
    estimates: list[str] | None = None  #: names of sound files
    stretch: str | None = None  #: which part of the recording is scored; None: all of it
    missing: str | None = None  #: why some sources seem to be missing; None: they do not

    def to_json(self) -> dict[str, object]:
        """Return what the table prints; what does not apply is left out.

        Returns
        -------
        dict
            Plain numbers, strings and lists.
        """
        values = {
            "M": self.M,
            "K": self.K,
            "sparsity": self.sparsity,
            "mask transform": self.mask_transform,
            "sample_rate": self.sample_rate,
            "estimates": self.estimates,
            "stretch": self.stretch,
            "missing": self.missing,
        }
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class ScoreTable:
    """Every source by every method, and the options of the methods."""

    rows: list[ScoreRow]
    options: ScoreOptions

    @property
    def methods(self) -> list[str]:
        """The methods, in the order of the table."""
        return list(dict.fromkeys(row.method for row in self.rows))

    def mean(self, method: str) -> Scores:
        """Return the mean of each score over the sources.

        Exact estimates, at +200 dB, are left out, unless all are exact. If a source has no
        estimate, at -200 dB, there is no mean either: -200 dB.

        Parameters
        ----------
        method : str
            One of `methods`.

        Returns
        -------
        Scores
            Decibels.
        """
        rows = np.array([row.scores for row in self.rows if row.method == method])
        return Scores(*map(_mean, rows.T))

    def as_dict(self) -> dict[str, object]:
        """Return the table as plain numbers, strings, lists and dicts.

        Returns
        -------
        dict
            What `to_json` writes.
        """
        return {
            "grouping": GROUPING,
            "unit": "dB",
            "limit": LIMIT,
            "settings": self.options.to_json(),
            "scores": [
                {
                    "source": row.source,
                    "method": row.method,
                    "components": None if row.components is None else list(row.components),
                    **row.scores._asdict(),
                }
                for row in self.rows
            ],
            "mean": {
                method: {k: float(v) for k, v in self.mean(method)._asdict().items()}
                for method in self.methods
            },
        }

    def to_json(self) -> str:
        """Return the table as JSON; all numbers are finite.

        Returns
        -------
        str
            The text of a file.
        """
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def table(self) -> Table:
        """Return the table for a terminal; it needs 80 columns.

        Returns
        -------
        rich.table.Table
            What ``rich.print`` prints.
        """
        from rich import box
        from rich.table import Table

        table = Table(
            title="Scores in dB (components are grouped by an oracle)",
            caption=self._explanation(),
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
        )
        table.add_column("source", overflow="fold")
        table.add_column("method", no_wrap=True)
        table.add_column("components", overflow="fold", min_width=len("components"))
        for name in ("SDR", "SIR", "SAR", "SI-SDR", "SNR"):
            table.add_column(name, justify="right", no_wrap=True, min_width=len("-100.00"))
        last = None
        for row in self.rows:
            if last not in (None, row.source):
                table.add_section()
            which = "" if row.components is None else " ".join(map(str, row.components))
            shown = row.source if row.source != last else ""
            table.add_row(shown, row.method, which, *map(_in_words, row.scores))
            last = row.source
        table.add_section()
        for i, method in enumerate(self.methods):
            means = map(_in_words, self.mean(method))
            table.add_row("mean" if i == 0 else "", method, "", *means)
        return table

    def _explanation(self) -> str | None:
        """Say what the words in the table mean, if there are any."""
        values = {value for row in self.rows for value in row.scores}
        meanings = {
            LIMIT: f"{EXACT}: no error at all, left out of means",
            -LIMIT: f"{NOTHING}: nothing of the source, so that there is no mean",
        }
        return "; ".join(text for value, text in meanings.items() if value in values) or None


def _mean(values: Array) -> float:
    """Return the mean of the values below the limit; at a limit if there is none."""
    within = values[values < LIMIT]
    if not within.size:
        return LIMIT
    return float(np.mean(within)) if within.min() > -LIMIT else -LIMIT


def _in_words(value: float) -> str:
    """Return a score as the table shows it."""
    return {LIMIT: EXACT, -LIMIT: NOTHING}.get(value, f"{value:.2f}")


def score_components(
    components: Sequence[ArrayLike] | Array,
    references: Mapping[str, ArrayLike],
    M: int,
    *,
    mixture: ArrayLike | None = None,
    groups: Sequence[Sequence[int]] = (),
    Phi: ArrayLike | None = None,
    sparsity: float = DEFAULT_SPARSITY,
    baseline: bool = True,
) -> ScoreTable:
    """Score components against the true sources, beside what they are compared with.

    Parameters
    ----------
    components : sequence of K arrays of shape (n,) or (n, channels)
        The components of a recording; an oracle groups them by source.
    references : mapping of names to arrays of that shape
        The true sources.
    M : int
        Frame length of the oracle mask and of the NMF in the DCT, even.
    mixture : array of that shape, optional
        The recording; the sum of the references if not given.
    groups : sequence of lists of int
        Components that a listener joined, by their numbers from 1, each in one group: the groups
        are scored as well, each given to a source as a whole.
    Phi : array of shape (M, M), optional
        Transform of the oracle mask; the DCT if not given.
    sparsity : float
        Sparsity of the NMF in the DCT, which has K components, too.
    baseline : bool
        Whether to fit the NMF in the DCT, which takes some time.

    Returns
    -------
    ScoreTable
        Scores of the mixture itself as an estimate, of the grouped components, of the groups if
        there are any, of the grouped components of NMF in the DCT, and of the ideal ratio mask.
    """
    names = list(references)
    truths = signals("references", list(references.values()))
    given = signals("components", components)
    whole = truths.sum(axis=0) if mixture is None else signals("mixture", [mixture])[0]
    if whole.shape != truths.shape[1:]:
        raise ValueError(
            f"mixture has {described(whole[None])}, but the references have {described(truths)}:"
            " both need the same length and channels"
        )
    found: dict[str, tuple[Array, Indices | None]] = {
        MIXTURE: (np.stack([whole] * len(names)), None)
    }
    found[ESTIMATE] = _grouped(given, truths)
    if groups:
        found[GROUPS] = _grouped_as_wholes(given, groups, truths)
    if baseline:
        found[DCT] = _grouped(dct_nmf(whole, M, len(given), sparsity), truths)
    found[MASK] = (oracle_mask(truths, M, Phi), None)
    rows = [
        ScoreRow(name, method, _members(groups, j), score(estimates[j], truths, j))
        for j, name in enumerate(names)
        for method, (estimates, groups) in found.items()
    ]
    transform = "DCT" if Phi is None else "given"
    return ScoreTable(rows, ScoreOptions(M, len(given), sparsity, transform))


def _grouped(components: Array, truths: Array) -> tuple[Array, Indices]:
    """Group components by an oracle; return the sums and the source of each component."""
    grouping = oracle_grouping(components, truths)
    return grouped(components, grouping, len(truths)), grouping


def _grouped_as_wholes(
    components: Array, groups: Sequence[Sequence[int]], truths: Array
) -> tuple[Array, Indices]:
    """Give whole groups to sources; return the sums and the source of each component."""
    members = [np.array(group) - 1 for group in groups]
    sources = oracle_grouping([components[indices].sum(axis=0) for indices in members], truths)
    grouping = np.empty(len(components), dtype=np.intp)
    for indices, source in zip(members, sources, strict=True):
        grouping[indices] = source
    return grouped(components, grouping, len(truths)), grouping


def _members(groups: Indices | None, source: int) -> tuple[int, ...] | None:
    """Return the numbers of the components of a source, counted from 1."""
    if groups is None:
        return None
    return tuple(int(k) + 1 for k in np.flatnonzero(groups == source))
