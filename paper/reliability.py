"""Fig. 3b: whether two random starts find the same atoms."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from consensus import consensus
from matplotlib.figure import Figure
from planes import atom_blocks, block_order, canonical, subspace_overlap
from printing import print_claims, print_table
from setting import COLOURS, Setting
from stability import stability

from phinmf import Result
from phinmf.analysis import match_atoms, strongest_atoms

ATOMS = 50
CANONICAL = ", canonical planes"  #: after the name of a method
CONSENSUS = "annealed lbfgs, consensus"


def methods(setting: Setting) -> dict[str, list[Result]]:
    """The fits of every start, for each way of learning."""
    starts = range(setting.budget.starts)
    single = setting.recording.astype(np.float32)
    runs = {
        "quasi-newton": [setting.fit(setting.long_paper, single, random_state=s) for s in starts],
        "annealed lbfgs, default": [setting.fit({}, random_state=s) for s in starts],
    }
    if setting.budget.patient:
        how = setting.budget.patient
        runs["annealed lbfgs, patient"] = [setting.fit(how, random_state=s) for s in starts]
    groups = range(setting.budget.groups)
    runs[CONSENSUS] = [consensus(setting, group, canonical_planes=False) for group in groups]
    return runs


def strongest(setting: Setting) -> dict[str, list[np.ndarray]]:
    """The strongest atoms of every start, as each method found them and with canonical planes."""
    n, Y = min(ATOMS, setting.budget.M // 2), setting.recording
    transforms = {name: [r.Phi for r in runs] for name, runs in methods(setting).items()}
    chosen = {
        name + CANONICAL: [canonical(Phi).atoms for Phi in runs]
        for name, runs in transforms.items()
    }
    # A consensus makes the planes canonical before it averages; its fit is taken as it is.
    chosen[CONSENSUS + CANONICAL] = [
        consensus(setting, group).Phi for group in range(setting.budget.groups)
    ]
    return {
        name: [strongest_atoms(Phi, Y, n) for Phi in runs]
        for name, runs in (transforms | chosen).items()
    }


def compare(A: np.ndarray, B: np.ndarray) -> dict[str, float]:
    """Counts for one pair of starts."""
    similarity = match_atoms(A, B).similarity
    return {
        "> 0.95": int((similarity > 0.95).sum()),
        "> 0.9": int((similarity > 0.9).sum()),
        "> 0.7": int((similarity > 0.7).sum()),
        "2-D blocks": len(atom_blocks(A, B)),
        "overlap": round(subspace_overlap(A, B), 4),
    }


def run(setting: Setting) -> None:
    """Compare all pairs of starts."""
    atoms = strongest(setting)
    rows = [
        {"method": name, "starts": f"{i}, {j}"} | compare(sets[i], sets[j])
        for name, sets in atoms.items()
        for i, j in combinations(range(len(sets)), 2)
    ]
    middle = {name: medians(rows, name) for name in atoms}
    reliable = {n: (stability(sets).reliability > 0.9).sum() for n, sets in atoms.items()}
    quasi, best = middle["quasi-newton"], middle[CONSENSUS + CANONICAL]
    coupled = max(middle, key=lambda name: middle[name]["2-D blocks"])
    print_claims(
        {
            "“the first 6 atoms (top left) are the same”": "median pair of starts: quasi-newton"
            f" {quasi['> 0.95']:g} of {len(atoms['quasi-newton'][0])} atoms with |cos| > 0.95;"
            f" {CONSENSUS + CANONICAL}: {best['> 0.95']:g}",
            "“some pairwise couplings”: 2-D blocks of equal span": "pairs with both principal"
            f" angles' cosines > 0.95: quasi-newton {quasi['2-D blocks']:g}, {coupled}"
            f" {middle[coupled]['2-D blocks']:g}; {CONSENSUS + CANONICAL} {best['2-D blocks']:g}",
        }
    )
    print_table(
        [
            {"method": name} | counts | {"reliability > 0.9 over all starts": int(reliable[name])}
            for name, counts in middle.items()
        ]
    )
    draw(setting, atoms)
    setting.csv("fig3b", rows)


def medians(rows: list[dict[str, Any]], name: str) -> dict[str, float]:
    """Medians over the pairs of one method."""
    mine = [r for r in rows if r["method"] == name]
    return {
        key: float(np.median([r[key] for r in mine]))
        for key in mine[0]
        if key not in ("method", "starts")
    }


def draw(setting: Setting, atoms: dict[str, list[np.ndarray]]) -> None:
    """One picture for each method, of its first two starts; below it with canonical planes."""
    wide = len(atoms) // 2
    figure = Figure(figsize=(3.5 * wide + 0.6, 7.6), layout="constrained")
    axes = figure.subplots(2, wide, squeeze=False)
    for ax, (name, (A, B, *_)) in zip(axes.flat, atoms.items(), strict=True):
        rows, columns = block_order(A, B)
        image = ax.imshow(np.abs(A[rows] @ B[columns].T), vmin=0, vmax=1, cmap="viridis")
        alike = compare(A, B)["> 0.95"]
        colour = COLOURS["quasi-newton" if name.startswith("quasi") else "annealed lbfgs"]
        ax.set_title(f"{name}\n{alike} atoms with |cos| > 0.95", fontsize=9, color=colour)
    for ax in axes[-1]:
        ax.set_xlabel("atoms of the second start")
    for ax in axes[:, 0]:
        ax.set_ylabel("atoms of the first start")
    figure.colorbar(image, ax=list(axes.flat), shrink=0.6, label="|cos|")
    setting.save(figure, "fig3b")
