"""Does a learned transform separate better? TL-NMF, DCT and STFT IS-NMF on pieces with stems."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from _common import RESULTS, machine, read_csv, save, write_csv
from _pairs import Rows, by_piece, differences, fewer_atoms, interval, kinds, mean, paired
from _pieces import MAKERS, Piece
from _runs import CHOSEN, LARGE, MASK, MIXTURE, add_options, runs, wanted
from _separators import DCT, LEARNED, METHODS, STFT
from sklearn.exceptions import ConvergenceWarning

TRIED = {
    "chosen": CHOSEN,
    "floor from 1e-3, 14 iterations": CHOSEN._replace(start=1e-3, length=10, max_iter=14),
    "floor from 1e-2, 40 iterations": CHOSEN._replace(start=1e-2, length=30, max_iter=40),
    "not annealed": CHOSEN._replace(start=0.0),
    "Gaussian likelihood, floor from 1e-3, 14 iterations": CHOSEN._replace(
        start=1e-3, length=10, max_iter=14, divergence="gaussian"
    ),
    "W and H at random, floor from 0.05, 50 iterations": CHOSEN._replace(
        from_dct=False, start=0.05, length=40, max_iter=50
    ),
    "sparsity 1": CHOSEN._replace(sparsity=1.0),
    "sparsity 50": CHOSEN._replace(sparsity=50.0),
    "99 % of the energy": CHOSEN._replace(n_atoms=0.99),
    "99.9 % of the energy": CHOSEN._replace(n_atoms=0.999),
    "99.99 % of the energy": CHOSEN._replace(n_atoms=0.9999),
    "window 20 ms": CHOSEN._replace(window=0.02),
    "window 64 ms": CHOSEN._replace(window=0.064),
}


def summary(rows: Rows) -> Rows:
    """A row for each kind of sound."""
    told = []
    for kind, some in kinds(rows).items():
        row: dict[str, Any] = {"kind": kind, "pieces": len({r["piece"] for r in some})}
        for method in (MIXTURE, *METHODS, MASK):
            for measure in ("sdr", "snr"):
                row[f"{method} {measure}"] = f"{mean(some, method, measure):.2f}"
        for measure in ("sdr", "snr"):
            row[f"to DCT {measure}"] = paired(differences(some, measure))
            row[f"to STFT {measure}"] = paired(differences(some, measure, STFT))
            row[f"by piece {measure}"] = by_piece(some, measure)
        row["fewer atoms"] = f"{100 * fewer_atoms(some):.0f} %"
        told.append(row)
    return told


def try_settings(names: list[str], some: list[Piece], write: bool) -> None:
    """Other possible defaults: TL-NMF against NMF in the DCT with the same options; one seed."""
    done = RESULTS / "separation_settings.csv"
    known = {r["setting"]: r for r in read_csv(done.stem)[1]} if names and done.exists() else {}
    methods = {name: METHODS[name] for name in (LEARNED, DCT)}
    for name in names or TRIED:
        found = [r for piece in some for r in runs(piece, TRIED[name], 1, methods)]
        row: dict[str, Any] = {"setting": name}
        for kind, rows in kinds(found).items():
            row[kind] = f"{differences(rows, 'snr').mean():+.2f}"
        row["paired sdr"] = paired(differences(found, "sdr"))
        row["paired snr"] = paired(differences(found, "snr"))
        row["snr"] = f"{mean(found, LEARNED, 'snr'):.2f}"
        row["fewer atoms"] = f"{100 * fewer_atoms(found):.0f} %"
        row["seconds"] = f"{mean(found, LEARNED, 'seconds'):.1f}"
        known[name] = row
        print(row, flush=True)
        if write:
            write_csv(done.stem, [known[name] for name in TRIED if name in known])


def draw(rows: Rows) -> None:
    """Scores by method, and the effect of learning for every piece and seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
    colors = ["#999999", "#d55e00", "#0072b2", "#009e73", "#222222"]
    parts = kinds(rows)
    for i, (method, color) in enumerate(zip((MIXTURE, *METHODS, MASK), colors, strict=True)):
        means = [mean(some, method, "snr") for some in parts.values()]
        left.bar(np.arange(len(parts)) + 0.16 * (i - 2), means, 0.15, color=color, label=method)
    left.set_xticks(range(len(parts)), list(parts))
    left.set(ylabel="mean SNR, dB", title="components grouped by an oracle")
    left.axhline(0, color="black", lw=0.6)
    left.set_ylim(top=22)  # room for the legend
    left.legend(frameon=False, fontsize=7, ncols=3, loc="upper left")
    rng = np.random.default_rng(0)
    for i, some in enumerate(parts.values()):
        change = differences(some, "snr")
        right.scatter(i + rng.uniform(-0.22, 0.22, len(change)), change, 9, colors[1], alpha=0.5,
                      linewidths=0)  # fmt: skip
        right.errorbar(i, change.mean(), interval(change), fmt="o", color="black", ms=4, capsize=4)
    right.axhline(0, color="black", lw=0.6)
    right.set_xticks(range(len(parts)), list(parts))
    right.set(ylabel="SNR, dB", title="TL-NMF less DCT IS-NMF: each piece and seed, mean, 95 %")
    right.title.set_fontsize(9)
    left.title.set_fontsize(9)
    for ax in (left, right):
        ax.spines[["right", "top"]].set_visible(False)
    save(figure, "separation")


def number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def compare_methods(some: Iterable[Piece], seeds: int, write: bool) -> None:
    """TL-NMF, DCT and STFT IS-NMF."""
    rows: Rows = []
    for piece in some:
        found = list(runs(piece, CHOSEN, seeds, METHODS))
        print(piece.kind, piece.name, f"{differences(found, 'snr').mean():+.2f} dB", flush=True)
        rows += found
    if write:
        write_csv("separation", rows)
        report()
    else:
        print(*summary(rows), sep="\n")


def report() -> None:
    """The summary and the figure of the results that are there."""
    rows = [{k: number(v) for k, v in r.items()} for r in read_csv("separation")[1]]
    told = summary(rows)
    write_csv("separation_summary", told)
    draw(rows)
    print(*told, sep="\n")
    print(RESULTS / "separation.csv")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--settings", nargs="*", help="try other defaults: these, or all")
    parser.add_argument("--draw", action="store_true", help="from the results that are there")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    write = not (options.kinds or options.quick)
    if options.draw:
        report()
    elif options.settings is not None:
        names = options.kinds or [kind for kind in MAKERS if kind != LARGE]
        try_settings(options.settings, list(wanted(names, options.quick)), write)
    else:
        some = wanted(options.kinds or MAKERS, options.quick)
        compare_methods(some, 1 if options.quick else options.seeds, write)


if __name__ == "__main__":
    main()
