"""Fig. 2: the solvers on the recording, with V̂ fixed and as full TL-NMF, from one random start."""

from __future__ import annotations

import csv
from functools import partial
from typing import Any

import numpy as np
from curves import time_to
from matplotlib.figure import Figure
from printing import print_claims, print_table
from setting import COLOURS, RECORDING, Setting, axes_style, data_folder, quietly, sooner

import phinmf
from phinmf.solvers import QuasiNewton

SOLVERS: dict[str, Any] = {
    "quasi-newton": "quasi-newton",
    "projected-gradient": "projected-gradient",
    "jacobi": "jacobi",
    "as printed": QuasiNewton(metric="printed"),
}
L = 5


def fixed_model(setting: Setting) -> dict[str, phinmf.Result]:
    """Learn Φ from a random start with V̂ from IS-NMF of the DCT spectrogram."""
    Y = setting.recording
    nmf = quietly(
        phinmf.tl_nmf, Y, setting.budget.K, solver=None, init="dct", sparsity=0,
        method=phinmf.Method(anneal=False), floor=phinmf.PAPER["floor"], tol=0,
        max_iter=200, random_state=0,
    )  # fmt: skip
    how: dict[str, Any] = {
        "init": "random", "random_state": 0, "floor": phinmf.PAPER["floor"],
        "method": phinmf.Method(n_iter_transform=L), "max_time": setting.budget.solver_seconds,
    }  # fmt: skip
    learn = partial(quietly, phinmf.learn_transform, Y, nmf.W @ nmf.H, **how)
    runs = {name: learn(solver=solver, max_iter=100_000, tol=0) for name, solver in SOLVERS.items()}
    return runs | {"annealed lbfgs": learn()}


def full(setting: Setting) -> dict[str, phinmf.Result]:
    """TL-NMF with each solver, the paper's NMF step and L = 5; ours with its defaults."""
    limit = {"max_time": setting.budget.solver_seconds, "max_iter": 100_000, "tol": 0}
    runs = {
        name: setting.fit({**phinmf.PAPER, "solver": solver, **limit})
        for name, solver in SOLVERS.items()
    }
    runs["annealed lbfgs"] = setting.fit({})
    return runs


def run(setting: Setting) -> None:
    """Both halves of the figure."""
    left, right = fixed_model(setting), full(setting)
    size = setting.recording.size
    halves = {"V̂ fixed": left, "full TL-NMF": right}
    rows = [row(half, name, r, size) for half, runs in halves.items() for name, r in runs.items()]
    claims = {}
    for half, runs in halves.items():
        ends = {name: r.history.target_objective[-1] / size for name, r in runs.items()}
        quasi, ours = runs["quasi-newton"], runs["annealed lbfgs"]
        claims[f"Fig. 2, {half}: “the superiority of the proposed quasi-Newton algorithm”"] = (
            f"after {setting.budget.solver_seconds:g} s: quasi-newton {ends['quasi-newton']:.3f}"
            + "".join(
                f", {name} {ends[name]:.3f} per entry (where quasi-newton is"
                f" {sooner(lead(quasi, runs[name]))})"
                for name in ("projected-gradient", "jacobi")
            )
        )
        claims[f"(not in the paper) annealed lbfgs, {half}"] = (
            f"{ours.objective / size:.3f} per entry after {ours.history.seconds[-1]:.1f} s"
        )
    print_claims(claims)
    print_table(rows)
    draw(setting, left, right)
    setting.csv("fig2", rows)


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


def authors(setting: Setting) -> tuple[np.ndarray, np.ndarray] | None:
    """Seconds and objective per entry of the authors' own code, as recorded once."""
    name = "authors_armstrong.csv"
    folder = data_folder(name)
    if folder is None or data_folder(RECORDING) is None or setting.budget.excerpt:
        return None
    with (folder / name).open() as file:
        rows = list(csv.DictReader(file))
    columns = ("seconds", "objective_per_entry")
    seconds, objective = (np.array([float(r[c]) for r in rows]) for c in columns)
    return seconds, objective


def draw(setting: Setting, left: dict[str, phinmf.Result], right: dict[str, phinmf.Result]) -> None:
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
    setting.save(figure, "fig2")
