"""Shared by the benchmarks: data, a description of the machine, interleaved timing, CSV files."""

from __future__ import annotations

import csv
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import phinmf
from phinmf.arrays.threads import available

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"

#: The recordings, which are not part of the project, and where each of them is.
RECORDING, NOTES = "armstrong.wav", "two_notes_sim1.mat"
SOURCES = {
    RECORDING: "It is in the folder datasets of the authors' repository,"
    " https://github.com/pierreablin/tlnmf: copy it into data/, or set PHINMF_DATA to its folder.",
    NOTES: "It comes with the code of Zhang, Soubies and Févotte (2020):"
    " copy it into data/, or set PHINMF_DATA to its folder.",
}


class Piece(NamedTuple):
    """A mixture is the sum of its stems."""

    kind: str
    name: str
    stems: dict[str, np.ndarray]  #: each (n,) or (n, channels)
    rate: int

    def cut(self, seconds: float) -> Piece:
        """The first seconds of it."""
        n = round(seconds * self.rate)
        return self._replace(stems={name: y[:n] for name, y in self.stems.items()})


def data_folder(name: str = RECORDING) -> Path | None:
    """Folder of the recordings, $PHINMF_DATA or data/, if it has a file of this name."""
    folder = Path(os.environ.get("PHINMF_DATA", ROOT / "data"))
    return folder if (folder / name).is_file() else None


def samples() -> tuple[np.ndarray, int]:
    """Samples of the paper's recording and their rate; a script ends if it is missing."""
    folder = data_folder()
    if folder is None:
        print(f"{RECORDING} is missing. {SOURCES[RECORDING]}")
        raise SystemExit(0)
    import soundfile  # not needed by all benchmarks

    y, rate = soundfile.read(folder / RECORDING)
    return y, rate


def recording() -> np.ndarray:
    """Frames of the paper's recording: (440, 5418)."""
    return phinmf.to_frames(samples()[0], 440)


def machine() -> str:
    """The processor and the versions of the main packages, in one line."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    packages = " ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    cores = "1 core" if available() == 1 else f"{available()} cores"
    return (
        f"{model}, {cores}; Python {platform.python_version()}, {packages},"
        f" numba {version('numba')}, phinmf {phinmf.__version__}"
    )


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of some work and its seconds."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def interleaved(
    candidates: Mapping[str, Callable[[], Any]], repeats: int
) -> dict[str, list[float]]:
    """Seconds of each candidate, timed in turns so that a noisy machine affects all equally."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for work in candidates.values():
        work()  # compile, load, warm up
    for _ in range(repeats):
        for name, work in candidates.items():
            seconds[name].append(timed(work)[1])
    return seconds


def median(values: Iterable[float]) -> float:
    """Return the median."""
    return statistics.median(values)


@cache
def commit() -> str:
    """The commit of the code; "+" if files had changed since when a script first asked."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=7", "--exclude=*", "--dirty=+"]
    done = subprocess.run(git, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def write_csv(
    name: str, rows: list[dict[str, Any]], note: str = "", folder: Path = RESULTS
) -> Path:
    """Write rows; the first line has the note (the device), machine, versions and commit."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.csv"
    with path.open("w", newline="") as file:
        file.write(f"# {note and note + '; '}{machine()}; commit {commit()}\n")
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def read_csv(name: str) -> tuple[str, list[dict[str, str]]]:
    """Return the first line of a result without its "#", and the rows."""
    with (RESULTS / f"{name}.csv").open() as file:
        return file.readline().removeprefix("# ").strip(), list(csv.DictReader(file))


def table(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """Return a table in Markdown for a page; `columns` gives the heading of each key."""
    lines = ["| " + " | ".join(columns.values()) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(row[key]) for key in columns) + " |" for row in rows]
    return "\n".join(lines)


def sklearn_nmf(Y: np.ndarray, K: int) -> Callable[[], Any]:
    """scikit-learn's IS-NMF, 200 iterations, on the DCT spectrogram of the frames."""
    import warnings

    from sklearn.decomposition import NMF

    V = np.ascontiguousarray((phinmf.linalg.manifold.dct(len(Y), Y.dtype) @ Y) ** 2)
    V += V.dtype.type(1e-10 * V.mean())

    def work() -> Any:
        model = NMF(
            K, solver="mu", beta_loss="itakura-saito", max_iter=200, tol=0, init="random",
            random_state=0,
        )  # fmt: skip
        with warnings.catch_warnings(action="ignore"):
            return model.fit_transform(V)

    return work


def save(figure: Any, name: str) -> None:
    """Write a figure beside the CSV, with the machine in its margin."""
    figure.get_layout_engine().set(rect=(0, 0.03, 1, 0.97))
    figure.text(0.995, 0.003, machine(), ha="right", va="bottom", fontsize=5, color="grey")
    figure.savefig(RESULTS / f"{name}.png", dpi=130)
