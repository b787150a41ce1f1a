"""What smooth activations look like, what they cost in time, and that the objective never rises."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from _common import interleaved, machine, median, recording, save, write_csv

import phinmf
from phinmf.audio.example import example

WEIGHTS = (0.0, 1.0, 10.0, 100.0)
K, WINDOW = 8, 640  # components; samples, 40 ms
COLOR = "#0072b2"


def fit(Y: np.ndarray, smoothness: float, **how: Any) -> phinmf.Result:
    options = {"sparsity": 1.0, "random_state": 0, "max_iter": 60, "tol": 0.0} | how
    return phinmf.tl_nmf(Y, K, smoothness=smoothness, **options)


def change(H: np.ndarray) -> float:
    """Median of the change of an activation from one frame to the next, in dB."""
    return float(np.median(np.abs(10 * np.log10(H[:, 1:] / H[:, :-1]))))


def rises(r: phinmf.Result) -> int:
    """Outer iterations that raised the objective by more than rounding."""
    cost = np.array([r.history.start, *r.history.objective])
    return int((np.diff(cost) > 1e-9 * np.abs(cost[1:])).sum())


def draw(Y: np.ndarray, fits: dict[float, phinmf.Result]) -> None:
    """The activations of the strongest component for each weight."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    rows = figure.subplots(len(fits), 1, sharex=True)
    seconds = np.arange(Y.shape[1]) * 0.02
    for ax, (weight, r) in zip(rows, fits.items(), strict=True):
        loudest = int(np.argmax(r.H.sum(axis=1)))
        level = 10 * np.log10(r.H[loudest] / r.H[loudest].max())
        ax.plot(seconds, level, color=COLOR, lw=1)
        ax.set(ylim=(-62, 5), title=f"smoothness {weight:g}", yticks=[-60, -30, 0])
        ax.title.set_fontsize(9)
        ax.spines[["right", "top"]].set_visible(False)
    rows[-1].set_xlabel("seconds")
    figure.supylabel("activation of the strongest component, dB", fontsize=9)
    save(figure, "smoothness")


def price(Y: np.ndarray) -> float:
    """Time of a hundred NMF steps with smooth activations, as a multiple of that without."""

    def steps(smoothness: float) -> Any:
        how = {"solver": None, "method": phinmf.Method(anneal=False, n_iter_nmf=3), "max_iter": 33}
        return lambda: fit(Y, smoothness, **how)

    taken = interleaved({"without": steps(0.0), "with": steps(10.0)}, 5)
    return median(taken["with"]) / median(taken["without"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    print(machine())
    Y = phinmf.to_frames(sum(example().stems.values()), WINDOW)
    fits = {w: fit(Y, w) for w in WEIGHTS}
    fixed = {w: fit(Y, w, solver=None, method=phinmf.Method(anneal=False)) for w in WEIGHTS}
    draw(Y, fits)
    ratio = price(recording())
    rows = []
    for weight, r in fits.items():
        rows.append({
            "smoothness": f"{weight:g}",
            "divergence per entry": f"{r.divergence / Y.size:.4f}",
            "change between frames, dB": f"{change(r.H):.2f}",
            "rises of the objective": rises(fixed[weight]),
            "time of NMF / without": f"{ratio:.2f}" if weight else "1",
        })  # fmt: skip
        print(rows[-1])
    write_csv("smoothness", rows)


if __name__ == "__main__":
    main()
