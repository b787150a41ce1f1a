"""The fit of frames that were not learned from: a grid search on synthetic frames, the recording.

The grid searches are over numbers of components and over sparsities of frames that were made with
known components; the score of `TLNMF` is drawn beside minus the divergence of the held-out frames,
whose maximum is at the most components and the least sparsity. Of the recording half of the frames
are held out, in stretches.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import ROOT, machine, recording, write_csv
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import phinmf
from phinmf.analysis import held_out, split_frames
from phinmf.linalg.manifold import random_orthogonal

FIGURE = ROOT / "docs" / "images" / "held_out.png"
COLOURS = {"score": "#D55E00", "divergence": "#0072B2"}
SEEDS = range(5)


@dataclass(frozen=True)
class Search:
    """A grid search on frames with known components."""

    name: str
    grid: dict[str, list[Any]]
    components: int  #: in the frames
    active: int  #: of them in each frame
    how: dict[str, Any]  #: parameters of the estimator

    @property
    def parameter(self) -> str:
        """The parameter that is searched."""
        return next(iter(self.grid))

    def frames(self, seed: int, M: int = 64, N: int = 1000) -> np.ndarray:
        """Return frames (N, M) of Gaussian coefficients, in an unknown transform if it is learned.

        The signal-to-noise ratio is 30 dB.
        """
        rng = np.random.default_rng(seed)
        W = rng.exponential(size=(M, self.components)) ** 3
        on = rng.random((self.components, N)).argsort(axis=0) < self.active
        H = rng.exponential(size=(self.components, N)) * on
        V = W / W.sum(axis=0) @ (M * H)
        X = rng.standard_normal((M, N)) * np.sqrt(V + 1e-3 * V.mean())
        learned = self.how.get("solver", "lbfgs") is not None
        return (random_orthogonal(M, rng).T @ X if learned else X).T

    def run(self, seed: int) -> dict[str, np.ndarray]:
        """Return the mean scores over two splits, the new one and minus the divergence."""
        X = self.frames(seed)
        cv = [split_frames(len(X), 0.3, gap=0, random_state=s) for s in range(2)]
        model = phinmf.TLNMF(random_state=0, **self.how)
        scoring = {
            "score": lambda model, X, y=None: model.score(X),
            "divergence": lambda model, X, y=None: -held_out(model, X.T).divergence,
        }
        found = GridSearchCV(model, self.grid, cv=cv, scoring=scoring, refit=False).fit(X)
        return {name: found.cv_results_[f"mean_test_{name}"] for name in scoring}


SEARCHES = [
    Search(
        "4 components, unknown transform", {"n_components": [1, 2, 3, 4, 5, 6, 7, 8]}, 4, 2,
        {"divergence": "gaussian", "n_init": 2, "max_iter": 60},
    ),
    Search(
        "2 of 12 components in each frame",
        {"sparsity": [0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0]}, 12, 2,
        {"n_components": 12, "solver": None, "method": phinmf.Method(anneal=False),
         "init": np.eye(64), "divergence": "gaussian"},
    ),
]  # fmt: skip


def searches() -> None:
    """Run the grid searches, and write and draw their scores."""
    rows = []
    for search in SEARCHES:
        for seed in SEEDS:
            for measure, scores in search.run(seed).items():
                rows += [
                    {"search": search.name, "seed": seed, "measure": measure,
                     "value": f"{value:g}", "score": f"{score:.4f}"}
                    for value, score in zip(search.grid[search.parameter], scores, strict=True)
                ]  # fmt: skip
        print(search.name, "searched", flush=True)
    write_csv("held_out_search", rows)
    draw(rows)


def draw(rows: list[dict[str, Any]]) -> None:
    """Draw the scores of the grid searches, a line for each, and mark the maximum."""
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.subplots(2, len(SEARCHES), sharex="col")
    for column, search in enumerate(SEARCHES):
        for ax, measure in zip(axes[:, column], COLOURS, strict=True):
            for seed in SEEDS:
                asked = search.name, str(seed), measure
                line = [r for r in rows if (r["search"], str(r["seed"]), r["measure"]) == asked]
                scores = [float(row["score"]) for row in line]
                ax.plot([row["value"] for row in line], scores, color=COLOURS[measure], lw=1)
                best = int(np.argmax(scores))
                ax.plot(line[best]["value"], scores[best], "o", color=COLOURS[measure], ms=5)
            ax.spines[["right", "top"]].set_visible(False)
        axes[0, column].set_title(search.name, fontsize=10)
        axes[1, column].set_xlabel(search.parameter)
    axes[0, 0].set_ylabel("TLNMF.score")
    axes[1, 0].set_ylabel("minus the divergence")
    figure.savefig(FIGURE, dpi=120)


@dataclass(frozen=True)
class Setting:
    """How half of the frames of the recording are learned from."""

    K: int = 10
    sparsity: float = 10.0
    divergence: str = "itakura-saito"
    start: str = "dct"
    learned: bool = True  #: or the DCT

    def evaluated(self, Y: np.ndarray) -> dict[str, str]:
        """Learn from one half of the frames and evaluate the other."""
        learn, out = split_frames(Y.shape[1])
        result = phinmf.tl_nmf(
            Y[:, learn], self.K, sparsity=self.sparsity, divergence=self.divergence,
            init=self.start, solver="lbfgs" if self.learned else None, random_state=0,
        )  # fmt: skip
        found = held_out(result, Y[:, out])
        return {
            "K": str(self.K),
            "sparsity": f"{self.sparsity:g}",
            "transform": f"{self.divergence}, {self.start} start" if self.learned else "DCT",
            "train_objective": f"{result.objective / Y[:, learn].size:.3f}",
            "held_out_objective": f"{found.objective:.3f}",
            "nll": f"{found.nll:.3f}",
        }


def of_recording() -> None:
    """Compare starts, sparsities and numbers of components with the DCT on the recording."""
    Y = recording()
    settings = []
    for sparsity in (0.0, 10.0, 150.0):
        settings += [Setting(sparsity=sparsity, learned=False)]
        settings += [Setting(sparsity=sparsity, start=start) for start in ("dct", "random", "klt")]
        settings += [Setting(sparsity=sparsity, divergence="gaussian")]
    for K in (2, 5, 20, 40):
        settings += [Setting(K, learned=False), Setting(K), Setting(K, divergence="gaussian")]
    rows = []
    for setting in settings:
        rows.append(setting.evaluated(Y))
        print(rows[-1], flush=True)
    write_csv("held_out", rows)


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(machine())
    searches()
    of_recording()


if __name__ == "__main__":
    main()
