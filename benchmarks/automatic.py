"""How many components? Two rules on data whose number is known, and none of which tuned a rule.

The rules: `n_components="auto"`, and `rank_path`, one split of the frames. The data: sums of gamma
factors in the known transform, components that sound a quarter of the time and noise in an unknown
one, gated tones in a learned one, and synthesised music in the DCT: plucked strings, struck bars,
the built-in example.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from _common import commit, write_csv
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.analysis import rank_path
from phinmf.audio.example import SAMPLE_RATE, example, pluck, strike
from phinmf.linalg.manifold import random_orthogonal

COLUMNS = ("kind", "M", "N", "K", "rule", "number", "seconds")
FIRST = 42_000  # seed; no rule was chosen with data of these seeds
RATE, M_TONES, M_MUSIC = 4000, 64, 256
SIZES = list(product((0.3, 0.5, 1.0), ((32, 500), (32, 4000), (96, 2000))))[:7]  # shape, M and N
MOST = 12  # components that `rank_path` tries


class Case(NamedTuple):
    """Frames (M, N) of a number of components."""

    kind: str
    Y: np.ndarray
    K: int
    how: dict[str, Any]


def gamma_factors() -> Iterator[Case]:
    """V = WH with gamma entries of one shape: the larger it is, the more alike are components."""
    seed = FIRST
    for shape, (M, N) in SIZES:
        for K in (2, 3, 4, 6, 9):
            seed += 1
            rng = np.random.default_rng(seed)
            W, H = rng.gamma(shape, size=(M, K)), rng.gamma(shape, size=(K, N))
            how = {"init": np.eye(M), "solver": None, "divergence": "gaussian", "sparsity": 0.0}
            X = rng.standard_normal((M, N)) * np.sqrt(W @ H)
            yield Case(f"gamma factors, shape {shape:g}, M = {M}", X, K, how)


def quarter() -> Iterator[Case]:
    """Components that sound a quarter of the time, white noise, an unknown transform."""
    for i, K in enumerate((2, 5, 10, 7)):
        rng = np.random.default_rng(FIRST + 500 + i)
        W, H = rng.exponential(size=(64, K)) ** 3, rng.exponential(size=(K, 1500))
        V = W @ (H * (rng.random(H.shape) < 0.25))
        X = rng.standard_normal(V.shape) * np.sqrt(V + V.mean() / 10 ** rng.uniform(1, 4))
        how = {"init": "klt", "divergence": "gaussian", "sparsity": 0.0}
        yield Case("a quarter of the time", random_orthogonal(64, rng).T @ X, K, how)


def gated_tones() -> Iterator[Case]:
    """Tones of one to four partials that go on and off every quarter of a second; faint noise."""
    for i, (K, partials) in enumerate([(2, 1), (3, 4), (5, 1), (2, 4), (4, 1)]):
        rng = np.random.default_rng(FIRST + 1000 + i)
        t = np.arange(8 * RATE) / RATE
        y = 0.003 * rng.standard_normal(len(t))
        for pitch in rng.choice(24, K, replace=False):
            on = np.repeat(rng.random(32) < 0.4, RATE // 4)
            for h in range(1, partials + 1):
                phase = rng.uniform(0, 2 * np.pi)
                y += on * np.sin(2 * np.pi * 110 * 2 ** (pitch / 12) * h * t + phase) / h
        yield Case("gated tones", phinmf.to_frames(y, M_TONES), K, {})


def music() -> Iterator[Case]:
    """Notes of strings or bars at random times, each of several pitches; the built-in example."""
    how = {"solver": None}
    for i, K in enumerate((2, 3, 6, 8, 4, 5)):
        rng, y = np.random.default_rng(FIRST + 2000 + i), np.zeros(10 * SAMPLE_RATE)
        for pitch in rng.choice(24, K, replace=False):
            frequency = 165 * 2 ** (pitch / 12)
            for start in rng.choice(9 * SAMPLE_RATE, 8, replace=False):
                note = pluck(frequency, 0.8, rng) if i % 2 else strike(frequency, 0.8)
                y[start : start + len(note)] += rng.uniform(0.5, 1) * note
        kind = "plucked strings" if i % 2 else "struck bars"
        yield Case(f"{kind}, pitches", phinmf.to_frames(y, M_MUSIC), K, how)
    yield Case("built-in example, stems", phinmf.to_frames(example().mixture, M_MUSIC), 3, how)


RULES: dict[str, Callable[[Case], int]] = {
    "auto": lambda c: phinmf.tl_nmf(c.Y, "auto", random_state=0, **c.how).W.shape[1],
    "rank_path": lambda c: rank_path(c.Y, range(1, MOST + 1), random_state=0, **c.how).best,
}


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    commit()  # of the code that is measured, not of the moment when it ends
    rows, kinds = [], defaultdict(list)
    for make in (gated_tones, music, quarter, gamma_factors):
        for case in make():
            for rule, ask in RULES.items():
                start, number = time.process_time(), ask(case)
                seconds = round(time.process_time() - start, 2)
                values = (case.kind, *case.Y.shape, case.K, rule, number, seconds)
                rows.append(dict(zip(COLUMNS, values, strict=True)))
                kinds[case.kind, rule].append((number - case.K, seconds))
            print(*(row["number"] for row in rows[-len(RULES) :]), f"of {case.K}", flush=True)
    write_csv("automatic", rows)
    print("data | rule | right | off by one | mean error | CPU seconds")
    for (kind, rule), results in kinds.items():
        error, seconds = np.array(results).T
        right, near = f"{(error == 0).sum()} of {len(error)}", (abs(error) == 1).sum()
        print(kind, rule, right, near, round(error.mean(), 1), np.median(seconds), sep=" | ")


if __name__ == "__main__":
    main()
