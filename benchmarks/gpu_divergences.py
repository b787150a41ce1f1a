"""Every divergence that has kernels, on a GPU: the kernels beside plain PyTorch.

Needs a CUDA device. Parts are medians by device events over recorded work, the kernels and the
plain functions in turns; fits are medians by the clock of the host, after a first one.
"""

from __future__ import annotations

import functools
from typing import Any
from unittest import mock

import numpy as np
from _common import median, recording, timed, write_csv
from gpu import Drawn, K, device_ms, torch, triton

import phinmf
from phinmf.divergences import COMPILED, DIVERGENCES, Divergence, Family
from phinmf.tensors import operations, trial_run, workspace

M, N, REPEATS, SEEDS = 440, 5418, 50, (0, 0, 1, 2)  #: the first fit compiles and records


def parts(family: Family, dtype: torch.dtype) -> dict[str, float]:
    """Milliseconds of an evaluation and of an NMF step, by the kernels and by plain PyTorch."""
    drawn = Drawn(1, M, N, K, dtype, family)
    fused, plain = drawn.batch.ops, operations.plain()

    def using(functions: operations.Operations, work: Any) -> None:
        drawn.batch.ops = functions
        work()

    works = {"evaluation": drawn.evaluation, "nmf": drawn.batch.nmf_step}
    ms = {}
    for name, work in works.items():
        candidates = {
            f"{name}_ms": functools.partial(using, fused, work),
            f"{name}_plain_ms": functools.partial(using, plain, work),
        }
        ms |= device_ms(candidates, REPEATS)
    return {name: round(value, 4) for name, value in ms.items()}


def fits(Y: np.ndarray, divergence: Divergence, dtype: torch.dtype) -> dict[str, float]:
    """Seconds of a default fit and its objective; the number of outer iterations."""
    frames = torch.as_tensor(Y, dtype=dtype, device="cuda")
    results, seconds = [], []
    workspace.clear()
    for seed in SEEDS:
        torch.cuda.synchronize()
        how = {"divergence": divergence, "random_state": seed}
        result, clock = timed(functools.partial(phinmf.tl_nmf, frames, K, **how))
        results.append(result)
        seconds.append(clock)
    workspace.clear()
    return {
        "fit_s": round(median(seconds[1:]), 4),
        "outer_iterations": median(r.n_iter for r in results[1:]),
        "objective": round(float(np.mean([r.objective for r in results[1:]])) / Y.size, 4),
    }


def main() -> None:
    if not torch.cuda.is_available():
        print("There is no CUDA device: nothing to measure.")
        return
    device = f"{torch.cuda.get_device_name()}; torch {torch.__version__}, triton"
    device += f" {triton.__version__}"
    Y, rows = recording(), []
    names = {d: name for name, d in DIVERGENCES.items()}
    for family, divergence in COMPILED.items():
        for dtype in (torch.float64, torch.float32):
            row: dict[str, Any] = {
                "divergence": names.get(divergence, repr(divergence)),
                "dtype": str(dtype).removeprefix("torch."),
            }
            row |= parts(family, dtype)
            row |= fits(Y, divergence, dtype)
            with mock.patch.object(trial_run, "best", return_value=operations.plain()):
                plain = fits(Y, divergence, dtype)
            row |= {"fit_plain_s": plain["fit_s"], "objective_plain": plain["objective"]}
            rows.append(row)
            print(row, flush=True)
    write_csv("gpu_divergences", rows, device)


if __name__ == "__main__":
    main()
