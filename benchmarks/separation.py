"""Does a learned transform separate better? TL-NMF, DCT and STFT IS-NMF on pieces with stems."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from _common import RESULTS, machine, save, write_csv
from _pieces import RATE, Piece, pieces
from _report import read
from _separators import DCT, LEARNED, METHODS, Setting, dct_atoms, even
from scipy.stats import t as student
from scipy.stats import ttest_1samp, wilcoxon
from sklearn.exceptions import ConvergenceWarning

from phinmf.scores.grouping import grouped, oracle_grouping
from phinmf.scores.measures import Scores, score
from phinmf.scores.oracles import oracle_mask

COMPONENTS = {"chorale": 24, "piano": 12, "drums": 12, "example": 12}
CHOSEN = Setting()  # the defaults of unmix
TRIED = {
    "chosen": CHOSEN,
    "floor from 1e-3, 14 iterations": CHOSEN._replace(start=1e-3, length=10, max_iter=14),
    "floor from 1e-2, 40 iterations": CHOSEN._replace(start=1e-2, length=30, max_iter=40),
    "not annealed": CHOSEN._replace(start=0.0),
    "Gaussian likelihood, floor from 1e-3, 14 iterations": CHOSEN._replace(
        start=1e-3, length=10, max_iter=14, divergence="gaussian"
    ),
    "transform kept: more NMF alone": CHOSEN._replace(learn=False),
    "W and H at random, floor from 0.05, 50 iterations": CHOSEN._replace(
        from_dct=False, start=0.05, length=40, max_iter=50
    ),
    "the same, transform kept": CHOSEN._replace(
        from_dct=False, start=0.05, length=40, max_iter=50, learn=False
    ),
    "sparsity 1": CHOSEN._replace(sparsity=1.0),
    "sparsity 50": CHOSEN._replace(sparsity=50.0),
    "window 20 ms": CHOSEN._replace(window=0.02),
    "window 64 ms": CHOSEN._replace(window=0.064),
}
MIXTURE, MASK = "mixture", "oracle mask"


def mean_scores(estimates: Iterable[np.ndarray], stems: np.ndarray) -> dict[str, float]:
    scores = [score(estimate, stems, j) for j, estimate in enumerate(estimates)]
    means = np.mean(scores, axis=0)
    return {name: round(float(x), 4) for name, x in zip(Scores._fields, means, strict=True)}


def runs(
    piece: Piece, setting: Setting, seeds: int, methods: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """The scores of each method and seed on a piece, components grouped by the oracle."""
    stems = np.stack(list(piece.stems.values()))
    y, M, K = stems.sum(axis=0), even(setting.window, RATE), COMPONENTS[piece.kind]
    of_the_dct = dct_atoms(y, M)
    what = {"kind": piece.kind, "piece": piece.name, "M": M, "K": K, "sparsity": setting.sparsity}
    for seed in range(seeds):
        for method in methods:
            components, atoms, seconds = METHODS[method](y, M, K, setting, seed)
            sums = grouped(components, oracle_grouping(components, stems), len(stems))[:, :, 0]
            yield what | {
                "method": method, "seed": seed, **mean_scores(sums, stems),
                "atoms_95": atoms or "", "dct_atoms_95": of_the_dct, "seconds": round(seconds, 2),
            }  # fmt: skip
    for method, estimates in ((MIXTURE, [y] * len(stems)), (MASK, oracle_mask(stems, M)[:, :, 0])):
        yield what | {
            "method": method, "seed": "", **mean_scores(estimates, stems), "atoms_95": "",
            "dct_atoms_95": of_the_dct, "seconds": "",
        }  # fmt: skip


def differences(rows: list[dict[str, Any]], measure: str, other: str = DCT) -> np.ndarray:
    """Score of TL-NMF minus that of another method, for each piece and seed."""
    value = {(r["piece"], r["seed"], r["method"]): float(r[measure]) for r in rows}
    pairs = [key[:2] for key in value if key[2] == LEARNED]
    return np.array([value[*pair, LEARNED] - value[*pair, other] for pair in pairs])


def paired(difference: np.ndarray) -> str:
    """Mean, 95 % interval and the p of Wilcoxon's test, in words."""
    n = len(difference)
    half = student.ppf(0.975, n - 1) * difference.std(ddof=1) / np.sqrt(n)
    return f"{difference.mean():+.2f} ± {half:.2f} (p = {wilcoxon(difference).pvalue:.2g})"


def by_piece(rows: list[dict[str, Any]], measure: str) -> str:
    """The p of Student's test over pieces, each with the mean of its seeds."""
    names = dict.fromkeys(r["piece"] for r in rows)
    means = [differences([r for r in rows if r["piece"] == n], measure).mean() for n in names]
    return f"{ttest_1samp(means, 0).pvalue:.2g}" if len(means) > 1 else ""


def fewer_atoms(rows: list[dict[str, Any]]) -> float:
    """Mean share of the DCT's atoms that the learned transform does not need."""
    learned = [r for r in rows if r["method"] == LEARNED]
    return 1 - float(np.mean([r["atoms_95"] / r["dct_atoms_95"] for r in learned]))


def kinds(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    names = [*dict.fromkeys(r["kind"] for r in rows), "all"]
    return {name: [r for r in rows if name in (r["kind"], "all")] for name in names}


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each kind of sound."""
    told = []
    for kind, some in kinds(rows).items():
        row: dict[str, Any] = {"kind": kind, "pieces": len({r["piece"] for r in some})}
        for method in (MIXTURE, *METHODS, MASK):
            for measure in ("sdr", "snr"):
                mean = np.mean([r[measure] for r in some if r["method"] == method])
                row[f"{method} {measure}"] = f"{mean:.2f}"
        for measure in ("sdr", "snr"):
            row[f"to DCT {measure}"] = paired(differences(some, measure))
            row[f"to STFT {measure}"] = paired(differences(some, measure, "STFT IS-NMF"))
            row[f"by piece {measure}"] = by_piece(some, measure)
        row["fewer atoms"] = f"{100 * fewer_atoms(some):.0f} %"
        told.append(row)
    return told


def try_settings(names: list[str], seeds: int = 1) -> None:
    """Other possible defaults: TL-NMF against the NMF in the DCT with the same options."""
    done = RESULTS / "separation_settings.csv"
    known = {r["setting"]: r for r in read(done.stem)[1]} if names and done.exists() else {}
    all_pieces = list(pieces())
    for name in names or TRIED:
        found = [r for p in all_pieces for r in runs(p, TRIED[name], seeds, (LEARNED, DCT))]
        row: dict[str, Any] = {"setting": name}
        for kind, some in kinds(found).items():
            row[kind] = f"{differences(some, 'snr').mean():+.2f}"
        learned = [r for r in found if r["method"] == LEARNED]
        row["paired sdr"] = paired(differences(found, "sdr"))
        row["paired snr"] = paired(differences(found, "snr"))
        row["snr"] = f"{np.mean([r['snr'] for r in learned]):.2f}"
        row["fewer atoms"] = f"{100 * fewer_atoms(found):.0f} %"
        row["seconds"] = f"{np.mean([r['seconds'] for r in learned]):.1f}"
        known[name] = row
        print(row, flush=True)
        write_csv(done.stem, [known[name] for name in TRIED if name in known])


def draw(rows: list[dict[str, Any]]) -> None:
    """Scores by method, and the effect of learning for every piece and seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
    colors = ["#999999", "#d55e00", "#0072b2", "#009e73", "#222222"]
    parts = kinds(rows)
    for i, (method, color) in enumerate(zip((MIXTURE, *METHODS, MASK), colors, strict=True)):
        means = [np.mean([r["snr"] for r in some if r["method"] == method])
                 for some in parts.values()]  # fmt: skip
        left.bar(np.arange(len(parts)) + 0.16 * (i - 2), means, 0.15, color=color, label=method)
    left.set_xticks(range(len(parts)), list(parts))
    left.set(ylabel="mean SNR, dB", title="components grouped by an oracle")
    left.axhline(0, color="black", lw=0.6)
    left.set_ylim(top=22)  # room for the legend
    left.legend(frameon=False, fontsize=7, ncols=3, loc="upper left")
    rng = np.random.default_rng(0)
    for i, some in enumerate(parts.values()):
        change = differences(some, "snr")
        half = student.ppf(0.975, len(change) - 1) * change.std(ddof=1) / np.sqrt(len(change))
        right.scatter(i + rng.uniform(-0.22, 0.22, len(change)), change, 9, colors[1], alpha=0.5,
                      linewidths=0)  # fmt: skip
        right.errorbar(i, change.mean(), half, fmt="o", color="black", ms=4, capsize=4)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--settings", nargs="*", help="try other defaults: these, or all")
    parser.add_argument("--draw", action="store_true", help="from the results that are there")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    if options.settings is not None:
        try_settings(options.settings)
        return
    rows: list[dict[str, Any]] = []
    if options.draw:
        rows = [{k: number(v) for k, v in r.items()} for r in read("separation")[1]]
    for piece in [] if options.draw else pieces():
        found = list(runs(piece, CHOSEN, options.seeds, METHODS))
        print(piece.kind, piece.name, f"{differences(found, 'snr').mean():+.2f} dB", flush=True)
        rows += found
    if not options.draw:
        write_csv("separation", rows)
    told = summary(rows)
    write_csv("separation_summary", told)
    draw(rows)
    for row in told:
        print(row)
    print(RESULTS / "separation.csv")


if __name__ == "__main__":
    main()
