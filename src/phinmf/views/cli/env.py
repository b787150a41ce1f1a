"""``phinmf env``: what a report of a problem should contain."""

from __future__ import annotations

import argparse
import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = (
    "numpy", "scipy", "scikit-learn", "numba", "threadpoolctl", "soundfile", "matplotlib", "rich",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(options: argparse.Namespace) -> int:
    """Print versions, threads and formats."""
    import soundfile
    import threadpoolctl

    import phinmf
    from phinmf import threads

    print(f"phinmf {phinmf.__version__}, Python {platform.python_version()}, {platform.platform()}")
    for package in PACKAGES:
        print(f"  {package} {installed(package) or 'is missing: pip install ' + package}")
    print(f"  libsndfile {soundfile.__libsndfile_version__}")
    blas = [f"{i['internal_api']} {i['version']}" for i in threadpoolctl.threadpool_info()
            if i["user_api"] == "blas"]  # fmt: skip
    print(f"device: CPU, {threads.available()} threads, BLAS: {', '.join(dict.fromkeys(blas))}")
    formats = ", ".join(sorted(soundfile.available_formats()))
    print(f"formats: {formats}")
    return 0


def installed(package: str) -> str | None:
    """The version, if there is one."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
