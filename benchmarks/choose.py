"""Which start, divergence and penalty? Each is changed alone, on four kinds of sound.

Each case is learned twice: from all frames (fit, energy, separation, seconds) and from half of
them, whose other half is then predicted. Pieces are rendered once and kept in `data/choose`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from _common import ROOT, Piece, machine, read_csv, table, write_csv
from _pieces import pieces
from _separators import COMPONENTS, even, mean_scores
from _source_scores import component_signals, grouped, oracle_grouping
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import atoms_for_energy, held_out, split_frames
from phinmf.arrays.threads import available
from phinmf.divergences import Gaussian, ItakuraSaito

KINDS = ("chorale", "piano", "drums", "arrangement")
RATE, SECONDS, WINDOW = 16_000, 10.0, 0.04
STARTS = ("dct", "random", "klt", "jd")
FIXED = "dct, not learned"
MEASURES = {
    "itakura-saito": "itakura-saito",
    "gaussian": "gaussian",
    "β = 0.5": phinmf.Beta(0.5),
    "kullback-leibler": "kullback-leibler",
    "euclidean": "euclidean",
}
#: sparsity and smoothness
PENALTIES = {
    "none": (0.0, 0.0),
    "sparsity 1": (1.0, 0.0),
    "sparsity 10": (10.0, 0.0),
    "sparsity 100": (100.0, 0.0),
    "smoothness 1": (0.0, 1.0),
    "smoothness 10": (0.0, 10.0),
    "sparsity 10, smoothness 3": (10.0, 3.0),
}
USUAL = "itakura-saito", "sparsity 10"  # the default divergence and penalty
KEPT = ROOT / "data" / "choose"


class Case(NamedTuple):
    """One fit."""

    kind: str
    start: str
    divergence: str
    penalty: str
    seed: int


def cases(seeds: int) -> list[Case]:
    """All starts with the default, and with the DCT each divergence and each penalty."""
    chosen = [(start, *USUAL) for start in (*STARTS, FIXED)]
    for start in (STARTS[0], FIXED):
        chosen += [(start, divergence, "none") for divergence in MEASURES]
        chosen += [(start, USUAL[0], penalty) for penalty in PENALTIES]
    return [
        Case(kind, *what, seed)
        for seed in range(seeds)
        for what in dict.fromkeys(chosen)
        for kind in KINDS
    ]


def keep_pieces() -> None:
    """Render the first piece of each kind: one channel, 16 kHz, ten seconds."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        path = KEPT / f"{kind}.npz"
        if not path.exists():
            piece = next(iter(pieces([kind])))
            np.savez(path, **{name: at_rate(y, piece) for name, y in piece.stems.items()})


def at_rate(y: np.ndarray, piece: Piece) -> np.ndarray:
    """One channel of a stem at the common rate, in single precision."""
    import soxr

    mono = y.mean(axis=1) if y.ndim == 2 else y
    return soxr.resample(mono, piece.rate, RATE)[: round(SECONDS * RATE)].astype(np.float32)


def stems_of(kind: str) -> np.ndarray:
    """The stems of the piece of a kind, (J, n)."""
    with np.load(KEPT / f"{kind}.npz") as file:
        return np.stack([file[name] for name in file.files]).astype(float)


def fit(Y: np.ndarray, case: Case) -> phinmf.Result:
    """Learn as a case says; everything else is the default."""
    sparsity, smoothness = PENALTIES[case.penalty]
    learned = case.start != FIXED
    how: dict[str, Any] = {} if learned else {"solver": None}  # the same schedule
    return phinmf.tl_nmf(
        Y, COMPONENTS[case.kind], init=case.start if learned else "dct",
        divergence=MEASURES[case.divergence], sparsity=sparsity, smoothness=smoothness,
        random_state=case.seed, n_threads=1, **how,
    )  # fmt: skip


def measured(case: Case) -> dict[str, Any]:
    """A row of results."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    stems = stems_of(case.kind)
    M = even(WINDOW, RATE)
    Y = phinmf.to_frames(stems.sum(axis=0), M)
    begin = time.process_time()
    whole = fit(Y, case)
    seconds = time.process_time() - begin
    learn, out = split_frames(Y.shape[1], random_state=0)
    half = fit(Y[:, learn], case)
    unseen = held_out(half, Y[:, out])
    components = component_signals(Y, whole, stems.shape[1], 1e-8)
    sums = grouped(components, oracle_grouping(components, stems), len(stems))
    v, v_hat = np.square(whole.Phi @ Y) / whole.scale**2, whole.W @ whole.H / whole.scale**2
    return case._asdict() | {
        "is": per_entry(ItakuraSaito(), v, v_hat),
        "nll": per_entry(Gaussian(), v, v_hat),
        "held out": round(unseen.nll, 4),
        "atoms_95": int(atoms_for_energy(whole.Phi, Y)[1]),
        **mean_scores(sums, stems),
        "seconds": round(seconds, 2),
    }


def per_entry(divergence: phinmf.Divergence, v: np.ndarray, v_hat: np.ndarray) -> float:
    """A divergence between the power and its model, at the default floor."""
    return round(float(divergence.value(v, v_hat + 1e-8, 1e-8).mean()), 4)


def report() -> None:
    """Print the tables of docs/choosing.md; the first seed, which is there for every case."""
    description, results = read_csv("choose")
    rows = [row for row in results if row["seed"] == "0"]

    def where(**values: str) -> list[dict[str, str]]:
        return [r for r in rows if all(r[name] == value for name, value in values.items())]

    usual = dict(zip(("divergence", "penalty"), USUAL, strict=True))
    by_start = {s: where(start=s, **usual) for s in (*STARTS, FIXED)}
    print(comparison(by_start, "start"))
    for learned, start in (("learned", "dct"), ("fixed", FIXED)):
        by = {d: where(start=start, divergence=d, penalty="none") for d in MEASURES}
        print(learned, comparison(by, "divergence"), sep="\n\n")
        by = {p: where(start=start, divergence="itakura-saito", penalty=p) for p in PENALTIES}
        print(learned, comparison(by, "penalty"), sep="\n\n")
    print(spread(results), description, sep="\n\n")


def comparison(groups: dict[str, list[dict[str, str]]], what: str) -> str:
    """A table in Markdown: a row for each choice, the mean over the four pieces."""
    columns = {what: what, "held": "held out", "is": "IS per entry", "atoms": "atoms for 95 %"}
    columns |= {kind: f"SNR, {kind}" for kind in KINDS} | {"snr": "SNR, mean", "s": "s"}
    table_rows = []
    for name, rows in groups.items():
        by_kind = {r["kind"]: r for r in rows}

        def mean(key: str, by_kind: dict[str, dict[str, str]] = by_kind) -> float:
            return float(np.mean([float(r[key]) for r in by_kind.values()]))

        row = {what: name, "held": f"{mean('held out'):.2f}", "is": f"{mean('is'):.3g}"}
        row |= {"atoms": f"{mean('atoms_95'):.0f}", "snr": f"{mean('snr'):.2f}"}
        row |= {kind: f"{float(by_kind[kind]['snr']):.2f}" for kind in KINDS}
        table_rows.append(row | {"s": f"{mean('seconds'):.1f}"})
    return table(table_rows, columns)


def spread(rows: list[dict[str, str]]) -> str:
    """How far two seeds of the same case are apart, in words."""
    pairs: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
    for r in rows:
        pairs.setdefault(tuple(r[name] for name in Case._fields[:-1]), {})[r["seed"]] = r
    both = [p for p in pairs.values() if len(p) > 1]
    if not both:
        return "Run with --seeds 2 to see how far two seeds are apart."

    def between(key: str) -> float:
        change = [float(p["0"][key]) - float(p["1"][key]) for p in both]
        return float(np.std(change) / 2**0.5)

    return (
        f"Standard deviation between seeds, from {len(both)} cases that were run with two:"
        f" {between('snr'):.2f} dB of SNR for one piece, {between('held out'):.2f} of the held-out"
        f" loss, {between('atoms_95'):.0f} atoms."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=available())
    parser.add_argument("--quick", action="store_true", help="four cases; writes no results")
    parser.add_argument("--report", action="store_true", help="only write the tables")
    options = parser.parse_args()
    print(machine())
    if options.report:
        report()
        return
    keep_pieces()
    chosen = cases(options.seeds)
    if options.quick:
        chosen = chosen[: len(KINDS)]
    rows = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in pool.map(measured, chosen):
            rows.append(row)
            print(row, flush=True)
    if not options.quick:
        write_csv("choose", rows)
        report()


if __name__ == "__main__":
    main()
