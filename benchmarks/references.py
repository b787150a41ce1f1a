"""Reference sounds: what is found that is like them, beside groups that an oracle makes.

The first half of every stem is its reference, the second half is taken apart. Drums are also looked
for by the drums of another kit, which are only similar.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from _common import Piece, machine, table, write_csv
from _pieces import pieces
from _separators import mean_scores
from _source_scores import grouped, oracle_grouping

import phinmf

KINDS = ("chorale", "piano", "drums", "example")
K = 24
Stems = dict[str, np.ndarray]


def blind(stems: Stems, rate: int) -> dict[str, float]:
    """Scores of components of a blind unmixing that an oracle groups."""
    true = np.stack(list(stems.values()))
    components = phinmf.unmix(true.sum(axis=0), rate, K, seed=0).components
    return mean_scores(grouped(components, oracle_grouping(components, true), len(true)), true)


def referenced(stems: Stems, references: Stems, rate: int) -> dict[str, float]:
    """Scores of what is found like a reference of every stem; nobody groups."""
    true = np.stack(list(stems.values()))
    sounds = {name: (y, rate) for name, y in references.items()}
    u = phinmf.unmix(true.sum(axis=0), rate, K, seed=0, like=sounds)
    return mean_scores([u.groups[name] for name in stems], true)


def one_referenced(stems: Stems, references: Stems, rate: int) -> dict[str, float]:
    """Scores of the first stem and of all others together, with a reference of the first alone."""
    (name, first), *others = stems.items()
    true = np.stack([first, sum(y for _, y in others)])
    u = phinmf.unmix(true.sum(axis=0), rate, K, seed=0, like={name: (references[name], rate)})
    return mean_scores([u.groups[name], u.groups["rest"]], true)


def rows_of(piece: Piece, another: Piece | None) -> Iterator[dict[str, Any]]:
    """A row for each way; `another` is a piece of the same sources in another recording."""
    half = len(next(iter(piece.stems.values()))) // 2
    before = {name: y[:half] for name, y in piece.stems.items()}
    stems = {name: y[half:] for name, y in piece.stems.items()}
    ways = {"oracle groups, no reference": blind(stems, piece.rate)}
    ways["every source"] = referenced(stems, before, piece.rate)
    ways["first source and the rest"] = one_referenced(stems, before, piece.rate)
    if another is not None:
        ways["another kit"] = referenced(stems, another.stems, piece.rate)
    for way, scores in ways.items():
        yield {"kind": piece.kind, "piece": piece.name, "way": way, **scores}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one piece; writes no results")
    options = parser.parse_args()
    print(machine())
    rows: list[dict[str, Any]] = []
    for kind in KINDS[-1:] if options.quick else KINDS:
        same = list(islice(pieces([kind]), 1 if options.quick else None))
        for i, piece in enumerate(same):
            another = same[i - 1] if kind == "drums" else None
            rows += rows_of(piece, another)
            print(kind, piece.name, flush=True)
    lines = []
    for way in dict.fromkeys(row["way"] for row in rows):
        line = {"way": way}
        for kind in dict.fromkeys(row["kind"] for row in rows):
            mine = [r for r in rows if (r["way"], r["kind"]) == (way, kind)]
            means = [float(np.mean([r[name] for r in mine])) for name in ("snr", "si_sdr") if mine]
            line[kind] = " / ".join(f"{mean:.2f}" for mean in means) or "–"
        lines.append(line)
    print(table(lines, {key: key for key in lines[0]}))
    if not options.quick:
        write_csv("references", rows)


if __name__ == "__main__":
    main()
