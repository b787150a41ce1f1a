"""Fig. 2: the solvers on the recording, with V̂ fixed and as full TL-NMF, from one random start."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
from curves import time_to
from matplotlib.figure import Figure
from page import Claim, Section, verdict
from setting import COLOURS, RECORDING, Setting, axes_style, data_folder, quietly, sooner

import phinmf
from phinmf.solvers import QuasiNewton

TITLE = "Fig. 2: the recording"
SOLVERS: dict[str, Any] = {
    "quasi-newton": "quasi-newton",
    "projected-gradient": "projected-gradient",
    "jacobi": "jacobi",
    "as printed": QuasiNewton(metric="printed"),
}
L = 5


def fixed_model(
    setting: Setting, n_threads: int | None = None, only: tuple[str, ...] = ()
) -> dict[str, phinmf.Result]:
    """Learn Φ from a random start with V̂ from IS-NMF of the DCT spectrogram."""
    Y = setting.recording
    if "V_hat" not in setting.fits:
        setting.fits["V_hat"] = quietly(
            phinmf.tl_nmf, Y, setting.budget.K, solver=None, init="dct", sparsity=0,
            method=phinmf.Method(anneal=False), floor=phinmf.PAPER["floor"], tol=0,
            max_iter=200, random_state=0,
        )  # fmt: skip
    given = setting.fits["V_hat"]
    V_hat = given.W @ given.H
    shared = {"init": "random", "random_state": 0, "floor": phinmf.PAPER["floor"],
              "method": phinmf.Method(n_iter_transform=L), "n_threads": n_threads}  # fmt: skip
    limit = {"max_time": setting.budget.solver_seconds, "max_iter": 100_000, "tol": 0}
    runs = {
        name: quietly(phinmf.learn_transform, Y, V_hat, solver=solver, **shared, **limit)
        for name, solver in SOLVERS.items()
        if name in (only or SOLVERS)
    }
    if not only:
        limit = {"max_time": setting.budget.solver_seconds}
        runs["annealed lbfgs"] = quietly(phinmf.learn_transform, Y, V_hat, **shared, **limit)
    return runs


def full(setting: Setting) -> dict[str, phinmf.Result]:
    """TL-NMF with each solver, the paper's NMF step and L = 5; ours with its defaults."""
    limit = {"max_time": setting.budget.solver_seconds, "max_iter": 100_000, "tol": 0}
    runs = {
        name: setting.fit({**phinmf.PAPER, "solver": solver, **limit})
        for name, solver in SOLVERS.items()
    }
    runs["annealed lbfgs"] = setting.fit({})
    return runs


def run(setting: Setting) -> Section:
    """Both halves of the figure."""
    left, right = fixed_model(setting), full(setting)
    size = setting.recording.size
    rows = [
        row(experiment, name, r, size)
        for experiment, runs in (("V̂ fixed", left), ("full TL-NMF", right))
        for name, r in runs.items()
    ]
    claims = []
    for what, runs in (("V̂ fixed (left)", left), ("full TL-NMF (right)", right)):
        ends = {name: r.history.target_objective[-1] / size for name, r in runs.items()}
        rivals = [ends["projected-gradient"], ends["jacobi"]]
        ratios = {n: lead(runs["quasi-newton"], runs[n]) for n in ("projected-gradient", "jacobi")}
        claims.append(
            Claim(
                f"Fig. 2, {what}: “the superiority of the proposed quasi-Newton algorithm”",
                f"after {setting.budget.solver_seconds:g} s: quasi-newton"
                f" {ends['quasi-newton']:.3f}, projected gradient {rivals[0]:.3f}, Jacobi"
                f" {rivals[1]:.3f} per entry; quasi-newton gets to where they end:"
                f" projected gradient {sooner(ratios['projected-gradient'])}, Jacobi"
                f" {sooner(ratios['jacobi'])}",
                verdict(ends["quasi-newton"] < min(rivals)),
            )
        )
        ours = runs["annealed lbfgs"]
        claims.append(
            Claim(
                f"(not in the paper) annealed lbfgs, {what}",
                f"{ours.objective / size:.3f} per entry after {ours.history.seconds[-1]:.1f} s,"
                f" {'cut by the limit' if cut(ours) else 'where it stops by itself'}",
                verdict(
                    ours.objective / size < ends["quasi-newton"],
                    f"{lower(ours.objective / size, ends['quasi-newton'])} than quasi-newton",
                    "not lower than quasi-newton",
                ),
            )
        )
    return Section(
        TITLE,
        f"M = {setting.budget.M}, N = {setting.recording.shape[1]} (the paper prints 5407 for the"
        f" whole recording), K = {setting.budget.K}, one random Φ for all, L = {L}. Left: V̂ from"
        " IS-NMF of the DCT spectrogram, and only Φ learned. Right: all three learned, sparsity"
        " 150, the default of the authors' code (the paper does not print its λ). On the right"
        " ours ends by itself; all other runs go on until the time limit. While the floor is"
        " annealed the factors suit another floor, so the objective at the target floor, which is"
        " drawn, falls last. “As printed” is the boxed update (13) to the letter.",
        claims,
        [(draw(setting, left, right), "Objective per entry against seconds (top) and evaluations of"
          " the loss (bottom); left: V̂ fixed, right: full TL-NMF")],
        [("At the end of each run:", rows)],
        [setting.csv("fig2", rows), setting.csv("fig2_curves", trajectories(left, right, size))],
    )  # fmt: skip


def lower(ours: float, theirs: float) -> str:
    """By how much, in percent or as a factor."""
    if theirs > 2 * ours:
        return f"{theirs / ours:.0f} times lower"
    return f"{100 * (1 - ours / theirs):.0f} % lower"


def cut(r: phinmf.Result) -> bool:
    """Whether the time limit ended a run."""
    return r.status is phinmf.Status.MAX_TIME


def lead(ours: phinmf.Result, theirs: phinmf.Result) -> float:
    """Time at which theirs ends, divided by the time at which ours is as low."""
    level = theirs.history.target_objective[-1]
    mine = time_to(ours.history.seconds, ours.history.target_objective, level)
    return float(theirs.history.seconds[-1] / mine)


def row(experiment: str, name: str, r: phinmf.Result, size: int) -> dict[str, Any]:
    """The end of one run."""
    return {
        "experiment": experiment,
        "solver": name,
        "objective per entry": r.objective / size,
        "seconds": r.history.seconds[-1],
        "outer iterations": r.n_iter,
        "evaluations": int(r.history.evaluations[-1]),
        "failed searches": int(r.history.search_failed.sum()),
        "ended": r.status.name,
    }


def trajectories(
    left: dict[str, phinmf.Result], right: dict[str, phinmf.Result], size: int
) -> list[dict[str, Any]]:
    """Rows of every outer iteration, for other plots."""
    return [
        {"experiment": experiment, "solver": name, "seconds": round(at.seconds, 4),
         "evaluations": at.evaluations, "objective_per_entry": round(at.target_objective / size, 6)}
        for experiment, runs in (("fixed", left), ("full", right))
        for name, r in runs.items()
        for at in r.history.rows[:: max(1, r.n_iter // 200)]
    ]  # fmt: skip


def authors(setting: Setting) -> tuple[np.ndarray, np.ndarray] | None:
    """Seconds and objective per entry of the authors' own code, as recorded once."""
    name = "authors_armstrong.csv"
    folder = data_folder(name)
    if folder is None or data_folder(RECORDING) is None or setting.budget.excerpt:
        return None
    with (folder / name).open() as file:
        seen = list(csv.DictReader(file))
    columns = ("seconds", "objective_per_entry")
    seconds, objective = (np.array([float(r[c]) for r in seen]) for c in columns)
    return seconds, objective


def draw(setting: Setting, left: dict[str, phinmf.Result], right: dict[str, phinmf.Result]) -> str:
    """Four axes: two experiments, against seconds and evaluations."""
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    axes = figure.subplots(2, 2, sharey="col")
    size = setting.recording.size
    for column, (runs, title) in enumerate(((left, "V̂ fixed"), (right, "full TL-NMF"))):
        ends = [r.objective / size for r in runs.values()]
        top = 1.1 * max(*ends, *(r.history.objective[0] / size for r in runs.values()))
        for line, x in enumerate(("seconds", "evaluations")):
            ax = axes[line, column]
            for name, r in runs.items():
                h = r.history
                ax.plot(getattr(h, x), h.target_objective / size, color=COLOURS[name], lw=1.6,
                        label=name, ls="--" if name == "as printed" else "-")  # fmt: skip
                ax.plot(getattr(h, x)[-1], h.target_objective[-1] / size, "o", ms=4,
                        color=COLOURS[name])  # fmt: skip
            axes_style(ax, xlabel=x, xscale="log", yscale="linear" if column else "log",
                       title="" if line else title, ylim=(0.9 * min(ends), top))  # fmt: skip
    recorded = authors(setting)
    if recorded is not None:
        inside = recorded[0] <= 1.5 * setting.budget.solver_seconds
        axes[0, 1].plot(*(r[inside] for r in recorded), color="black", ls=":",
                        label="the authors' code, as recorded")  # fmt: skip
    for ax in axes[:, 0]:
        ax.set_ylabel("objective per entry")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=6,
                  frameon=False, fontsize=8)  # fmt: skip
    return setting.save(figure, "fig2")
