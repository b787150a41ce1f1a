"""Do other random starts find the same atoms? Canonical planes, consensus, and what they cost.

Writes the tables of docs/choosing/atoms.md: how many of the 50 strongest atoms of the paper's
recording two disjoint groups of starts share, and the separation of the built-in example.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from _common import ROOT, machine, read_csv, recording, table, write_csv
from _source_scores import component_signals, grouped, oracle_grouping, score
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import atoms_for_energy, karhunen_loeve, match_atoms, strongest_atoms
from phinmf.audio.example import example
from phinmf.linalg.manifold import random_orthogonal

sys.path.append(str(ROOT / "paper"))
from consensus import REFINE, average_transform, canonical_average
from planes import canonical

ATOMS, K, SIZE = 50, 10, 7  #: compared atoms, components, starts of a group
HOW: dict[str, Any] = {"floor": 1e-10, "sparsity": 150.0}
#: W and H fitted again in a transform that stays as it is
REFIT: dict[str, Any] = {
    "solver": None, "method": phinmf.Method(anneal=False, n_iter_nmf=1), "max_iter": 100, "tol": 0,
}  # fmt: skip


def again(Y: np.ndarray, fit: phinmf.Result, Phi: np.ndarray, **how: Any) -> phinmf.Result:
    """Fit W and H of a fit again, in this transform."""
    H, W = fit.H, fit.W
    return phinmf.tl_nmf(Y, len(H), init=Phi, W=W, H=H, random_state=0, **how, **REFIT)


def row(way: str, starts: int, Y: np.ndarray, fits: Sequence[phinmf.Result]) -> dict[str, Any]:
    """Compare all pairs of these fits."""
    pairs = combinations([strongest_atoms(fit.Phi, Y, ATOMS) for fit in fits], 2)
    similarities = [match_atoms(A, B).similarity for A, B in pairs]
    alike = [int((s > 0.95).sum()) for s in similarities]
    told = {
        "way": way,
        "starts": starts,
        "alike": f"{np.mean(alike):.1f}",
        "range": f"{min(alike)}–{max(alike)}",
        "above_0.9": f"{np.mean([(s > 0.9).sum() for s in similarities]):.1f}",
        "objective": f"{np.mean([fit.objective for fit in fits]) / Y.size:.3f}",
        "atoms": " / ".join(
            f"{n:.0f}" for n in np.median([atoms_for_energy(fit.Phi, Y) for fit in fits], axis=0)
        ),
    }
    print(told, flush=True)
    return told


def random_atoms(Y: np.ndarray, seed: int) -> np.ndarray:
    """Eigenvectors of the frames, the strongest of them mixed at random and made canonical."""
    Phi = karhunen_loeve(Y)
    Phi[:ATOMS] = random_orthogonal(ATOMS, np.random.default_rng(seed)) @ Phi[:ATOMS]
    return canonical(Phi).atoms


def reproduced(Y: np.ndarray, groups: int) -> list[dict[str, Any]]:
    """One row for each way to learn atoms; the groups of starts are disjoint."""
    fits = [
        [phinmf.tl_nmf(Y, K, init="random", random_state=SIZE * g + s, **HOW) for s in range(SIZE)]
        for g in range(groups)
    ]
    one = [group[0] for group in fits]
    rows = [
        row("as found", 1, Y, [again(Y, fit, fit.Phi, **HOW) for fit in one]),
        row("canonical planes, W and H fitted again", 1, Y,
            [again(Y, fit, canonical(fit.Phi).atoms, **HOW) for fit in one]),
    ]  # fmt: skip
    for starts in (1, 3, SIZE):
        rows.append(row("consensus", starts, Y, refined(Y, fits, starts, canonical_average)))
    plain = refined(Y, fits, SIZE, average_transform)
    rows.append(row("consensus without canonical planes", SIZE, Y, plain))
    control = "control: random atoms in the span of the 50 strongest eigenvectors, canonical planes"
    mixed = [again(Y, fit, random_atoms(Y, g), **HOW) for g, fit in enumerate(one)]
    rows.append(row(control, 1, Y, mixed))
    return rows


def refined(
    Y: np.ndarray,
    fits: list[list[phinmf.Result]],
    starts: int,
    average: Callable[[list[np.ndarray]], np.ndarray],
) -> list[phinmf.Result]:
    """Fit once more from the average transform of the first starts of each group."""
    means = [average([fit.Phi for fit in group[:starts]]) for group in fits]
    return [phinmf.tl_nmf(Y, K, init=Phi, random_state=0, **HOW, **REFINE) for Phi in means]


def by_sparsity(Y: np.ndarray, groups: int) -> list[dict[str, Any]]:
    """Single starts at several sparsities, as found and with canonical planes."""
    rows = []
    for sparsity in (0.0, 10.0, 150.0):
        how = HOW | {"sparsity": sparsity}
        fits = [phinmf.tl_nmf(Y, K, init="random", random_state=s, **how) for s in range(groups)]
        turned = [again(Y, fit, canonical(fit.Phi).atoms, **how) for fit in fits]
        for way, some in (("as found", fits), ("canonical planes", turned)):
            rows.append({"sparsity": f"{sparsity:g}"} | row(way, 1, Y, some))
    return rows


def separated(seeds: int, sparsity: float = 10.0) -> list[dict[str, Any]]:
    """The mean score of the stems of the built-in example, before and after turning planes."""
    sound = example()
    stems = list(sound.stems.values())
    Y = phinmf.to_frames(sound.mixture, 640).astype(np.float32)
    how = {"sparsity": sparsity}
    rows = []
    for seed in range(seeds):
        fit = phinmf.tl_nmf(Y, 8, random_state=seed, init="random", **how)
        turned = canonical(fit.Phi)
        for way, Phi in (("as found", fit.Phi), ("canonical planes", turned.atoms)):
            result = again(Y, fit, Phi, **how)
            components = component_signals(Y, result, len(sound.mixture), 1e-8)
            groups = grouped(components, oracle_grouping(components, stems), len(stems))
            sdr = np.mean([score(groups[i], stems, i).sdr for i in range(len(stems))])
            rows.append({
                "seed": seed, "way": way, "planes": len(turned.planes), "sdr": f"{sdr:.3f}",
                "objective": f"{result.objective / Y.size:.4f}",
                "atoms": " / ".join(map(str, atoms_for_energy(Phi, Y))),
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def effect(rows: list[dict[str, str]]) -> str:
    """What turning planes changes in the separation, in one sentence."""
    sdr, objective = (
        {way: np.array([float(r[key]) for r in rows if r["way"] == way]) for way in
         ("as found", "canonical planes")} for key in ("sdr", "objective")
    )  # fmt: skip
    gain = sdr["canonical planes"] - sdr["as found"]
    cost = objective["canonical planes"] / objective["as found"] - 1
    return (
        f"Built-in example, {len(gain)} random starts: the mean score of the stems changes by"
        f" {gain.mean():+.2f} dB (from {gain.min():+.2f} to {gain.max():+.2f}; starts differ from"
        f" each other by {np.ptp(sdr['as found']):.1f} dB), the objective by"
        f" {100 * cost.mean():+.2f} %."
    )


def page() -> None:
    """Print the tables of docs/choosing/atoms.md."""
    described, rows = read_csv("reproducible_atoms")
    columns = {
        "way": "", "starts": "starts", "alike": "of 50 atoms, \\|cos\\| > 0.95",
        "range": "from – to", "above_0.9": "\\|cos\\| > 0.9", "objective": "objective per entry",
        "atoms": "atoms for 90 / 95 / 99 % of the energy",
    }  # fmt: skip
    print(table(rows, columns), described, sep="\n\n")
    single = read_csv("reproducible_atoms_sparsity")[1]
    print(table(single, {"sparsity": "sparsity"} | columns))
    print(effect(read_csv("reproducible_atoms_separation")[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=4, help="groups of starts")
    parser.add_argument("--seeds", type=int, default=6, help="starts of the separation")
    parts = ("starts", "sparsity", "separation")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts, help="measure these")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    if "separation" in options.only:
        print(write_csv("reproducible_atoms_separation", separated(options.seeds)))
    Y = recording().astype(np.float32)
    if "sparsity" in options.only:
        print(write_csv("reproducible_atoms_sparsity", by_sparsity(Y, options.groups)))
    if "starts" in options.only:
        print(write_csv("reproducible_atoms", reproduced(Y, options.groups)))
    page()


if __name__ == "__main__":
    main()
