"""``phinmf report``: the page of a folder, again."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="what phinmf unmix has written")


def run(options: argparse.Namespace) -> int:
    """Write report.html into the folder and say where it is."""
    from phinmf.views.folder_report import write_report

    print(write_report(options.folder))
    return 0
