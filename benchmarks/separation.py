"""Whether a learned transform separates better, and whether `unmix` loses by few atoms.

TL-NMF, DCT and STFT IS-NMF on pieces with exact stems; then `unmix` as users call it, with few
atoms (its default) and with all, on the same pieces and on arrangements at 44.1 kHz.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from _common import machine, save, write_csv
from _pieces import MAKERS, Piece
from _runs import (
    CHOSEN,
    MASK,
    MIXTURE,
    Rows,
    add_options,
    by_piece,
    chosen_pieces,
    differences,
    fewer_atoms,
    interval,
    kinds_of,
    mean,
    paired,
    runs,
)
from _separators import DCT, LEARNED, METHODS, STFT, Separator, unmixed, unmixed_with
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

from phinmf.unmixing.options import UnmixOptions

LARGE = "arrangement"  # 44.1 kHz and stereo: only for `unmix`
ALL, FEW = "unmix, all atoms", "unmix, few atoms"
ATOMS: dict[str, Separator] = {ALL: unmixed, FEW: unmixed_with(UnmixOptions.n_atoms)}


def summary(rows: Rows) -> Rows:
    """A row for each kind of sound: the methods, and TL-NMF less the others."""
    table = []
    for kind, mine in kinds_of(rows).items():
        row: dict[str, Any] = {"kind": kind, "pieces": len({r["piece"] for r in mine})}
        for method in (MIXTURE, *METHODS, MASK):
            for measure in ("sdr", "snr"):
                row[f"{method} {measure}"] = f"{mean(mine, method, measure):.2f}"
        for measure in ("sdr", "snr"):
            row[f"to DCT {measure}"] = paired(differences(mine, measure, DCT, LEARNED))
            row[f"to STFT {measure}"] = paired(differences(mine, measure, STFT, LEARNED))
            row[f"by piece {measure}"] = by_piece(mine, measure, DCT, LEARNED)
        row["fewer atoms"] = f"{100 * fewer_atoms(mine, LEARNED):.0f} %"
        table.append(row)
    return table


def summary_of_atoms(rows: Rows) -> Rows:
    """A row for each kind of sound: few atoms less all."""
    table = []
    for kind, mine in kinds_of(rows).items():
        row: dict[str, Any] = {"kind": kind, "pieces": len({r["piece"] for r in mine})}
        for measure in ("snr", "sdr"):
            row[f"all {measure}"] = f"{mean(mine, ALL, measure):.2f}"
            row[f"few {measure}"] = f"{mean(mine, FEW, measure):.2f}"
            row[f"paired {measure}"] = paired(differences(mine, measure, ALL, FEW))
            row[f"by piece {measure}"] = by_piece(mine, measure, ALL, FEW)
        for name, method in (("all", ALL), ("few", FEW)):
            row[f"{name} seconds"] = f"{mean(mine, method, 'seconds'):.1f}"
        table.append(row)
    return table


def draw(rows: Rows) -> None:
    """Scores by method, and the effect of learning for every piece and seed."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
    colors = ["#999999", "#d55e00", "#0072b2", "#009e73", "#222222"]
    parts = kinds_of(rows)
    for i, (method, color) in enumerate(zip((MIXTURE, *METHODS, MASK), colors, strict=True)):
        means = [mean(mine, method, "snr") for mine in parts.values()]
        left.bar(np.arange(len(parts)) + 0.16 * (i - 2), means, 0.15, color=color, label=method)
    left.set_xticks(range(len(parts)), list(parts))
    left.set(ylabel="mean SNR, dB", title="components grouped by an oracle")
    left.axhline(0, color="black", lw=0.6)
    left.set_ylim(top=22)  # room for the legend
    left.legend(frameon=False, fontsize=7, ncols=3, loc="upper left")
    rng = np.random.default_rng(0)
    for i, mine in enumerate(parts.values()):
        change = differences(mine, "snr", DCT, LEARNED)
        right.scatter(i + rng.uniform(-0.22, 0.22, len(change)), change, 9, colors[1], alpha=0.5,
                      linewidths=0)  # fmt: skip
        half = interval(change) if len(change) > 1 else 0
        right.errorbar(i, change.mean(), half, fmt="o", color="black", ms=4, capsize=4)
    right.axhline(0, color="black", lw=0.6)
    right.set_xticks(range(len(parts)), list(parts))
    right.set(ylabel="SNR, dB", title="TL-NMF less DCT IS-NMF: each piece and seed, mean, 95 %")
    for ax in (left, right):
        ax.title.set_fontsize(9)
        ax.spines[["right", "top"]].set_visible(False)
    save(figure, "separation")


def compare(pieces: Iterable[Piece], seeds: int, methods: Mapping[str, Separator]) -> Rows:
    """Run all methods on all pieces, and print the difference of the first two."""
    rows: Rows = []
    first, second = list(methods)[:2]
    for piece in pieces:
        new = list(runs(piece, CHOSEN, seeds, methods))
        change = differences(new, "snr", second, first).mean()
        print(f"{piece.kind} {piece.name}: {first} less {second}, {change:+.2f} dB", flush=True)
        rows += new
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    kinds = options.kinds or MAKERS
    seeds = 1 if options.quick else options.seeds
    small = chosen_pieces([kind for kind in kinds if kind != LARGE], options.quick)
    rows = compare(small, seeds, METHODS)
    rows_of_atoms = compare(chosen_pieces(kinds, options.quick), seeds, ATOMS)
    tables = summary(rows) if rows else [], summary_of_atoms(rows_of_atoms)
    print(*tables[0], *tables[1], sep="\n")
    if not (options.kinds or options.quick):
        write_csv("separation", rows)
        write_csv("separation_summary", tables[0])
        write_csv("few_atoms_summary", tables[1])
        draw(rows)


if __name__ == "__main__":
    main()
