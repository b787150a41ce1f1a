"""``phinmf report``: the page of a folder, again."""

from __future__ import annotations

import argparse

from phinmf.cli.options import path
from phinmf.cli.text import shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("folder", type=path, metavar="DIR", help="what phinmf unmix has written")


def run(options: argparse.Namespace) -> int:
    """Write report.html into the folder and say where it is."""
    from phinmf.report.folder import write_report

    print(shown(write_report(options.folder)))
    return 0
