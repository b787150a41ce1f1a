"""Reliability of a fit: scale, difficult inputs, rises, threads, interrupts.

Writes the tables of docs/reliability.md and its pictures, from synthetic sounds alone.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from _common import DEFAULTS, ROOT, machine, read_csv, table, timed, write_csv
from matplotlib.figure import Figure
from sklearn.decomposition import NMF

import phinmf
from phinmf.audio.example import example
from phinmf.divergences import ItakuraSaito
from phinmf.linalg.manifold import dct

sys.path.append(str(ROOT / "tests"))
from sounds import KINDS

DTYPES = {"float64": "#0072B2", "float32": "#E69F00"}
SOLVERS = {
    "lbfgs": "#0072B2",
    "quasi-newton": "#D55E00",
    "projected-gradient": "#009E73",
    "jacobi": "#CC79A7",
}
K = 4
FLOOR = DEFAULTS["floor"]


def frames_of_example(M: int = 128, seconds: float = 4) -> np.ndarray:
    sound = example()
    return phinmf.to_frames(sound.mixture[: int(seconds * sound.sample_rate)], M)


def divergence(V: np.ndarray, V_hat: np.ndarray) -> float:
    """Itakura–Saito per entry, at unit power and above the floor, in double precision."""
    unit = V.mean(dtype=np.float64)
    return float(ItakuraSaito().value(V / unit, V_hat / unit + FLOOR, FLOOR).mean())


def sklearn_model(V: np.ndarray) -> np.ndarray:
    """WH of scikit-learn's IS-NMF, 200 iterations."""
    model = NMF(K, solver="mu", beta_loss="itakura-saito", max_iter=200, tol=0, init="random",
                random_state=0)  # fmt: skip
    with warnings.catch_warnings(action="ignore"):
        W = model.fit_transform(V + V.dtype.type(1e-10 * V.mean(dtype=np.float64)))
    return W.astype(np.float64) @ model.components_


def scales() -> list[dict[str, Any]]:
    """The same recording at levels from 1e-12 to 1e12; without sparsity, for plain divergences."""
    Y, rows = frames_of_example(), []
    for dtype, exponent in itertools.product(DTYPES, range(-12, 13, 4)):
        there = (10.0**exponent * Y).astype(dtype)
        X = (dct(len(Y)) @ there).astype(np.float64)
        how = {"floor": FLOOR, "random_state": 0, "tol": 0}
        default = phinmf.tl_nmf(there, K, **how)
        binary = np.ldexp(Y.astype(dtype), round(exponent / np.log10(2)))
        bits = phinmf.tl_nmf(binary, K, **how).objective
        how["sparsity"] = 0.0
        learned = phinmf.tl_nmf(there, K, **how)
        how |= {
            "solver": None,
            "method": phinmf.Method(anneal=False, n_iter_nmf=1),
            "max_iter": 200,
        }
        plain = phinmf.tl_nmf(there, K, **how)
        theirs = sklearn_model((X**2).astype(dtype))
        rows.append(
            {
                "dtype": dtype,
                "scale": f"1e{exponent}",
                "default": f"{default.objective / Y.size:.4f}",
                "learned": f"{learned.objective / Y.size:.4f}",
                "power_of_two": repr(bits / Y.size),
                "plain": f"{plain.objective / Y.size:.4f}",
                "sklearn": f"{divergence(X**2, theirs):.4g}",
                "sklearn_power": f"{theirs.sum() / (X**2).sum():.2g}",
            }
        )
    return rows


def draw_scales(rows: list[dict[str, str]]) -> None:
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for ax, dtype in zip(figure.subplots(1, 2, sharey=True), DTYPES, strict=True):
        here = [row for row in rows if row["dtype"] == dtype]
        x = [float(row["scale"]) for row in here]
        for key, label, color, mark in (
            ("sklearn", "scikit-learn, IS-NMF of the DCT", "#D55E00", "s-"),
            ("plain", "phinmf, IS-NMF of the DCT", "#56B4E9", "o-"),
            ("learned", "phinmf, transform learned", "#0072B2", "o-"),
        ):
            y = [float(row[key]) for row in here]
            ax.loglog(x, y, mark, color=color, label=label, ms=4)
        empty = [i for i, row in enumerate(here) if float(row["sklearn_power"]) < 1e-3]
        y_empty = [float(here[i]["sklearn"]) for i in empty]
        ax.loglog(
            [x[i] for i in empty], y_empty, "x", color="black", ms=9, label="a model without power"
        )
        ax.set(title=dtype, xlabel="scale of the recording", xticks=[1e-12, 1e-6, 1, 1e6, 1e12])
        ax.grid(alpha=0.3)
    figure.axes[0].set_ylabel("divergence per entry")
    figure.axes[0].legend(fontsize=7)
    save(figure, "reliability_scale")


def inputs() -> dict[str, tuple[np.ndarray, dict[str, Any]]]:
    """Frames of every kind and problems of unusual shapes, with the options they need."""
    rng = np.random.default_rng(4)
    kinds = {name: (kind(32, 400, rng), {}) for name, kind in sorted(KINDS.items())}
    noise, sound = rng.standard_normal((32, 400)), frames_of_example(32, 1)
    W = rng.random((32, K))
    W[:, 0] = 0
    return kinds | {
        "one frame (N = 1)": (noise[:, :1], {"n_components": 1}),
        "fewer frames than samples": (noise[:, :8], {}),
        "one component": (sound, {"n_components": 1}),
        "K = min(M, N)": (sound, {"n_components": 32}),
        "a dead component": (sound, {"W": W}),
    }


def rise(history: Any, size: int) -> float:
    """Largest rise between outer iterations of equal floor and frames, relative."""
    rises = [
        (after.objective - before.objective) / max(abs(before.objective), size)
        for before, after in itertools.pairwise(history)
        if (before.floor, before.frames) == (after.floor, after.frames)
    ]
    return max(0.0, *rises) if rises else 0.0


def difficult() -> tuple[list[dict[str, Any]], dict[tuple[str, str], Any]]:
    """The default fit of every input; and every solver at a fixed floor, for its history."""
    rows, histories = [], {}
    for (name, (Y, how)), dtype in itertools.product(inputs().items(), DTYPES):
        there, before = Y.astype(dtype), Y.astype(dtype)
        common = {"n_components": K, "tol": 0, "max_iter": 60, "random_state": 0, **how}
        with warnings.catch_warnings(action="error"):
            r, seconds = timed(lambda there=there, how=common: phinmf.tl_nmf(there, **how))
        largest = rise(r.history, Y.size)
        if dtype == "float64":
            short = common | {"max_iter": 25, "method": phinmf.Method(anneal=False)}
            for solver in SOLVERS:
                fixed = phinmf.tl_nmf(there, **short, solver=solver).history
                histories[name, solver] = np.array([fixed.start, *fixed.objective]) / Y.size
                largest = max(largest, rise(fixed, Y.size))
        finite = all(np.isfinite(a).all() for a in (r.Phi, r.W, r.H, r.history.objective))
        rows.append(
            {
                "input": name,
                "dtype": dtype,
                "finite": "yes" if finite else "NO",
                "unchanged": "yes" if np.array_equal(there, before) else "NO",
                "rise": f"{largest:.1g}",
                "start": f"{r.history.start / Y.size:.3f}",
                "end": f"{r.objective / Y.size:.3f}",
                "seconds": f"{seconds:.2f}",
            }
        )
    return rows, histories


def draw_inputs(rows: list[dict[str, str]]) -> None:
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[2, 1])
    names = list(dict.fromkeys(row["input"] for row in rows))
    for (dtype, color), shift in zip(DTYPES.items(), (-0.17, 0.17), strict=True):
        here = [row for row in rows if row["dtype"] == dtype]
        y = np.arange(len(names)) + shift
        start, end = ([float(row[key]) for row in here] for key in ("start", "end"))
        left.hlines(y, end, start, color=color, lw=1, alpha=0.6)
        left.plot(start, y, "o", mfc="white", color=color, ms=5)
        left.plot(end, y, "o", color=color, ms=5, label=dtype)
        right.barh(y, [float(row["seconds"]) for row in here], 0.32, color=color)
    left.set(
        yticks=range(len(names)), yticklabels=names, xlabel="objective per entry: start ○, end ●"
    )
    left.set_xscale("symlog", linthresh=0.1)
    left.set_xlim(0, 40)
    left.invert_yaxis()
    right.set(xlabel="seconds of 60 outer iterations")
    left.legend(fontsize=8, loc="lower left")
    for ax in (left, right):
        ax.grid(alpha=0.3, axis="x")
    save(figure, "reliability_inputs")


def draw_histories(histories: dict[tuple[str, str], Any]) -> None:
    names = list(dict.fromkeys(name for name, _ in histories))
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    for ax, name in zip(figure.subplots(3, 5).ravel(), names, strict=True):
        for solver, color in SOLVERS.items():
            ax.plot(histories[name, solver], color=color, lw=1.2, label=solver)
        ax.set_title(name, fontsize=8)
        ax.tick_params(labelsize=6)
        ax.locator_params(axis="y", nbins=4)
    figure.supxlabel("outer iteration, at one floor and on all frames", fontsize=8)
    figure.supylabel("objective per entry", fontsize=8)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8)
    save(figure, "reliability_history")


def side_by_side() -> tuple[list[dict[str, Any]], list[tuple[Any, Any]]]:
    """Two fits one after the other, and the same two in two threads."""
    Y = frames_of_example()

    def fit(dtype: str) -> Any:
        return phinmf.tl_nmf(Y.astype(dtype), K, random_state=0, max_iter=60, tol=0)

    alone, seconds_alone = timed(lambda: [fit(dtype) for dtype in DTYPES])
    with ThreadPoolExecutor(2) as pool:
        together, seconds_together = timed(lambda: list(pool.map(fit, DTYPES)))
    rows = []
    for dtype, one, other in zip(DTYPES, alone, together, strict=True):
        pairs = [(one.Phi, other.Phi), (one.W, other.W), (one.H, other.H)]
        rows.append(
            {
                "fit": dtype,
                "alone": f"{one.objective / Y.size:.6f}",
                "together": f"{other.objective / Y.size:.6f}",
                "identical": "yes" if all(np.array_equal(a, b) for a, b in pairs) else "NO",
                "seconds_alone": f"{seconds_alone:.2f}",
                "seconds_together": f"{seconds_together:.2f}",
            }
        )
    return rows, list(zip(alone, together, strict=True))


def interrupted() -> list[dict[str, Any]]:
    """The result of a fit that Ctrl-C stops after some iterations."""
    Y, rows = frames_of_example(), []
    for after in (1, 2, 5, 10, 20, 30, 40, 50, 60):

        def callback(state: Any, after: int = after) -> None:
            if state.iteration == after:
                raise KeyboardInterrupt

        r = phinmf.tl_nmf(Y, K, random_state=0, max_iter=60, tol=0, callback=callback)
        rows.append(
            {
                "after": after,
                "start": f"{r.history.start / Y.size:.3f}",
                "objective": f"{r.objective / Y.size:.3f}",
                "converged": "yes" if r.converged else "no",
                "status": r.status.value,
            }
        )
    return rows


def draw_threads_and_interrupts(pairs: list[tuple[Any, Any]], rows: list[dict[str, str]]) -> None:
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    size = frames_of_example().size
    for (dtype, color), (one, other) in zip(DTYPES.items(), pairs, strict=True):
        left.plot(one.history.objective / size, color=color, label=f"{dtype}, alone")
        left.plot(other.history.objective / size, "o", mfc="none", color=color, ms=5,
                  markevery=(2 * (dtype == "float32"), 4), label=f"{dtype}, together")  # fmt: skip
    left.set(xlabel="outer iteration (the floor falls for 40 of them)")
    left.set_ylabel("objective per entry, at its floor")
    after = [int(row["after"]) for row in rows]
    right.plot(after, [float(row["objective"]) for row in rows], "o-", color="#0072B2",
               label="handed back")  # fmt: skip
    right.axhline(float(rows[0]["start"]), color="grey", ls=":", label="start")
    right.set(xlabel="outer iterations before Ctrl-C", ylabel="objective per entry")
    for ax in (left, right):
        ax.legend(fontsize=7)
        ax.grid(alpha=0.3)
    save(figure, "reliability_threads")


def save(figure: Any, name: str) -> None:
    figure.savefig(ROOT / "docs" / "images" / f"{name}.png", dpi=100)


def words(rows: dict[str, list[dict[str, str]]]) -> list[str]:
    """Sentences with numbers in them."""
    said = []
    for dtype in DTYPES:
        here = [row for row in rows["scale"] if row["dtype"] == dtype]
        spread = {}
        for key in ("default", "learned"):
            values = {row["scale"]: float(row[key]) for row in here}
            spread[key] = 100 * max(abs(v / values["1e0"] - 1) for v in values.values())
        theirs = [float(row["sklearn"]) for row in here]
        same = len({row["power_of_two"] for row in here}) == 1
        bits = "are the same to the last bit" if same else "are NOT THE SAME"
        empty = [row["scale"] for row in here if float(row["sklearn_power"]) < 1e-3]
        said.append(
            f"In {dtype} the objective of the default fit at {len(here)} scales is within"
            f" {spread['default']:.2g} % of that at scale 1 ({spread['learned']:.2g} % without"
            f" sparsity), and fits at {len(here)} powers of two over the same range {bits}."
            f" scikit-learn's end between {min(theirs):.4g} and {max(theirs):.4g};"
            f" its model has lost the recording (less than a thousandth of its power) at"
            f" {', '.join(empty) or 'none of them'}."
        )
    inputs = rows["inputs"]
    bad = [row for row in inputs if "NO" in (row["finite"], row["unchanged"])]
    largest = {
        dtype: max(float(row["rise"]) for row in inputs if row["dtype"] == dtype)
        for dtype in DTYPES
    }
    total = sum(float(row["seconds"]) for row in inputs)
    return [
        *said,
        (
            f"{len(inputs)} fits, {len(bad)} of them with a NaN, an infinity or a changed input."
            f" The largest rise at one floor and on one set of frames, relative to the objective or"
            f" to the number of entries, is {largest['float64']:.1g} in float64 and"
            f" {largest['float32']:.1g} in float32. All of them took {total:.1f} s."
        ),
    ]


TABLES: dict[str, dict[str, str]] = {
    "scale": {
        "dtype": "", "scale": "scale", "default": "phinmf, default sparsity",
        "learned": "phinmf, learned", "plain": "phinmf, DCT",
        "sklearn": "scikit-learn, DCT", "sklearn_power": "power of its model / of the recording",
    },
    "inputs": {
        "input": "input", "dtype": "", "finite": "finite", "rise": "largest rise",
        "start": "objective per entry, start", "end": "end", "seconds": "s",
    },
    "threads": {
        "fit": "fit", "alone": "one after the other", "together": "at the same time",
        "identical": "same bits", "seconds_alone": "s, both", "seconds_together": "s, both at once",
    },
    "interrupted": {
        "after": "iterations before Ctrl-C", "start": "start", "objective": "handed back",
        "converged": "converged", "status": "status",
    },
}  # fmt: skip


def main() -> None:
    rows: dict[str, list[dict[str, Any]]] = {"scale": scales()}
    rows["inputs"], histories = difficult()
    rows["threads"], pairs = side_by_side()
    rows["interrupted"] = interrupted()
    for name in TABLES:
        print(write_csv(f"reliability_{name}", rows[name]))
        _, rows[name] = read_csv(f"reliability_{name}")
        print(table(rows[name], TABLES[name]))
    print(*words(rows), machine(), sep="\n\n")
    draw_scales(rows["scale"])
    draw_inputs(rows["inputs"])
    draw_histories(histories)
    draw_threads_and_interrupts(pairs, rows["interrupted"])


if __name__ == "__main__":
    main()
