"""The paper's outlook: learn a few atoms instead of M. What is lost, and what is not."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from printing import listed, print_claims, print_table
from reliability import ATOMS, compare
from setting import COLOURS, Setting, axes_style, median, quietly, timed

import phinmf
from phinmf.analysis import atoms_for_energy, strongest_atoms

SHARES = (0.9, 0.95, 0.99)
ENOUGH = 0.99  #: share of the energy of the number of atoms that the claims are about
QUARTILES = ("lower quartile", "upper quartile")
Row = dict[str, Any]


def fit(setting: Setting, **how: Any) -> phinmf.Result:
    """TL-NMF of the recording at the paper's floor, with the default schedule."""
    options = {"sparsity": 150.0, "floor": phinmf.PAPER["floor"], "init": "random"} | how
    return quietly(phinmf.tl_nmf, setting.recording, setting.budget.K, **options)


def run(setting: Setting) -> None:
    """Learn P atoms from several random starts, for several P, in turns."""
    Y, M = setting.recording, setting.budget.M
    numbers = [*setting.budget.few_atoms, M]
    runs: dict[int, list[tuple[phinmf.Result, float]]] = {P: [] for P in numbers}
    fit(setting, n_atoms=numbers[0], max_iter=4, random_state=0)  # compile and load
    for seed in range(setting.budget.starts):
        for P in numbers:
            runs[P].append(timed(lambda P=P, s=seed: fit(setting, n_atoms=P, random_state=s)))
    all_seconds = [seconds for _, seconds in runs[M]]
    rows = [row_of(setting, P, runs[P], all_seconds) for P in numbers]
    fixed = fit(setting, solver=None, init="klt", random_state=0)
    nothing = {
        "P": "0 (Karhunen–Loève)",
        "objective": fixed.objective / Y.size,
        **counts(fixed.Phi, Y),
    }
    table = [{key: nothing.get(key, "") for key in rows[0]}, *rows]
    print_claims(claims(rows, fixed.objective / Y.size))
    print_table(table)
    draw(setting, rows, fixed.objective / Y.size)
    setting.csv("few_atoms", rows)


def row_of(
    setting: Setting, P: int, runs: list[tuple[phinmf.Result, float]], all_seconds: list[float]
) -> Row:
    """Medians for one number of atoms."""
    Y, results = setting.recording, [result for result, _ in runs]
    n = min(ATOMS, P, setting.budget.M // 2)
    sets = [strongest_atoms(r.Phi[:P], Y, n) for r in results]  # learned atoms come first
    alike = [compare(A, B) for A, B in combinations(sets, 2)]
    spread = np.quantile([pair["> 0.95"] for pair in alike], (0.25, 0.75))
    energies = [counts(r.Phi, Y) for r in results]
    return {
        "P": P,
        "energy, %": round(100 * results[0].energy, 2),
        "objective": median(r.objective for r in results) / Y.size,
        **{key: round(median(e[key] for e in energies)) for key in energies[0]},
        "> 0.95": median(pair["> 0.95"] for pair in alike),
        **dict(zip(QUARTILES, map(float, spread), strict=True)),
        **{key: median(pair[key] for pair in alike) for key in ("> 0.9", "overlap")},
        "time / all": round(
            median(t / most for (_, t), most in zip(runs, all_seconds, strict=True)), 3
        ),
    }


def counts(Phi: np.ndarray, Y: np.ndarray) -> dict[str, int]:
    """Atoms for the shares of the energy."""
    counted = atoms_for_energy(Phi, Y, SHARES)
    return {f"{100 * share:g} %": int(n) for share, n in zip(SHARES, counted, strict=True)}


def claims(rows: list[Row], nothing: float) -> dict[str, str]:
    """The paper's outlook, and the counts of the fewest atoms that hold enough of the energy."""
    few, most = next(row for row in rows if row["energy, %"] >= 100 * ENOUGH), rows[-1]
    P, M = few["P"], most["P"]
    gain = (nothing - few["objective"]) / (nothing - most["objective"])
    keys = [f"{100 * share:g} %" for share in SHARES]
    return {
        "(closing remark, in our words) learning only a few atoms should lose little information":
        f"P = {P} of {M}: atoms for 90 / 95 / 99 % of the energy {listed(few[k] for k in keys)},"
        f" all atoms {listed(most[k] for k in keys)}",
        "(the same for the objective)": f"{few['objective']:.3f} per entry over all rows; all atoms"
        f" {most['objective']:.3f}, none learned {nothing:.3f}: {100 * gain:.0f} % of the gain",
        "(closing remark, in our words) and it should cost less, with so few parameters":
        f"{few['time / all']:.2f} of the time of all atoms, with"
        f" {P * (P - 1) / (M * (M - 1)):.2f} of the parameters of Φ",
        "(not in the paper) whether two starts find the same atoms": f"of the {ATOMS} strongest,"
        f" with |cos| > 0.95: {few['> 0.95']:g}, quartiles of the pairs"
        f" {listed(few[q] for q in QUARTILES)}; all atoms {most['> 0.95']:g},"
        f" {listed(most[q] for q in QUARTILES)}",
    }  # fmt: skip


def draw(setting: Setting, rows: list[Row], nothing: float) -> None:
    """Four curves against P."""
    figure = Figure(figsize=(10, 6.2), layout="constrained")
    (objective, energy), (alike, times) = figure.subplots(2, 2)
    P, ours = [row["P"] for row in rows], COLOURS["annealed lbfgs"]

    def line(ax: Any, key: str, **style: Any) -> None:
        ax.plot(P, [row[key] for row in rows], marker="o", ms=3.5, color=ours, **style)

    line(objective, "objective")
    objective.axhline(nothing, color="#777777", ls=":", label="nothing learned")
    axes_style(objective, ylabel="objective per entry, all rows")
    objective.legend(frameon=False, fontsize=8)
    for share, style in zip(SHARES, (":", "--", "-"), strict=True):
        key = f"{100 * share:g} %"
        line(energy, key, ls=style, label=key)
    axes_style(energy, ylabel="atoms for a share of the energy", ylim=(0, None))
    energy.legend(frameon=False, fontsize=8)
    line(alike, "> 0.95", label="|cos| > 0.95")
    line(alike, "> 0.9", ls="--", label="|cos| > 0.9")
    axes_style(alike, ylabel=f"of the {ATOMS} strongest, in both starts", ylim=(0, None))
    alike.legend(frameon=False, fontsize=8)
    line(times, "time / all")
    axes_style(times, ylabel="time, all atoms = 1", ylim=(0, None))
    for ax in (objective, energy, alike, times):
        ax.set(xlabel="P, learned atoms", xlim=(0, 1.03 * P[-1]))
    setting.save(figure, "few_atoms")
