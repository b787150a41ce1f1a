"""Cost of an outer iteration against the number of frames and their length."""

from __future__ import annotations

import argparse

import numpy as np
from _common import machine, median, save, write_csv
from matplotlib.figure import Figure

import phinmf


def cost(M: int, N: int, dtype: str) -> dict:
    """Median seconds of an outer iteration at the target floor, on all frames."""
    Y = np.random.default_rng(0).standard_normal((M, N)).astype(dtype)
    h = phinmf.tl_nmf(
        Y, 10, sparsity=150, method=phinmf.Method(anneal=False), max_iter=7, tol=0, random_state=0
    ).history
    seconds, evaluations = np.diff(h.seconds)[1:], np.diff(h.evaluations)[1:]
    row = {
        "M": M,
        "N": N,
        "dtype": dtype,
        "seconds_per_iteration": round(median(seconds), 4),
        "seconds_per_evaluation": round(median(seconds / evaluations), 4),
    }
    print(row, flush=True)
    return row


def draw(rows: list[dict]) -> None:
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    by_N, by_M = figure.subplots(1, 2)
    for dtype, style in (("float64", "o-"), ("float32", "s--")):
        mine = [r for r in rows if r["dtype"] == dtype]
        for ax, key, picked in (
            (by_N, "N", [r for r in mine if r["M"] == 440]),
            (by_M, "M", sorted((r for r in mine if r["N"] == 5418), key=lambda r: r["M"])),
        ):
            sizes, seconds = zip(
                *((r[key], r["seconds_per_iteration"]) for r in picked), strict=True
            )
            ax.loglog(sizes, seconds, style, label=dtype)
            ax.set(xlabel=key, ylabel="seconds per outer iteration")
            ax.minorticks_off()
            ax.set_xticks(sizes, sizes)
    by_N.set_title("M = 440")
    by_M.set_title("N = 5418")
    by_N.legend()
    save(figure, "scaling")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    print(machine())
    cost(64, 512, "float64"), cost(64, 512, "float32")
    rows = [cost(440, 5418 * k, d) for d in ("float64", "float32") for k in (1, 2, 4, 8, 16)]
    rows += [cost(M, 5418, d) for d in ("float64", "float32") for M in (128, 256, 882, 1764)]
    print(write_csv("scaling", rows))
    draw(rows)


if __name__ == "__main__":
    main()
