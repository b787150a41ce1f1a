"""``phinmf report``: write the page of a folder again."""

from __future__ import annotations

import argparse

from phinmf.cli.inputs import existing
from phinmf.cli.options import path
from phinmf.cli.text import shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "folder", type=path, metavar="DIR", help="a folder that phinmf unmix has written"
    )


def run(typed: argparse.Namespace) -> int:
    """Write report.html into the folder and print its path."""
    from phinmf.report.folder import write_report
    from phinmf.unmixing.folder import read_folder
    from phinmf.unmixing.ownership import PAGE

    write_report(read_folder(existing(typed.folder)))
    print(shown(typed.folder / PAGE))
    return 0
