"""``phinmf env``: versions and devices, for the report of a problem."""

from __future__ import annotations

import argparse
import importlib
import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = (
    "numpy", "scipy", "scikit-learn", "numba", "array-api-compat", "threadpoolctl", "soundfile",
    "soxr", "matplotlib", "pillow", "rich",
)  # fmt: skip
EXTRAS = {
    "torch": "gpu", "dask": "dask", "distributed": "dask", "starlette": "studio",
    "uvicorn": "studio",
}  # fmt: skip


def run(typed: argparse.Namespace) -> int:
    """Print versions, threads and formats."""
    import soundfile
    import threadpoolctl

    import phinmf
    from phinmf.arrays import threads

    print(f"phinmf {phinmf.__version__}, Python {platform.python_version()}, {platform.platform()}")
    for package in PACKAGES:
        print(f"  {package} {installed(package) or 'is missing: run pip install ' + package}")
    for package, extra in EXTRAS.items():
        missing = f'is not installed: run pip install "phinmf[{extra}]"'
        print(f"  {package} {installed(package) or missing}")
    print(f"  libsndfile {soundfile.__libsndfile_version__}")
    blas = [f"{i['internal_api']} {i['version']}" for i in threadpoolctl.threadpool_info()
            if i["user_api"] == "blas"]  # fmt: skip
    print(f"device: CPU, {threads.available()} threads, BLAS: {', '.join(dict.fromkeys(blas))}")
    print(f"device: {', '.join(gpus()) or 'no GPU that PyTorch finds'}")
    formats = ", ".join(sorted(soundfile.available_formats()))
    print(f"formats: {formats}")
    return 0


def gpus() -> list[str]:
    """Return the names of GPUs as `device` takes them, and what they are."""
    if installed("torch") is None:
        return []
    cuda = importlib.import_module("torch").cuda
    number = cuda.device_count() if cuda.is_available() else 0
    return [f"cuda:{i}, {cuda.get_device_name(i)}" for i in range(number)]


def installed(package: str) -> str | None:
    """Return the version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
