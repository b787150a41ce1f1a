"""Clusters of one-thread worker processes on this machine, and what passes their client.

Clusters live on this machine and take turns. Seconds are medians over outer iterations. Where there
are fewer cores than workers, or others use the machine, processor time says more: that of the
client and of the busiest worker, one after the other. Frames are those of the paper's recording,
several times, or noise where there is no recording.

To compare with another version, run this file with that version in PYTHONPATH and name it:
--version before. Its rows are kept beside the others.
"""

from __future__ import annotations

import argparse
import csv
from contextlib import ExitStack

import dask.array as da
import numpy as np
from _cluster_runs import Measured, client_of, count, fit
from _common import RESULTS, data_folder, machine, median, recording, write_csv
from distributed import Client

import phinmf

TIMES = 16, 4  #: how often the recording, for one worker and two and for all numbers of workers
#: runs for each number of workers, without and with a tree of messages
Runs = dict[tuple[int, bool], list[Measured]]


def frames(times: int) -> np.ndarray:
    """Frames of a recording, so many times, none of them equal to another."""
    rng = np.random.default_rng(0)
    if data_folder() is None:
        once = rng.standard_normal((440, 5418)) * np.geomspace(1, 0.01, 440)[:, None]
    else:
        once = recording()
    Y = np.tile(once, times)
    return Y * rng.uniform(0.5, 1.5, Y.shape[1])


def scattered(client: Client, Y: np.ndarray, pieces: int = 16) -> da.Array:
    """Frames that the workers hold, in chunks."""
    parts = [client.scatter(part) for part in np.array_split(Y, pieces, axis=1)]
    widths = [part.shape[1] for part in np.array_split(Y, pieces, axis=1)]
    chunks = [
        da.from_delayed(part, (len(Y), n), Y.dtype)
        for part, n in zip(parts, widths, strict=True)
    ]  # fmt: skip
    return da.concatenate(chunks, axis=1)


def row(version: str, workers: int, tree: bool, runs: list[Measured], matrix: int) -> dict:
    """What was measured for a number of workers; bytes in units of an M×M matrix."""
    return {
        "version": version,
        "workers": workers,
        "messages go": "along a tree" if tree else "to each worker",
        "messages": f"{median(run.messages for run in runs):.2f}",
        "through_client": f"{median(run.through_client for run in runs) / matrix:.2f}",
        "everywhere": f"{median(run.everywhere for run in runs) / matrix:.2f}",
        "client": f"{median(run.client for run in runs):.3f}",
        "busiest": f"{median(run.busiest for run in runs):.3f}",
        "seconds": f"{median(s for run in runs for s in run.seconds):.3f}",
    }


def before(version: str) -> list[dict]:
    """Rows that other versions have left; their times only if they are of this machine."""
    path = RESULTS / "cluster_client.csv"
    if not path.exists():
        return []
    with path.open() as file:
        here = file.readline().startswith(f"# {machine()};")
        rows = [row for row in csv.DictReader(file) if row["version"] != version]
    elsewhere = {} if here else dict.fromkeys(("client", "busiest", "seconds"), "")
    return [row | elsewhere for row in rows]


def same_bits(results: list[phinmf.Result]) -> bool:
    """Whether all results are equal."""
    return all(
        np.array_equal(getattr(result, name), getattr(results[0], name))
        for result in results
        for name in ("Phi", "W", "H")
    )


def summary(few: Runs, many: Runs, what: str, matrix: int) -> list[dict]:
    """Two workers against one, with no others beside them, and the same bits for all."""
    one, two = few[1, False], few[2, False]
    seconds = [[s for run in some for s in run.seconds] for some in (one, two)]
    processor = [median(run.processor for run in some) for some in (one, two)]
    same = all(same_bits([run.result for some in runs.values() for run in some])
               for runs in (few, many))  # fmt: skip
    clock, quickest = (f(seconds[0]) / f(seconds[1]) for f in (median, min))
    sent = median(run.through_client for run in two) / 2 / matrix
    rows = [
        (f"one worker, s per outer iteration ({what})", f"{median(seconds[0]):.2f}", ""),
        ("two workers, s per outer iteration", f"{median(seconds[1]):.2f}", ""),
        ("two workers are faster by", f"{clock:.2f}", "≥ 1.7"),
        ("the same, quickest iterations", f"{quickest:.2f}", ""),
        ("the same by processor time: client and busiest worker",
         f"{processor[0] / processor[1]:.2f}", ""),
        ("all that is sent, M×M matrices per evaluation and worker", f"{sent:.2f}", "≤ 3"),
        (f"{', '.join(str(n) for n in sorted({n for n, _ in many}))} workers, with and without a"
         " tree: same bits", "yes" if same else "no", "yes"),
    ]  # fmt: skip
    return [dict(zip(("what", "value", "asked"), row, strict=True)) for row in rows]


def measure(workers: list[int], Y: np.ndarray, repeats: int, iterations: int, trees: bool) -> Runs:
    """Fit on clusters of so many workers in turn, with and without trees of messages."""
    ways = [(n, tree) for n in workers for tree in (False, True)[: 1 + (trees and n > 1)]]
    runs: Runs = {way: [] for way in ways}
    with ExitStack() as stack:
        clients = {n: stack.enter_context(client_of(n)) for n in workers}
        here = {n: scattered(client, Y) for n, client in clients.items()}
        for n, client in clients.items():
            fit(client, here[n], 2, False)  # compile
        for _ in range(repeats):
            for n, tree in ways:
                runs[n, tree].append(fit(clients[n], here[n], iterations, tree))
                print(n, tree, runs[n, tree][-1][1:], flush=True)
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--version", default="now")
    options = parser.parse_args()
    print(machine())
    count()
    long, short = map(frames, TIMES)
    (M, N), matrix = long.shape, len(long) ** 2 * long.itemsize
    now = options.version == "now"  # other versions have no trees
    few = measure([1, 2], long, options.repeats, options.iterations, trees=False) if now else {}
    runs = measure(options.workers, short, 1, options.iterations, trees=now)
    rows = [row(options.version, n, tree, some, matrix) for (n, tree), some in runs.items()]
    for one in rows:
        print(one)
    print(write_csv("cluster_client", before(options.version) + rows))
    if now:
        named = summary(few, runs, f"M = {M}, N = {N}, {long.dtype}", matrix)
        for one in named:
            print(one)
        print(write_csv("cluster", named))


if __name__ == "__main__":
    main()
