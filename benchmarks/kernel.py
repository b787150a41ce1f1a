"""One evaluation and the GEMM rate; retraction and NMF step as shares of an evaluation."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import defaultdict

import numpy as np
from _common import DEFAULTS, machine, median, sklearn_nmf, timed, write_csv
from threadpoolctl import threadpool_limits

from phinmf.algorithm.nmf import flat_activations, nmf_step
from phinmf.arrays.levels import levels
from phinmf.divergences import DIVERGENCES, Penalty
from phinmf.engines.compiled.engine import CompiledEngine
from phinmf.fit.data import unit_power
from phinmf.linalg.manifold import Cayley, random_orthogonal, skew

K, PENALTY, EPS = 10, Penalty(150.0), DEFAULTS["floor"]
SIZES = ((256, 10000), (440, 5418), (882, 4000), (1764, 4000))


def measure(M: int, N: int, dtype: type, threads: int, repeats: int) -> dict:
    """Medians over rounds in which every candidate is timed once."""
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((1, M, N)).astype(dtype)
    Y, _ = unit_power(Y, None, levels(Y))
    engine = CompiledEngine(Y, DIVERGENCES["itakura-saito"], threads)
    W = rng.random((M, K)).astype(dtype)
    W /= W.sum(axis=0)
    T = random_orthogonal(M, rng, dtype)
    E = skew(rng.standard_normal((M, M)) * 0.2 / np.sqrt(M)).astype(dtype)
    X, F = np.ascontiguousarray(Y[0]), np.ascontiguousarray(2 * Y[0])
    TX, G = np.empty_like(X), np.empty_like(T)

    def products() -> None:
        """The two products of an evaluation, in the fastest layout for BLAS."""
        np.matmul(T, X, out=TX)
        np.matmul(F, X.T, out=G)

    seconds = defaultdict(list)
    for _ in range(repeats + 1):
        with threadpool_limits(threads):
            products()
            seconds["products"].append(timed(products)[1])
        time.sleep(0.1)  # the threads of BLAS spin for a while after a product
        with engine:
            engine.rotate(T)
            engine.set_activations(flat_activations(engine.powers(), M, K, PENALTY))
            objective = engine.objective(W, EPS)
            for name, work in {
                "evaluation": lambda: objective.evaluate(T),  # noqa: B023
                "bound": objective.bound,
                "retraction": lambda: Cayley.point(E, 1.0, engine.algebra),
                "nmf": lambda: nmf_step(engine, W, PENALTY, EPS, 1.0),
            }.items():
                work()  # threads, caches and pages are warm in a fit
                seconds[name].append(timed(work)[1])
    second = {name: median(values[1:]) for name, values in seconds.items()}
    evaluation = second["evaluation"]
    return {
        "M": M,
        "N": N,
        "dtype": np.dtype(dtype).name,
        "threads": threads,
        "gemm_gflops": round(4e-9 * M * M * N / second["products"], 1),
        "evaluation_ms": round(1e3 * evaluation, 2),
        "evaluation_rate": round(second["products"] / evaluation, 3),
        "bound_share": round(second["bound"] / evaluation, 3),
        "retraction_share": round(second["retraction"] / evaluation, 3),
        "nmf_share": round(second["nmf"] / evaluation, 3),
        "nmf_ms": round(1e3 * second["nmf"], 2),
    }


def nmf_to_sklearn(dtype: type, repeats: int = 5) -> float:
    """One NMF step compared with one iteration of scikit-learn's, for the size of the recording."""
    rng = np.random.default_rng(0)
    M, N = 440, 5418
    Y = rng.standard_normal((1, M, N)).astype(dtype)
    Y, _ = unit_power(Y, None, levels(Y))
    W = np.full((M, K), 1 / M, dtype)
    engine, theirs = CompiledEngine(Y, DIVERGENCES["itakura-saito"], 2), sklearn_nmf(Y[0], K)
    ratios = []
    for _ in range(repeats):
        time.sleep(0.1)
        with engine:
            engine.set_activations(flat_activations(engine.powers(), M, K, PENALTY))
            steps = [timed(lambda: nmf_step(engine, W, PENALTY, EPS, 1.0)) for _ in range(20)]
        ours = median(seconds for _, seconds in steps)
        ratios.append(ours / (timed(theirs)[1] / 200))
    return round(median(ratios), 3)


def peak_memory(dtype: str) -> float:
    """Extra memory of a default fit, in units of the matrix of frames."""
    code = f"""
import tracemalloc, numpy as np, phinmf
Y = np.random.default_rng(0).standard_normal((440, 20000)).astype("{dtype}")
phinmf.tl_nmf(Y[:, :500], 10, max_iter=8, tol=0)
tracemalloc.start()
phinmf.tl_nmf(Y, 10, sparsity=150, max_iter=12, tol=0)
print(tracemalloc.get_traced_memory()[1] / Y.nbytes)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return round(float(done.stdout), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    print(machine())
    rows = []
    for M, N in SIZES:
        for dtype in (np.float64, np.float32):
            for threads in (1, 2):
                rows.append(measure(M, N, dtype, threads, options.repeats if M < 800 else 5))
                print(rows[-1], flush=True)
    for row in rows:
        of_recording = row["M"] == 440 and row["threads"] == 2
        row["nmf_to_sklearn"] = nmf_to_sklearn(np.dtype(row["dtype"]).type) if of_recording else ""
        row["peak_memory"] = peak_memory(row["dtype"]) if of_recording else ""
        if of_recording:
            print(row)
    print(write_csv("kernel", rows))


if __name__ == "__main__":
    main()
