"""Frames that stream through a GPU, compared with frames that are all on it.

Seconds of an outer iteration (three NMF steps, two transform steps, all frames, the target floor)
in single precision with K = 10: a batch with all frames on the GPU, a resident shard, and streamed
shards with a limit on the memory that frames may use. The metric of L-BFGS is computed in every
third of them, so means are over three, after a first one. The limits of what can be reached are
the batch, and the time that the link needs for the bytes that travel. Needs a CUDA device and, for
the largest case, 100 GB of memory; takes about four minutes.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import machine, median, write_csv

import phinmf

try:
    import torch
except ImportError:
    print("PyTorch is not installed: nothing is measured.")
    raise SystemExit(0) from None

from phinmf.algorithm.alternate import alternate
from phinmf.algorithm.annealing import Schedule
from phinmf.algorithm.group import Restart
from phinmf.algorithm.model import Iterate, Model
from phinmf.algorithm.nmf import flat_activations
from phinmf.algorithm.options import Options
from phinmf.algorithm.single import Single
from phinmf.arrays import room_for_frames
from phinmf.arrays.threads import available
from phinmf.divergences import DIVERGENCES
from phinmf.engines.blocked.engine import BlockedEngine
from phinmf.engines.device import memory
from phinmf.engines.device.streamed import StreamedShard
from phinmf.linalg.manifold import dct
from phinmf.penalties import Sparse
from phinmf.solvers import LBFGS

K, FLOOR, SPARSITY, RATE = 10, 1e-8, 150.0, 44100
GB = 1e9
OPTIONS = Options(
    solver=LBFGS(), anneal=None, penalty=Sparse(SPARSITY), floor=FLOOR, tol=0.0, max_iter=0
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """Outer iterations of one way to hold the frames."""

    seconds: float  #: of an outer iteration, the mean of all but the first
    to_device: float = 0.0  #: bytes of an outer iteration
    to_host: float = 0.0
    kept: float = 0.0  #: share of the pieces that stay on the GPU
    setup: float = 0.0  #: seconds to make the shard, and until the first iteration has ended


def tones(M: int, n: int) -> np.ndarray:
    """Frames (n, M) of decaying tones and a little noise."""
    rng, t = np.random.default_rng(0), np.arange((n - 1) * (M // 2)) / RATE
    y = 1e-3 * rng.standard_normal(len(t))
    for start in np.arange(0, t[-1], 0.25):
        pitch, length = 55 * 2 ** (rng.integers(0, 48) / 12), int(1.5 * RATE)
        first = int(start * RATE)
        some = t[first : first + length] - start
        y[first : first + length] += np.exp(-4 * some) * sum(
            np.sin(2 * np.pi * h * pitch * some) / h for h in range(1, 6)
        )
    frames = np.asarray(phinmf.to_frames(y, M)).reshape(M, -1).T
    return frames / np.sqrt(np.square(frames).mean())


def many_frames(M: int, N: int) -> np.ndarray:
    """Frames (1, M, N) in single precision, contiguous: the same tones again and again, louder."""
    base = np.ascontiguousarray(tones(M, 4096), dtype=np.float32)
    Y = room_for_frames((1, N, M), np.float32)
    gains = np.random.default_rng(1).uniform(0.7, 1.3, N).astype(np.float32)

    def fill(first: int) -> None:
        some = slice(first, min(first + len(base), N))
        np.multiply(base[: some.stop - first], gains[some, None], out=Y[0, some])

    with ThreadPoolExecutor(available()) as pool:
        list(pool.map(fill, range(0, N, len(base))))
    return Y.transpose(0, 2, 1)


@contextmanager
def limited(size: float | None) -> Iterator[None]:
    """Let frames use so much memory of the GPU."""
    before = os.environ.pop(memory.VARIABLE, None)
    if size is not None:
        os.environ[memory.VARIABLE] = str(int(size))
    yield
    os.environ.pop(memory.VARIABLE, None)
    if before is not None:
        os.environ[memory.VARIABLE] = before


def start_of(M: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Φ and W at the start."""
    W = np.random.default_rng(0).exponential(size=(M, K)).astype(np.float32)
    return dct(M, np.float32), W / W.sum(axis=0)


def in_shards(
    Y: np.ndarray, iterations: int, limit: float | None, device: str,
    around: Callable[[Callable[[], Any]], Any] | None = None,
) -> Run:  # fmt: skip
    """Run outer iterations with a shard on the GPU; `around` may profile the last ones."""
    M = Y.shape[1]
    begun = time.perf_counter()
    moved: list[tuple[int, int]] = []
    with limited(limit):
        engine = BlockedEngine(Y, DIVERGENCES["itakura-saito"], device=device)
    shard = engine.shards.shard  # type: ignore[attr-defined]
    flow = shard.flow if isinstance(shard, StreamedShard) else None

    def note(state: phinmf.State) -> None:
        moved.append((0, 0) if flow is None else (flow.to_device, flow.to_host))

    options = OPTIONS.__class__(**vars(OPTIONS) | {"max_iter": iterations})
    schedule = Schedule(None, FLOOR, Y.shape, iterations, None, False, None, None, 0.0)
    with engine:
        H = flat_activations(engine.powers(), M, K, options.penalty)
        restart = Restart(Iterate(*start_of(M), H), np.random.default_rng(0), note)
        group = Single(Model(engine, options.penalty), options)

        def work() -> Any:
            return alternate(group, [restart], options, schedule)[0]

        outcome = work() if around is None else around(work)
    seconds = float(np.diff(outcome.history.seconds).mean())
    steps = np.diff(np.array(moved, float), axis=0).mean(axis=0)
    setup = time.perf_counter() - begun - float(outcome.history.seconds[-1])
    kept = 0.0 if flow is None else len(flow.keeps) / len(flow.shapes)
    return Run(seconds, float(steps[0]), float(steps[1]), kept, setup)


def in_batch(Y: np.ndarray, iterations: int, device: str) -> Run:
    """Run outer iterations with all frames on the GPU, as `tl_nmf` does with a tensor."""
    frames = torch.as_tensor(Y, device=device)
    Phi, W = start_of(Y.shape[1])
    result = phinmf.tl_nmf(
        frames, K, init=Phi, W=W, sparsity=SPARSITY, floor=FLOOR, anneal=False, tol=0,
        max_iter=iterations, random_state=0,
    )  # fmt: skip
    return Run(float(np.diff(result.history.seconds).mean()))


def link(device: str) -> dict[str, float]:
    """Bytes per second from page-locked memory to the GPU, alone and with copies back."""
    size, times = 2**28, 20
    host, back = (torch.empty(size, dtype=torch.uint8, pin_memory=True) for _ in range(2))
    there, other = (torch.empty(size, dtype=torch.uint8, device=device) for _ in range(2))
    streams = torch.cuda.Stream(), torch.cuda.Stream()

    def seconds(both: bool) -> float:
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(times):
            with torch.cuda.stream(streams[0]):
                there.copy_(host, non_blocking=True)
            if both:
                with torch.cuda.stream(streams[1]):
                    back.copy_(other, non_blocking=True)
        torch.cuda.synchronize()
        return time.perf_counter() - begun

    seconds(True)
    found = {"alone": [], "both": []}  # type: dict[str, list[float]]
    for _ in range(3):
        for name in found:
            found[name].append(times * size / seconds(name == "both"))
    return {name: median(values) for name, values in found.items()}


def compared(
    runs: dict[str, list[Run]], M: int, N: int, rate: float, limits: dict[str, float | None],
    known: list[dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """One row for each way to hold the frames.

    If there is no batch among them, it is compared with one of the same M in rows that are known:
    an outer iteration takes as long for each frame, however many there are.
    """
    middle = {row["way"]: row["outer_s"] * N / row["N"] for row in known or () if row["M"] == M} | {
        name: median(run.seconds for run in some) for name, some in runs.items()
    }
    rows = []
    for name, some in runs.items():
        seconds, last, limit = middle[name], some[-1], limits.get(name)
        travel, batch = last.to_device / rate, middle["batch"]
        rows.append(
            {
                "way": name,
                "M": M,
                "N": N,
                "frames_GB": round(4 * M * N / GB, 2),
                "limit_GB": "" if limit is None else round(limit / GB, 2),
                "kept": round(last.kept, 2),
                "setup_s": round(last.setup, 1),
                "outer_s": round(seconds, 4),
                "to_device_GB": round(last.to_device / GB, 2),
                "to_host_GB": round(last.to_host / GB, 2),
                "link_s": round(travel, 4),
                "of_link": ratio(travel, seconds) if travel else "",
                "of_resident": ratio(middle["resident shard"], seconds),
                "of_batch": ratio(batch, seconds),
                "batch": "measured" if "batch" in runs else "extrapolated by the frames",
                "lower_limit": "link" if travel > batch else "batch",
                "of_lower_limit": ratio(max(batch, travel), seconds),
            }
        )
        print(rows[-1], flush=True)
    return rows


def ratio(best: float, seconds: float) -> float:
    """Return the share of a throughput that was reached."""
    return round(best / seconds, 3)


def ways(
    M: int, N: int, iterations: int, repeats: int, rate: float, device: str
) -> list[dict[str, Any]]:
    """Compare the ways to hold frames that all fit, taken in turns."""
    Y = many_frames(M, N)
    size = float(Y.nbytes)
    limits = {"streamed, a quarter": size / 4, "streamed, all kept": 2 * size}
    runs: dict[str, list[Run]] = {name: [] for name in ("batch", "resident shard", *limits)}
    for _ in range(repeats):
        for name in runs:
            if name == "batch":
                runs[name].append(in_batch(Y, iterations, device))
            else:
                runs[name].append(in_shards(Y, iterations, limits.get(name), device))
    return compared(runs, M, N, rate, dict(limits))


def larger_than_the_gpu(
    M: int, N: int, iterations: int, rate: float, device: str, known: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Frames whose batch would need more memory than the GPU has, once with each limit."""
    Y = many_frames(M, N)
    limits = {"default limit": None, "streamed, a quarter": Y.nbytes / 4}
    runs = {name: [in_shards(Y, iterations, limit, device)] for name, limit in limits.items()}
    return compared(runs, M, N, rate, limits, known)


def parts(M: int, N: int, device: str) -> list[dict[str, Any]]:
    """Where the time of a streamed outer iteration goes, by the profiler of PyTorch."""
    Y = many_frames(M, N)
    rows = []
    for name, limit in (("resident shard", None), ("streamed, a quarter", Y.nbytes / 4)):
        events: list[Any] = []

        def profiled(work: Callable[[], Any], events: list[Any] = events) -> Any:
            with torch.profiler.profile(
                activities=list(torch.profiler.supported_activities())
            ) as p:
                found = work()
            events.extend(p.key_averages())
            return found

        iterations = 4
        run = in_shards(Y, iterations, limit, device, profiled)
        share: dict[str, float] = dict.fromkeys(
            ("products", "copies in", "copies out", "others"), 0.0
        )
        for event in events:
            # kernels and copies, not the functions that launch them
            if event.device_type == torch.autograd.DeviceType.CUDA:
                share[kind_of_kernel(event.key)] += event.self_device_time_total / 1e6
        row = {"way": name, "M": M, "N": N, "outer_s": round(run.seconds, 4)}
        row |= {f"{kind}_s": round(s / (iterations + 1), 4) for kind, s in share.items()}
        rows.append(row)
        print(row, flush=True)
    return rows


def kind_of_kernel(name: str) -> str:
    """Return which part of the work a kernel or a copy belongs to."""
    if "HtoD" in name:
        return "copies in"
    if "DtoH" in name:
        return "copies out"
    return "products" if "gemm" in name.lower() or "cutlass" in name.lower() else "others"


def workers(M: int, N: int, device: str) -> list[dict[str, Any]]:
    """One worker process on the GPU against two that share it."""
    import dask.array as da
    from distributed import Client, LocalCluster

    base = tones(M, 4096).T.astype(np.float32)
    Y = da.concatenate([da.from_array(base * g) for g in np.linspace(0.7, 1.3, N // 4096)], axis=1)
    rows = []
    for n in (1, 2):
        how = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
        with LocalCluster(n_workers=n, processes=True, **how) as local, Client(local):
            result = phinmf.tl_nmf(
                Y, K, sparsity=SPARSITY, floor=FLOOR, anneal=False, tol=0, max_iter=7,
                random_state=0, device=device,
            )  # fmt: skip
        seconds = float(median(np.diff(result.history.seconds)))
        rows.append({"workers": n, "M": M, "N": Y.shape[1], "outer_s": round(seconds, 4)})
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames-gb", type=float, default=8.0, help="of the cases that fit")
    parser.add_argument("--large-gb", type=float, default=40.0, help="of the one that does not")
    parser.add_argument("--lengths", type=int, nargs=2, default=[440, 1764], metavar="M")
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    on_gpu = given.device.startswith("cuda")
    if on_gpu and not torch.cuda.is_available():
        print("There is no CUDA device: nothing to measure.")
        return
    began = time.perf_counter()
    name = torch.cuda.get_device_name() if on_gpu else "a processor"
    described = f"{name}; torch {torch.__version__}"
    print(described, machine())
    rates = link(given.device) if on_gpu else {"alone": 5e10, "both": 5e10}
    print({way: f"{rate / GB:.1f} GB/s" for way, rate in rates.items()})
    rate, save = rates["alone"], write_csv if on_gpu else lambda *_: None
    save(
        "gpu_stream_link",
        [{"copies": way, "GB_per_s": round(r / GB, 1)} for way, r in rates.items()],
        described,
    )

    def number(M: int, size: float) -> int:
        return int(size * GB / 4 / M)

    rows = []
    short, long = given.lengths
    for M in given.lengths:
        N = number(M, given.frames_gb)
        rows += ways(M, N, given.iterations, given.repeats, rate, given.device)
        save("gpu_stream", rows, described)
    save("gpu_stream_parts", parts(long, number(long, given.frames_gb), given.device), described)
    print(f"{time.perf_counter() - began:.0f} s so far", flush=True)
    device = "cuda" if on_gpu else given.device
    save(
        "gpu_stream_workers", workers(short, number(short, given.frames_gb / 10), device), described
    )
    print(f"{time.perf_counter() - began:.0f} s so far", flush=True)
    large = larger_than_the_gpu(long, number(long, given.large_gb), 4, rate, given.device, rows)
    save("gpu_stream", rows + large, described)
    print(f"{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
