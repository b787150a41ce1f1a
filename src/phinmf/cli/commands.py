"""The small commands: ``phinmf demo``, ``report``, ``export`` and ``env``."""

from __future__ import annotations

import argparse
import importlib
import platform
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import soundfile
import threadpoolctl

import phinmf
from phinmf.arrays import threads
from phinmf.audio import ArraySource
from phinmf.audio.example import example
from phinmf.cli.progress import progress_of
from phinmf.cli.terminal import shown
from phinmf.report.folder import write_report
from phinmf.unmix_file import unmix_file
from phinmf.unmixing.export import Kind
from phinmf.unmixing.export import export as export_folder
from phinmf.unmixing.listing import PAGE
from phinmf.unmixing.null_test import adds_up
from phinmf.unmixing.options import Output, Request, UnmixOptions

PACKAGES = (
    "numpy", "scipy", "scikit-learn", "numba", "array-api-compat", "threadpoolctl", "soundfile",
    "soxr", "matplotlib", "pillow", "rich", "torch", "dask", "distributed", "starlette", "uvicorn",
)  # fmt: skip


def demo(typed: argparse.Namespace) -> int:
    """Unmix the built-in example; print how exactly the files add up, and what to listen to."""
    sound, folder = example(), typed.output / "example"
    y = np.rint(sound.mixture * 2**23) / 2**23  # as a file of 24 bits holds it
    request = Request(
        ArraySource(y[:, None], sound.sample_rate),
        Output(folder, "WAV", "PCM_24", overwrite=True),
        UnmixOptions(typed.components, seed=0, max_time=typed.max_time),
    )
    stems, seconds = ", ".join(sound.stems), len(y) / sound.sample_rate
    print(f"The built-in example: {stems}; {seconds:g} s, synthesised", flush=True)
    with progress_of("example", quiet=False) as bar:
        record = unmix_file(request, bar.stops, bar)
    print(f"The null test: the files were read again, and {adds_up(record)}.")
    print(f"Listen: {shown(folder / 'report.html')}")
    print(
        "Play a component alone: one is a drum, another a note of the string. Leave one out, or"
        " compare the sum of all with the original."
    )
    return 0


def report(typed: argparse.Namespace) -> int:
    """Write report.html into the folder and print its path."""
    write_report(typed.folder)
    print(shown(typed.folder / PAGE))
    return 0


def export(typed: argparse.Namespace) -> int:
    """Write the folder and say what is in it."""
    if typed.mix and typed.without:
        typed.refuse("--mix and --without do not go together: choose one of them")
    kind: Kind = "mix" if typed.mix else "groups"
    exported = export_folder(typed.folder, typed.output, kind, without=typed.without)
    for file in exported.files:
        print(shown(file))
    print(f"{shown(typed.output)}: {shown(exported.message)}")
    return 0


def env(typed: argparse.Namespace) -> int:
    """Print versions, threads and formats, for the report of a problem."""
    print(f"phinmf {phinmf.__version__}, Python {platform.python_version()}, {platform.platform()}")
    for package in PACKAGES:
        print(f"  {package} {installed(package) or 'is missing'}")
    print(f"  libsndfile {soundfile.__libsndfile_version__}")
    blas = [f"{i['internal_api']} {i['version']}" for i in threadpoolctl.threadpool_info()
            if i["user_api"] == "blas"]  # fmt: skip
    print(f"device: CPU, {threads.available()} threads, BLAS: {', '.join(dict.fromkeys(blas))}")
    gpus = "no GPU that PyTorch finds"
    if installed("torch") is not None:
        cuda = importlib.import_module("torch").cuda
        names = [f"cuda:{i}, {cuda.get_device_name(i)}" for i in range(cuda.device_count())]
        gpus = ", ".join(names) or gpus
    print(f"device: {gpus}")
    print(f"formats: {', '.join(sorted(soundfile.available_formats()))}")
    return 0


def installed(package: str) -> str | None:
    """Return the version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
