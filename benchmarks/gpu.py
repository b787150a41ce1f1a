"""The fit on a GPU: parts compared with their matrix products, times, restarts, comparisons.

Needs a CUDA device. Times are medians by device events over recorded work, candidates in turns;
fits are timed by the clock of the host, from the call to its return, after a first one.
"""

from __future__ import annotations

import argparse
import functools
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import DEFAULTS, recording, timed, write_csv

import phinmf

try:
    import torch
    import triton
except ImportError:
    print("PyTorch and Triton are not installed: nothing is measured.")
    raise SystemExit(0) from None

from phinmf.algorithm.model import Iterate
from phinmf.divergences import Family
from phinmf.penalties import Sparse
from phinmf.tensors import trial_run, workspace
from phinmf.tensors.batch import Batch
from phinmf.tensors.exponential import SQUARINGS, exponential
from phinmf.tensors.layout import Layout

K, EPS, MU = 10, DEFAULTS["floor"], 150.0


def device_ms(candidates: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median milliseconds of each candidate, recorded as a graph and replayed in turns."""
    graphs = {}
    for name, work in candidates.items():
        work()
        torch.cuda.synchronize()
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            work()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(repeats + 3):
        for name, graph in graphs.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            seconds[name].append(start.elapsed_time(end))
    return {name: statistics.median(values[3:]) for name, values in seconds.items()}


class Drawn:
    """A batch of random numbers, with a direction E."""

    def __init__(self, B: int, M: int, N: int, K: int, dtype: torch.dtype, family: Family) -> None:
        self.dtype, self.device = dtype, torch.device("cuda")
        self.generator = torch.Generator(self.device).manual_seed(0)
        layout = Layout(
            (B, 1, M, N, K), dtype, self.device, True, True, family, 1.0, "exact", 5
        )  # fmt: skip
        batch, normal = Batch(layout), self.normal
        batch.set(Sparse(MU), EPS, None)
        batch.load(0, normal(1, M, N), torch.ones(N, dtype=torch.float64))
        Phi = torch.linalg.qr(normal(M, M).double())[0]
        none = normal(K, 0)
        batch.go_to([Iterate(Phi, normal(M, K).abs(), none) for _ in range(B)], EPS)
        batch.begin()
        E = normal(B, M, M) * (0.3 / M**0.5)
        batch.E.copy_(E - E.mT)
        batch.eta.fill_(1)
        self.batch = batch
        self.T, _ = exponential(batch.E, SQUARINGS[0], batch.ops.combinations)

    def normal(self, *shape: int) -> torch.Tensor:
        """Normal numbers on the device."""
        return torch.randn(*shape, dtype=self.dtype, device=self.device, generator=self.generator)

    def evaluation(self) -> None:
        """Rotate X; loss, slope and gradient."""
        batch = self.batch
        torch.matmul(self.T[:, None], batch.X, out=batch.X_trial)
        batch.gradient(batch.X_trial, batch.WH, batch.weights, batch.F, batch.G_trial)


def pieces(B: int, M: int, N: int, K: int, dtype: torch.dtype, repeats: int) -> dict[str, Any]:
    """One evaluation, NMF step and retraction of B restarts, compared with the two products."""
    drawn = Drawn(B, M, N, K, dtype, Family.ITAKURA_SAITO)
    batch, normal, first = drawn.batch, drawn.normal, SQUARINGS[0]
    N_aligned = batch.shape[3]  # the fastest layout for the library
    A, X, F = normal(B, M, M), normal(B, M, N_aligned), normal(B, M, N_aligned)
    TX, G = torch.empty_like(X), torch.empty_like(A)

    def products() -> None:
        torch.matmul(drawn.T, X, out=TX)
        torch.matmul(F, X.mT, out=G)

    def outer_iteration() -> None:
        """Work on all frames: three NMF steps, two transform steps, the metric."""
        for _ in range(3):
            batch.nmf_step()
        batch.begin()
        batch.measure_curvature()
        for _ in range(2):
            batch.aim()
            batch.trial(first)
            batch.accept()
        batch.summarise()

    ms = device_ms(
        {
            "products": products,
            "evaluation": drawn.evaluation,
            "nmf": batch.nmf_step,
            "retraction": lambda: exponential(batch.E, first, batch.ops.combinations),
            "outer": outer_iteration,
        },
        repeats,
    )
    flops = 4.0 * B * M * M * N_aligned
    outer_flops = 3.5 * flops  # half an evaluation at X, two trials, two products of the metric
    return {
        "restarts": B,
        "M": M,
        "N": N,
        "K": K,
        "dtype": str(dtype).removeprefix("torch."),
        "gemm_tflops": round(flops / ms["products"] / 1e9, 1),
        "products_ms": round(ms["products"], 4),
        "evaluation_ms": round(ms["evaluation"], 4),
        "evaluation_rate": round(ms["products"] / ms["evaluation"], 3),
        "nmf_ms": round(ms["nmf"], 4),
        "retraction_ms": round(ms["retraction"], 4),
        "outer_ms": round(ms["outer"], 3),
        "outer_rate": round(outer_flops / ms["outer"] / (flops / ms["products"]), 3),
    }


def fits(Y: np.ndarray, dtype: torch.dtype, seeds: range) -> list[dict[str, Any]]:
    """Time to an objective from random starts, warm, frames on the device."""
    frames = torch.as_tensor(Y, dtype=dtype, device="cuda")
    rows = []
    for seed in (0, *seeds):  # the first one compiles and records
        torch.cuda.synchronize()
        how = {"sparsity": MU, "init": "random", "random_state": seed}
        result, seconds = timed(functools.partial(phinmf.tl_nmf, frames, K, **how))
        per_entry = result.history.target_objective / Y.size
        reached = (result.history.seconds[per_entry <= goal] for goal in (10.57, 8.90))
        times = [seconds.min(initial=np.inf) for seconds in reached]
        rows.append(
            {
                "dtype": str(dtype).removeprefix("torch."),
                "seed": seed if rows else f"{seed}, first of its kind",
                "objective": round(result.objective / Y.size, 3),
                "to_10.57_s": round(float(times[0]), 4),
                "to_8.90_s": round(float(times[1]), 4),
                "run_s": round(float(result.history.seconds[-1]), 4),
                "call_s": round(seconds, 4),
                "outer_iterations": result.n_iter,
                "evaluations": int(result.history.evaluations[-1]),
            }
        )
    return rows


def restarts(Y: np.ndarray, numbers: tuple[int, ...], gemm_tflops: float) -> list[dict[str, Any]]:
    """Restarts in one batch, float64; their evaluations and the rate of batched products."""
    frames = torch.as_tensor(Y.T.copy(), device="cuda")
    rows = []
    for n in numbers:
        seconds = []
        for seed in (0, 0, 1, 2):
            model = phinmf.TLNMF(
                K, sparsity=MU, init="random", n_init=n, random_state=seed, device="cuda"
            )
            torch.cuda.synchronize()
            seconds.append(timed(functools.partial(model.fit, frames))[1])
        history = model.history_
        made = np.diff(history.evaluations, prepend=0)
        flops = 4 * n * len(Y) ** 2 * float((made * history.frames).sum())
        middle = statistics.median(seconds[1:])
        rows.append(
            {
                "restarts": n,
                "fit_s": round(middle, 3),
                "restarts_per_s": round(n / middle, 1),
                "best": round(float(model.objectives_.min()) / Y.size, 3),
                "worst": round(float(model.objectives_.max()) / Y.size, 3),
                "fit_rate": round(flops / middle / 1e12 / gemm_tflops, 3),
            }
        )
        print(rows[-1], flush=True)
    return rows


def comparisons(Y: np.ndarray, repeats: int = 7) -> list[dict[str, Any]]:
    """The first fit of a process with and without the comparison of its compiled kernels."""
    rows = []
    for n_components in (K, 24):
        for dtype in (torch.float64, torch.float32):
            frames = torch.as_tensor(Y, dtype=dtype, device="cuda")
            how = {"sparsity": MU, "init": "random", "random_state": 0}
            fit = functools.partial(phinmf.tl_nmf, frames, n_components, **how)
            fit()
            seconds: dict[str, list[float]] = {"with": [], "without": []}
            for _ in range(repeats):
                for name, times in seconds.items():
                    workspace.clear()
                    if name == "with":
                        trial_run._trusted.clear()
                    torch.cuda.synchronize()
                    times.append(timed(fit)[1])
            middle = {name: statistics.median(times) for name, times in seconds.items()}
            rows.append(
                {
                    "dtype": str(dtype).removeprefix("torch."),
                    "K": n_components,
                    "kinds": len(trial_run._trusted),
                    "with_s": round(middle["with"], 4),
                    "without_s": round(middle["without"], 4),
                    "comparison_ms": round(1000 * (middle["with"] - middle["without"]), 1),
                }
            )
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=50)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("There is no CUDA device: nothing to measure.")
        return
    name = torch.cuda.get_device_name()
    device = f"{name}; torch {torch.__version__}, triton {triton.__version__}"
    print(device)
    rows = []
    for B, M, N, n_components, dtype in (
        (1, 440, 5418, K, torch.float64),
        (1, 440, 5418, K, torch.float32),
        (1, 440, 5418, 24, torch.float64),
        (1, 440, 5418, 24, torch.float32),
        (32, 440, 5418, K, torch.float64),
        (32, 440, 5418, K, torch.float32),
        (32, 440, 5418, 24, torch.float64),
        (1, 1024, 50_000, K, torch.float32),
        (1, 2048, 100_000, K, torch.float32),
        (1, 2048, 100_000, K, torch.float64),
    ):
        rows.append(pieces(B, M, N, n_components, dtype, arguments.repeats if M == 440 else 5))
        print(rows[-1], flush=True)
    write_csv("gpu_pieces", rows, device)
    Y = recording()
    runs = fits(Y, torch.float64, range(6)) + fits(Y, torch.float32, range(3))
    for row in runs:
        print(row)
    write_csv("gpu_fits", runs, device)
    write_csv("gpu_comparisons", comparisons(Y), device)
    batched = next(row for row in rows if row["restarts"] == 32)["gemm_tflops"]
    write_csv("gpu_restarts", restarts(Y, (1, 8, 32, 64), batched), device)


if __name__ == "__main__":
    main()
