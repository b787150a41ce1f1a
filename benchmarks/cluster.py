"""Two worker processes of a Dask cluster against one, interleaved, each with one thread.

A run is a fit to all frames; its outer iterations are timed, without the first one, which sends the
frames. All workers share the processors of this machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise

import numpy as np
from _common import machine, median, write_csv
from distributed import Client, LocalCluster

import phinmf

COMPONENTS = 10


@contextmanager
def client_of(n_workers: int) -> Iterator[Client]:
    """A client of worker processes with one thread each."""
    how = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with (
        LocalCluster(n_workers=n_workers, processes=True, **how) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(n_workers, timeout=120)
        yield client


def seconds_per_iteration(
    client: Client, Y: np.ndarray, iterations: int
) -> tuple[list[float], phinmf.Result]:
    """Return the seconds of each outer iteration of a fit, and its result."""
    times: list[float] = []
    with client.as_current():
        result = phinmf.tl_nmf(
            Y, COMPONENTS, engine="dask", method=phinmf.Method(anneal=False), max_iter=iterations,
            tol=0, random_state=0, callback=lambda state: times.append(time.perf_counter()),
        )  # fmt: skip
    return [b - a for a, b in pairwise(times)], result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=40_000)
    parser.add_argument("--samples", type=int, default=440)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=6)
    options = parser.parse_args()
    print(machine())
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((options.samples, options.frames))
    Y *= np.geomspace(1, 0.01, options.samples)[:, None] * rng.uniform(0.5, 1.5, options.frames)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    results = []
    with ExitStack() as stack:
        clients = {n: stack.enter_context(client_of(n)) for n in seconds}
        for client in clients.values():
            seconds_per_iteration(client, Y, 2)  # compile
        for _ in range(options.repeats):
            for n, client in clients.items():
                times, result = seconds_per_iteration(client, Y, options.iterations)
                seconds[n] += times
                results.append(result)
    same = all(np.array_equal(result.Phi, results[0].Phi) for result in results)
    one, two = (median(times) for times in seconds.values())
    what = f"M = {options.samples}, N = {options.frames}, {Y.dtype}"
    rows = [
        {"what": f"one worker, s per outer iteration ({what})", "value": f"{one:.2f}", "goal": ""},
        {"what": "two workers, s per outer iteration", "value": f"{two:.2f}", "goal": ""},
        {"what": "two workers are faster by", "value": f"{one / two:.2f}", "goal": "≥ 1.6"},
        {"what": "same bits", "value": "yes" if same else "no", "goal": "yes"},
    ]
    for row in rows:
        print(row)
    print(write_csv("cluster", rows))


if __name__ == "__main__":
    main()
