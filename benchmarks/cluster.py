"""Dask with two one-thread worker processes against one, on 16 times the recording's frames.

Both clusters live on this machine and take turns. Seconds are medians over outer iterations. Where
others use the machine, processor time says more: that of the client and of the busiest worker, one
after the other. Bytes are those of all arrays that the client sends and receives.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from typing import NamedTuple

import dask.array as da
import numpy as np
from _common import machine, median, recording, write_csv
from distributed import Client, LocalCluster

import phinmf
from phinmf.engines.remote import cluster as clusters

TIMES = 16
HOW = {"n_components": 10, "sparsity": 150, "anneal": False, "tol": 0, "random_state": 0}


class Counted(clusters.ClusterShards):
    """A cluster that records the bytes that were sent."""

    last: Counted

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        Counted.last = self


def client_of(stack: ExitStack, n_workers: int) -> Client:
    """A client of worker processes with one thread each."""
    how = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    local = stack.enter_context(LocalCluster(n_workers=n_workers, processes=True, **how))
    return stack.enter_context(Client(local, set_as_default=False))


class Measured(NamedTuple):
    """A fit, from the end of its first outer iteration on."""

    result: phinmf.Result
    seconds: list[float]  #: of each outer iteration
    processor: float  #: seconds of an outer iteration if nobody else were there: see `processor`
    evaluation: float  #: bytes of an evaluation, per worker
    everything: float  #: all bytes, per evaluation and worker


def fit(client: Client, Y: da.Array, iterations: int, **how: object) -> Measured:
    """Fit on a cluster, and look at it after each outer iteration."""
    seen, looking = [], 0.0

    def look(state: phinmf.State) -> None:
        nonlocal looking
        begun = time.perf_counter()
        row, bytes_of = state.history[-1], Counted.last.travelled
        workers = max(client.run(time.process_time).values())
        here = time.process_time()
        seconds = row.seconds - looking  # which is no part of the fit
        seen.append((seconds, row.evaluations, bytes_of["at"], bytes_of.total(), workers, here))
        looking += time.perf_counter() - begun

    with client.as_current():
        result = phinmf.tl_nmf(Y, max_iter=iterations, callback=look, **HOW | how)
        w = len(client.nthreads())
    changes = np.diff(np.array(seen), axis=0)
    _, evaluations, at, total, workers, here = changes.sum(axis=0)
    processor = (workers + here) / len(changes)
    return Measured(
        result, list(changes[:, 0]), processor, at / evaluations / w, total / evaluations / w
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=4)
    options = parser.parse_args()
    print(machine())
    clusters.ClusterShards = Counted
    Y = np.tile(recording(), TIMES)
    M, N = Y.shape
    Y *= np.random.default_rng(0).uniform(0.5, 1.5, N)  # no frame is another one
    runs: dict[int, list[Measured]] = {1: [], 2: []}
    with ExitStack() as stack:
        clients = {n: client_of(stack, n) for n in runs}
        here = {n: scattered(client, Y) for n, client in clients.items()}
        for n, client in clients.items():
            fit(client, here[n], 2)  # compile
        for _ in range(options.repeats):
            for n, client in clients.items():
                runs[n].append(fit(client, here[n], options.iterations))
                print(n, runs[n][-1][1:], flush=True)
    first, second = (runs[n][-1] for n in (1, 2))
    same = all(
        np.array_equal(getattr(first.result, a), getattr(second.result, a))
        for a in ("Phi", "W", "H")
    )
    seconds = {n: [s for run in runs[n] for s in run.seconds] for n in runs}
    one, two = (median(seconds[n]) for n in (1, 2))
    cpu = [median(run.processor for run in runs[n]) for n in (1, 2)]
    matrix = M * M * Y.itemsize
    rows = [
        (f"one worker, s per outer iteration (M = {M}, N = {N}, {Y.dtype})", f"{one:.2f}", ""),
        ("two workers, s per outer iteration", f"{two:.2f}", ""),
        ("two workers are faster by", f"{one / two:.2f}", "≥ 1.7"),
        ("the same, quickest iterations", f"{min(seconds[1]) / min(seconds[2]):.2f}", ""),
        ("the same by processor time: client and busiest worker", f"{cpu[0] / cpu[1]:.2f}", ""),
        ("an evaluation sends, M×M matrices per worker",
         f"{second.evaluation / matrix:.2f}", "≤ 3"),
        ("the same with all else, the activations' copies included",
         f"{second.everything / matrix:.2f}", ""),
        ("one and two workers: same bits", "yes" if same else "no", "yes"),
    ]  # fmt: skip
    named = [dict(zip(("what", "value", "asked"), row, strict=True)) for row in rows]
    for row in named:
        print(row)
    print(write_csv("cluster", named))


def scattered(client: Client, Y: np.ndarray) -> da.Array:
    """Frames that the workers hold, a recording in a chunk."""
    n = Y.shape[1] // TIMES
    pieces = [client.scatter(Y[:, i * n : (i + 1) * n]) for i in range(TIMES)]
    chunks = [da.from_delayed(piece, (len(Y), n), Y.dtype) for piece in pieces]
    return da.concatenate(chunks, axis=1)


if __name__ == "__main__":
    main()
