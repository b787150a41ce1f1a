"""Fig. 3b: whether two random starts find the same atoms."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from consensus import consensus
from matplotlib.figure import Figure
from page import Claim, Section, verdict
from planes import atom_blocks, block_order, canonical, subspace_overlap
from setting import COLOURS, Setting
from stability import stability

from phinmf import Result
from phinmf.analysis import match_atoms, strongest_atoms

TITLE = "Fig. 3b: reliability of the learned transform"
ATOMS = 50
PAPER_ALIKE = 6  #: atoms that the paper finds in both of its two runs
GOAL = {"> 0.95": 30, "> 0.9": 25, "overlap": 0.95}
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


def run(setting: Setting) -> Section:
    """Compare all pairs of starts."""
    found = strongest(setting)
    rows = [
        {"method": name, "starts": f"{i}, {j}"} | compare(sets[i], sets[j])
        for name, sets in found.items()
        for i, j in combinations(range(len(sets)), 2)
    ]
    middle = {name: medians(rows, name) for name in found}
    summary = [{"method": name} | counts for name, counts in middle.items()]
    for line, sets in zip(summary, found.values(), strict=True):
        line["reliability > 0.9 over all starts"] = int((stability(sets).reliability > 0.9).sum())
    best = max(middle, key=lambda name: middle[name]["> 0.95"])
    coupled = max(middle, key=lambda name: middle[name]["2-D blocks"])
    resolved = middle[coupled.removesuffix(CANONICAL) + CANONICAL]
    quasi, pairs = middle["quasi-newton"], len(list(combinations(range(setting.budget.starts), 2)))
    scores = {name: goals_met(counts) for name, counts in middle.items()}
    winner = max(scores, key=lambda name: (scores[name], middle[name]["> 0.95"]))
    claims = [
        Claim(
            "“the first 6 atoms (top left) are the same”",
            f"quasi-newton, median of {pairs} pair(s) of starts: {quasi['> 0.95']:g} of"
            f" {len(found['quasi-newton'][0])} atoms with |cos| > 0.95; {best}:"
            f" {middle[best]['> 0.95']:g}",
            verdict(
                quasi["> 0.95"] >= PAPER_ALIKE,
                no=verdict(middle[best]["> 0.95"] >= PAPER_ALIKE, "not by quasi-newton; holds for"
                           " the annealed solver", "does not hold"),
            ),
        ),
        Claim(
            "“some pairwise couplings”: 2-D blocks of equal span",
            f"pairs with both principal angles' cosines > 0.95: quasi-newton"
            f" {quasi['2-D blocks']:g}, {coupled} {middle[coupled]['2-D blocks']:g}, where"
            f" canonical planes leave {resolved['2-D blocks']:g}",
            verdict(middle[coupled]["2-D blocks"] > 0),
        ),
        Claim(
            f"(not in the paper) goals for the median pair: {GOAL['> 0.95']} with |cos| > 0.95,"
            f" {GOAL['> 0.9']} with > 0.9, subspace overlap {GOAL['overlap']}",
            f"{winner}: {middle[winner]['> 0.95']:g}, {middle[winner]['> 0.9']:g},"
            f" {middle[winner]['overlap']:.3f}",
            f"{scores[winner]} of {len(GOAL)} met",
        ),
    ]  # fmt: skip
    return Section(
        TITLE,
        f"The {ATOMS} strongest atoms from two random starts, sparsity 150, matched one to one by"
        " |cos|. A 2-D block is a pair of atoms that spans the same plane in both. The overlap is"
        " ‖Φ₁Φ₂ᵀ‖²_F over the number of atoms. “Canonical planes” turns every plane that is its own"
        " mirror image in time to an even and an odd atom (`paper/planes.py`); each"
        " transform is treated alone. Quasi-newton is run in single precision with Cayley steps so"
        " that more of its iterations fit in the time. “Consensus” learns from"
        f" {setting.budget.consensus} starts, averages the matched atoms and goes on from there"
        " (`paper/consensus.py`; with canonical planes, those of the starts);"
        f" {setting.budget.groups} such transforms, from disjoint sets of starts, are compared."
        " The last column counts clusters of atoms over all starts"
        " (`paper/stability.py`).",
        claims,
        [(draw(setting, found), "|Φ₁Φ₂ᵀ| of the strongest atoms from two random starts, ordered to"
          " be as block-diagonal as possible")],
        [("Medians over all pairs of starts:", summary)],
        [setting.csv("fig3b", rows)],
    )  # fmt: skip


def medians(rows: list[dict[str, Any]], name: str) -> dict[str, float]:
    """Medians over the pairs of one method."""
    mine = [r for r in rows if r["method"] == name]
    return {
        key: float(np.median([r[key] for r in mine]))
        for key in mine[0]
        if key not in ("method", "starts")
    }


def goals_met(counts: dict[str, float]) -> int:
    """How many of the goals a method meets."""
    return sum(counts[key] >= least for key, least in GOAL.items())


def draw(setting: Setting, found: dict[str, list[np.ndarray]]) -> str:
    """One picture for each method, of its first two starts; below it with canonical planes."""
    wide = len(found) // 2
    figure = Figure(figsize=(3.5 * wide + 0.6, 7.6), layout="constrained")
    axes = figure.subplots(2, wide, squeeze=False)
    for ax, (name, (A, B, *_)) in zip(axes.flat, found.items(), strict=True):
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
    return setting.save(figure, "fig3b")
