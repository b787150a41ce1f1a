"""What an install takes on disk: the files of a package and of all that it requires.

Install the packages into one environment first: pip install phinmf librosa demucs. Weights that a
program downloads when it is used are not part of its package.
"""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import Any

from _common import table, write_csv
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def required(name: str, found: dict[str, int]) -> None:
    """Add megabytes of a package and of its requirements without extras, those of this platform."""
    if (name := canonicalize_name(name)) in found:
        return
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return
    paths = (file.locate() for file in package.files or [])
    found[name] = sum(path.stat().st_size for path in paths if path.is_file())
    for line in package.requires or []:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            required(requirement.name, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", default=["phinmf", "librosa", "demucs"])
    rows: list[dict[str, Any]] = []
    for name in parser.parse_args().packages:
        if not find_spec(name):
            print(f"{name} is not installed")
            continue
        found: dict[str, int] = {}
        required(name, found)
        largest = sorted(found, key=lambda key: -found[key])[:3]
        rows.append({
            "package": f"{name} {distribution(name).version}", "packages": len(found),
            "MB": round(sum(found.values()) / 1e6),
            "largest": ", ".join(f"{key} {found[key] / 1e6:.0f}" for key in largest),
        })  # fmt: skip
    print(table(rows, {key: key for key in rows[0]}))
    write_csv("install_sizes", rows)


if __name__ == "__main__":
    main()
