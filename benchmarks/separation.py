"""Compare transforms, windows, numbers of components, sparsities and floors for `unmix`.

Pieces with exact stems, components grouped by an oracle. Every way has the same number of
components and the same steps; then one choice is changed at a time. Beside them scikit-learn's NMF
of an STFT, `unmix` as users call it, and masks that know the stems.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from _common import Piece, machine, table, write_csv
from _pieces import MAKERS, pieces
from _separators import Setting, even, mean_scores, measured, scikit_learn
from _source_scores import oracle_mask
from sklearn.exceptions import ConvergenceWarning

import phinmf

QUICK = 3.0  # seconds
CHOSEN = Setting()
Separate = Callable[[np.ndarray, int, int], np.ndarray]  #: of a mixture, its rate and the seed


def unmixed(y: np.ndarray, rate: int, seed: int, **how: Any) -> np.ndarray:
    """What users get."""
    return phinmf.unmix(y, rate, CHOSEN.K, seed=seed, **how).components


def ways() -> dict[str, Separate]:
    """Everything that is compared in fixed transforms, by its name in the table."""
    settings = {
        "DFT in pairs": CHOSEN,
        "DCT": replace(CHOSEN, pairs=False),
        "DFT in pairs, 40 ms": replace(CHOSEN, window=0.04),
        "DCT, 40 ms": replace(CHOSEN, window=0.04, pairs=False),
        "DFT in pairs, 64 ms": replace(CHOSEN, window=0.064),
        "DFT in pairs, 128 ms": replace(CHOSEN, window=0.128),
    }
    settings |= {f"{K} components": replace(CHOSEN, K=K) for K in (8, 16, 32, 48)}
    settings |= {f"sparsity {s}": replace(CHOSEN, sparsity=s) for s in (0, 10, 150)}
    settings |= {f"floor {f:g}": replace(CHOSEN, floor=f) for f in (1e-8, 1e-5, 1e-2)}
    settings |= {
        "β = ½, sparsity 5": replace(CHOSEN, divergence=phinmf.Beta(0.5), sparsity=5),
        "smoothness 3": replace(CHOSEN, smoothness=3),
        "DCT, 40 ms, sparsity 10, floor 1e-8": replace(
            CHOSEN, pairs=False, window=0.04, sparsity=10, floor=1e-8
        ),
    }
    compared: dict[str, Separate] = {name: s.components for name, s in settings.items()}
    for K in (8, 24, 48):
        compared[f"scikit-learn, {K} components"] = partial(_scikit_learn, K=K)
    return compared


def learned_ways() -> dict[str, Separate]:
    """`unmix` as users call it, and what it does if it learns the transform."""
    of_1_0 = {"window": "40ms", "sparsity": 10, "floor": 1e-8}
    return {
        "unmix": unmixed,
        "unmix, learned pairs": partial(unmixed, solver="lbfgs"),
        "unmix, learned single atoms": partial(unmixed, solver="lbfgs", pairs=False),
        "unmix, defaults of 1.0": partial(unmixed, solver="lbfgs", pairs=False, **of_1_0),
    }


def _scikit_learn(y: np.ndarray, rate: int, seed: int, K: int) -> np.ndarray:
    return scikit_learn(y, rate, K, seed)


def runs(piece: Piece, compared: dict[str, Separate], seeds: int) -> Iterator[dict[str, Any]]:
    """A row for each way and seed, and for what knows the stems."""
    stems = np.stack(list(piece.stems.values()))
    what = {"kind": piece.kind, "piece": piece.name}
    masks = oracle_mask(stems, even(CHOSEN.window, piece.rate))
    known = {"mixture": [stems.sum(axis=0)] * len(stems), "oracle mask": masks}
    for way, estimates in known.items():
        yield what | {"way": way, "seed": 0, **mean_scores(estimates, stems), "seconds": 0.0}
    for seed in range(seeds):
        for way, separate in compared.items():
            scores, seconds = measured(piece, lambda y, rate: separate(y, rate, seed))  # noqa: B023
            yield what | {"way": way, "seed": seed, **scores, "seconds": round(seconds, 2)}


def summary(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """SNR and SI-SDR of each way by kind of piece, the mean over the kinds, and seconds."""
    kinds = list(dict.fromkeys(r["kind"] for r in rows))
    lines = []
    for way in dict.fromkeys(r["way"] for r in rows):
        mine = [r for r in rows if r["way"] == way]
        by_kind = {
            kind: np.mean([(r["snr"], r["si_sdr"]) for r in mine if r["kind"] == kind], axis=0)
            for kind in kinds
            if any(r["kind"] == kind for r in mine)
        }
        by_kind["mean"] = np.mean(list(by_kind.values()), axis=0)
        lines.append(
            dict.fromkeys(["way", *kinds, "mean"], "–")
            | {"way": way}
            | {kind: f"{snr:.2f} / {si_sdr:.2f}" for kind, (snr, si_sdr) in by_kind.items()}
            | {"s": f"{np.mean([r['seconds'] for r in mine]):.1f}"}
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=MAKERS, help="only these; writes no results")
    parser.add_argument("--learned", action="store_true", help="learn transforms; takes long")
    parser.add_argument("--quick", action="store_true", help="short pieces; writes no results")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    rows: list[dict[str, Any]] = []
    for kind in options.kinds or MAKERS:
        for piece in islice(pieces([kind]), 1 if options.quick else None):
            short = piece.cut(QUICK) if options.quick else piece
            rows += runs(short, learned_ways() if options.learned else ways(), options.seeds)
            print(kind, piece.name, flush=True)
    lines = summary(rows)
    print(table(lines, {key: key for key in lines[0]}))
    if not (options.kinds or options.quick):
        write_csv("separation_learned" if options.learned else "separation", rows)


if __name__ == "__main__":
    main()
