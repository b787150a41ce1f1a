"""Cost of an outer iteration on a cluster: measured, fitted and extrapolated.

    seconds = a M²NC/w + b MKNC/w + c M³ + d hM² + e

w workers of one thread: evaluations, NMF updates, the client's own M×M algebra, the matrices that
are packed and unpacked one after the other, and what is always there. They make h steps: w if the
client sends to each worker, 1 + log₂ w along a tree, where the client sends one message and the
first worker log₂ w. The constants are fitted to the processor time of the client and of the busiest
worker, for up to eight worker processes here, in single precision, as sound is fitted;
docs/measurements/scaling.md says what is assumed beyond them.
"""

from __future__ import annotations

import argparse
import csv
import math
from contextlib import ExitStack

import dask.array as da
import numpy as np
from _cluster_runs import client_of, count, fit
from _common import RESULTS, machine, median, write_csv
from scipy.optimize import nnls

K = 10
SIZES = [(440, 5418 * k) for k in (1, 2, 4, 8, 16)] + [(M, 5418) for M in (128, 256, 882, 2048)]
SOME_SIZES = [(440, 5418), (440, 5418 * 4), (256, 5418), (882, 5418), (2048, 5418)]
#: numbers of workers, whether messages take a tree, and sizes
WAYS = [(1, False, SIZES), (2, False, SIZES)]
WAYS += [(w, tree, SOME_SIZES) for w in (4, 8) for tree in (False, True)]
TERMS = {
    "a": ("evaluations, per M²NC/w", lambda M, N, w, h: M * M * N / w),
    "b": ("NMF updates, per MKNC/w", lambda M, N, w, h: M * K * N / w),
    "c": ("algebra of the client, per M³", lambda M, N, w, h: float(M) ** 3),
    "d": ("packing what travels, per hM²", lambda M, N, w, h: h * M * M),
    "e": ("the rest", lambda M, N, w, h: 1.0),
}
COPY_EVERY = 22  #: outer iterations between two copies of the activations: MOST_CALLS / 9
BYTES = 2 * 4  #: per evaluation and worker, in units of M²: T there and G back, single precision
EVALUATIONS = 3  #: of an outer iteration: one at its start, one for each of two steps


def steps(w: int, tree: bool) -> int:
    """Return how many matrices are packed one after the other, for each that all workers get."""
    return 1 + math.ceil(math.log2(w)) if tree else w


def features(M: int, N: int, w: int, tree: bool) -> list[float]:
    return [float(term(M, N, w, steps(w, tree))) for _, term in TERMS.values()]


def measure(iterations: int) -> list[dict]:
    """Processor time of an outer iteration: that of the client and of the busiest worker.

    It would not change if others used the machine, nor if there were a core for each worker. The
    time by the clock stands beside it.
    """
    rows = []
    with ExitStack() as stack:
        clients = {w: stack.enter_context(client_of(w)) for w in {w for w, _, _ in WAYS}}
        for client in clients.values():
            few = da.random.default_rng(0).random((64, 2048), chunks=(-1, 512))
            fit(client, few.astype(np.float32), 2, False)
        for M, N in SIZES:
            rng = da.random.default_rng(0)
            Y = rng.standard_normal((M, N), chunks=(-1, 2048)).astype(np.float32)
            for w, tree, sizes in WAYS:
                if (M, N) in sizes:
                    found = fit(clients[w], Y, iterations, tree)
                    rows.append({"workers": w, "tree": "yes" if tree else "", "M": M, "N": N})
                    rows[-1]["seconds"] = round(median(found.seconds), 4)
                    rows[-1]["processor"] = round(found.processor, 4)
                    print(rows[-1], flush=True)
    return rows


def fitted(rows: list[dict]) -> np.ndarray:
    """Constants ≥ 0 of minimum relative error."""
    A = np.array([features(r["M"], r["N"], r["workers"], bool(r["tree"])) for r in rows])
    y = np.array([r["processor"] for r in rows])
    scale = A.max(axis=0)
    found, _ = nnls(A / y[:, None] / scale, np.ones(len(y)))
    return found / scale


def forecast(constants: np.ndarray) -> list[dict]:
    """1,000 hours of 44.1 kHz stereo, M = 1764, on clusters that were not measured."""
    M, C, hours = 1764, 2, 1000
    N = hours * 3600 * 44_100 // (M // 2)  # but for one frame of each recording
    a, b, c, d, e = constants
    cores, share, link, copies = 32, 0.7, 1.25e9, 3
    work = (a * M * M + b * M * K) * N * C
    algebra = c * float(M) ** 3 / 8
    rows = []

    def travels(w: int, tree: bool = True) -> float:
        """Seconds that the network needs for matrices, and for copies of the activations."""
        matrices = EVALUATIONS * BYTES * M * M * steps(w, tree)
        return (matrices + 4 * K * N / COPY_EVERY) / link

    def row(name: str, compute: float, w: int, tree: bool) -> dict:
        travel = travels(w, tree)
        packing = d * steps(w, tree) * M * M
        parts = {"frames": compute, "algebra": algebra, "packing": packing, "network": travel}
        parts["rest"] = e
        total = sum(parts.values())
        memory = copies * 4 * M * C * N / w
        return {
            "cluster": name,
            **{f"{key}_s": f"{value:.3g}" for key, value in parts.items()},
            "iteration_s": f"{total:.3g}",
            "hours_for_40": f"{40 * total / 3600:.2g}",
            "bottleneck": max(parts, key=parts.get),
            "memory_per_worker": f"{memory / 1e9:.0f} GB",
        }

    for tree in (False, True):
        how = "along a tree of workers" if tree else "the client sends to each"
        compute = work / (64 * cores * share)
        rows.append(row(f"64 CPU nodes of {cores} cores, {how}", compute, 64, tree))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--again", action="store_true", help="fit what was measured before")
    options = parser.parse_args()
    print(machine())
    count()
    if options.again:
        with (RESULTS / "scaling_model.csv").open() as file:
            file.readline()
            kinds = {"workers": int, "tree": str, "M": int, "N": int, "seconds": float}
            kinds["processor"] = float
            rows = [{k: kind(r[k]) for k, kind in kinds.items()} for r in csv.DictReader(file)]
    else:
        rows = measure(options.iterations)
    constants = fitted(rows)
    for r in rows:
        model = np.dot(constants, features(r["M"], r["N"], r["workers"], bool(r["tree"])))
        r |= {"model": f"{model:.3g}", "model_to_measured": f"{model / r['processor']:.2f}"}
    write_csv("scaling_model", rows)
    write_csv("scaling_fit", [
        {"constant": name, "of": what, "value": f"{value:.3g}"}
        for (name, (what, _)), value in zip(TERMS.items(), constants, strict=True)
    ])  # fmt: skip
    print(write_csv("scaling_forecast", forecast(constants)))


if __name__ == "__main__":
    main()
