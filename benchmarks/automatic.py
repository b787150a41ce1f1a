"""Count components automatically: how often "auto" is right, how fast it is, and what it gains."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _common import machine, read_csv, table, write_csv
from _pieces import MAKERS, Piece, pieces
from _runs import mean_scores
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import rank_path
from phinmf.fit.automatic import count_components
from phinmf.fit.data import data_of
from phinmf.fit.options import fit_options
from phinmf.linalg.manifold import dct, random_orthogonal
from phinmf.scores.grouping import grouped, oracle_grouping

Rows = list[dict[str, Any]]
CASES, FIRST = 100, 1000  # the constants of the counting were chosen on other seeds
ACTIVE = 0.25  # share of the frames in which a component sounds
#: A fit of synthetic frames: only the Gaussian likelihood identifies their transform.
GAUSSIAN: dict[str, Any] = {"divergence": "gaussian", "sparsity": 0.0, "random_state": 0}
FIXED = (4, 8, 12, 16, 24)  # numbers of components beside "auto"
COMPARED = 5  # cases that rank_path is compared on
SYNTHETIC = {
    "automatic": 'unknown, `init="klt"`',
    "automatic_dct": "the DCT, not learned (`solver=None`)",
    "automatic_sizes": "unknown, M from 64 to 100, N from 1000 to 2000",
}


class Case(NamedTuple):
    """Frames of a known number of components, in a transform."""

    Y: np.ndarray
    K: int
    snr: float  #: dB, of the components over white noise

    @classmethod
    def drawn(cls, seed: int, known: bool, sizes: bool) -> Case:
        """K from 3 to 20, noise from 10 to 40 dB below; the transform is the DCT or unknown."""
        rng = np.random.default_rng(seed)
        M, N = (int(rng.integers(64, 101)), int(rng.integers(1000, 2001))) if sizes else (96, 2000)
        K, snr = int(rng.integers(3, 21)), float(rng.uniform(10, 40))
        W = rng.exponential(size=(M, K)) ** 3
        H = rng.exponential(size=(K, N)) * (rng.random((K, N)) < ACTIVE)
        V = W / W.sum(axis=0) @ H
        X = rng.standard_normal((M, N)) * np.sqrt(V + V.mean() / 10 ** (snr / 10))
        Phi = dct(M) if known else random_orthogonal(M, rng)
        return cls(Phi.T @ X, K, snr)


def cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of some work and its CPU seconds, which other programs change little."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def synthetic(known: bool, sizes: bool, n: int) -> Rows:
    """Count the components of each case; time it beside a fit with their true number."""
    init, solver = ("dct", None) if known else ("klt", "lbfgs")
    how: dict[str, Any] = {"init": init, "solver": solver, "n_threads": 1}
    options = fit_options(**how)
    rows: Rows = []
    phinmf.tl_nmf(Case.drawn(0, known, sizes).Y, "auto", init=init, solver=solver)  # compile
    for seed in range(FIRST, FIRST + n):
        Y, K, snr = Case.drawn(seed, known, sizes)
        data = data_of(Y, options.algorithm)
        found, counting = cpu(lambda data=data: count_components(data, options).number)
        _, fit = cpu(lambda Y=Y, K=K: phinmf.tl_nmf(Y, K, **how, **GAUSSIAN))
        _, default = cpu(lambda Y=Y, K=K: phinmf.tl_nmf(Y, K, random_state=0, **how))
        rows.append(
            {
                "transform": "DCT" if known else "unknown", "seed": seed, "M": Y.shape[0],
                "N": Y.shape[1], "K": K, "snr": round(snr, 1), "found": found,
                "counting": round(counting, 3), "fit": round(fit, 3),
                "default fit": round(default, 3),
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    tell(rows)
    return rows


def tell(rows: Rows) -> None:
    """Print how often the number is right, and the time of "auto" relative to a fit."""
    wrong = np.array([row["found"] - row["K"] for row in rows])
    print(f"exact {np.mean(wrong == 0):.0%}, within one {np.mean(abs(wrong) <= 1):.0%}")
    for name in ("fit", "default fit"):
        ratio = [1 + row["counting"] / row[name] for row in rows]
        print(f"time relative to a {name}: {np.median(ratio):.2f}, at most {max(ratio):.2f}")


def beside_rank_path(n: int) -> Rows:
    """The slow reference: fits of neighbouring numbers, each evaluated on held-out frames."""
    rows: Rows = []
    for seed in range(FIRST, FIRST + n):
        Y, K, snr = Case.drawn(seed, known=False, sizes=False)
        ranks = [K - 2, K - 1, K, K + 1, K + 2]
        how = GAUSSIAN | {"init": "klt", "n_threads": 1}
        path, seconds = cpu(lambda Y=Y, ranks=ranks, how=how: rank_path(Y, ranks, **how))
        row = {"seed": seed, "K": K, "snr": round(snr, 1), "rank_path": path.best}
        rows.append(row | {"seconds": round(seconds, 2)})
        print(rows[-1], flush=True)
    return rows


def unmixed(piece: Piece, K: int | str, seed: int = 0) -> dict[str, Any]:
    """Unmix a piece, and score its components as an oracle groups them."""
    stems = np.stack(list(piece.stems.values()))
    y = stems.sum(axis=0)
    result, seconds = cpu(lambda: phinmf.unmix(y, piece.rate, K, seed=seed, n_threads=1))
    groups = oracle_grouping(result.components, stems)
    scores = mean_scores(grouped(result.components, groups, len(stems)), stems)
    found = len(result.components)
    return {"kind": piece.kind, "piece": piece.name, "stems": len(stems), "asked": K,
            "found": found, **scores, "cpu": round(seconds, 2)}  # fmt: skip


def on_pieces(names: list[str]) -> Rows:
    """Unmix pieces with "auto", with the number that it found, and with fixed numbers."""
    rows: Rows = []
    noise = np.random.default_rng(0).standard_normal(16_000)
    phinmf.unmix(noise, 16_000, "auto", seed=0)  # compile
    for piece in pieces(names):
        automatic = unmixed(piece, "auto")
        same = unmixed(piece, automatic["found"]) | {"asked": "found"}
        some = [automatic, same, *(unmixed(piece, K) for K in FIXED)]
        rows += some
        ratio = automatic["cpu"] / same["cpu"]
        told = ", ".join(f"{row['asked']}: {row['snr']:.2f} dB" for row in some)
        print(piece.kind, piece.name, f"found {automatic['found']} in {ratio:.2f} of the time;",
              told, flush=True)  # fmt: skip
    return rows


def page() -> None:
    """Print the tables and the numbers of docs/choosing/components.md."""
    told, _ = read_csv("automatic")
    columns = {
        "transform": "transform", "exact": "exact", "within": "within one",
        "by_number": "3–8 / 9–14 / 15–20 components, exact", "fit": "time, Gaussian fit",
        "default fit": "time, default fit",
    }  # fmt: skip
    rows = [counted(name, words) for name, words in SYNTHETIC.items()]
    print(table(rows, columns), told, reference(), sep="\n\n")
    told, found = read_csv("automatic_pieces")
    columns = {"kind": "", "stems": "stems", "found": "found", "auto": "auto"}
    columns |= {str(K): f"K = {K}" if FIXED[0] == K else str(K) for K in FIXED}
    rows = [scored(kind, found) for kind in dict.fromkeys(row["kind"] for row in found)]
    print(table(rows, columns), told, slower(found), sep="\n\n")


def counted(name: str, words: str) -> dict[str, str]:
    """A row of the table of synthetic frames."""
    rows = read_csv(name)[1]
    K, wrong = (np.array([int(r[key]) for r in rows]) for key in ("K", "found"))
    wrong = wrong - K
    groups = [wrong[(low <= K) & (high >= K)] for low, high in ((3, 8), (9, 14), (15, 20))]
    row = {
        "transform": words,
        "exact": f"{100 * np.mean(wrong == 0):.0f} %",
        "within": f"{100 * np.mean(abs(wrong) <= 1):.0f} %",
        "by_number": " / ".join(f"{(some == 0).sum()} of {len(some)}" for some in groups),
    }
    for fit in ("fit", "default fit"):
        row[fit] = f"{np.median([1 + float(r['counting']) / float(r[fit]) for r in rows]):.1f}"
    return row


def reference() -> str:
    """A sentence about `rank_path`."""
    rows, counting = read_csv("automatic_rank_path")[1], read_csv("automatic")[1]
    wrong = [abs(int(r["rank_path"]) - int(r["K"])) for r in rows]
    seconds = [float(r["seconds"]) for r in rows]
    count_seconds = np.median([float(r["counting"]) for r in counting])
    return (
        "`analysis.rank_path`, which fits each of five neighbouring numbers and evaluates it on"
        f" held-out frames, was right in {wrong.count(0)} of the first {len(rows)} cases, within"
        f" one in {sum(w <= 1 for w in wrong)}, and took {min(seconds):.1f} to {max(seconds):.1f} s"
        f" of CPU time, where counting takes {count_seconds:.1f}."
    )


def scored(kind: str, found: list[dict[str, str]]) -> dict[str, str]:
    """A row of the table of music: mean SNR over the pieces of a kind."""
    some = [row for row in found if row["kind"] == kind]
    automatic = [row for row in some if row["asked"] == "auto"]
    row = {"kind": kind}
    row |= {key: ", ".join(r[key] for r in automatic) for key in ("stems", "found")}
    for asked in ("auto", *map(str, FIXED)):
        row[asked] = f"{np.mean([float(r['snr']) for r in some if r['asked'] == asked]):.1f}"
    return row


def slower(found: list[dict[str, str]]) -> str:
    """A sentence about the time of "auto"."""
    cpu = {way: [float(r["cpu"]) for r in found if r["asked"] == way] for way in ("auto", "found")}
    ratio = np.divide(cpu["auto"], cpu["found"])
    return (
        f"The time is {np.median(ratio):.1f} times that of `unmix` with the same number (median;"
        f" {ratio.min():.1f} to {ratio.max():.1f}: most for few components, whose fit is short)."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("unknown", "dct", "sizes", "rank_path", "pieces")
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--cases", type=int, default=CASES)
    small = [kind for kind in MAKERS if kind != "arrangement"]
    parser.add_argument("--kinds", nargs="+", choices=MAKERS, default=small)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    n = options.cases
    if "unknown" in options.parts:
        write_csv("automatic", synthetic(known=False, sizes=False, n=n))
    if "dct" in options.parts:
        write_csv("automatic_dct", synthetic(known=True, sizes=False, n=n))
    if "sizes" in options.parts:
        write_csv("automatic_sizes", synthetic(known=False, sizes=True, n=n))
    if "rank_path" in options.parts:
        write_csv("automatic_rank_path", beside_rank_path(COMPARED))
    if "pieces" in options.parts:
        write_csv("automatic_pieces", on_pieces(options.kinds))
    page()


if __name__ == "__main__":
    main()
