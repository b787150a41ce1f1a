"""``phinmf report`` and ``phinmf export``: what is made of a finished folder."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from phinmf.cli.text import shown
from phinmf.cli.values import path

EXPORT_EPILOG = """\
Groups and levels are those that were chosen in `phinmf studio`, or with `phinmf unmix --group`.
Files are numbered and equally long, in the format of the components: a folder that a digital audio
workstation can import as it is. Groups and components add up to the recording.

examples:
  phinmf export phinmf-studio/song/whole -o song-groups
  phinmf export out/song -o song-mix --mix
"""


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``phinmf report``."""
    parser.add_argument(
        "folder", type=path, metavar="DIR", help="a folder that phinmf unmix or studio has written"
    )


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``phinmf export``."""
    add_report_arguments(parser)
    parser.add_argument("-o", "--output", type=path, required=True, metavar="NEW",
                        help="folder to be written, which must not exist")  # fmt: skip
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--components", dest="kind", action="store_const", const="components",
                      help="one file for each component instead of each group")  # fmt: skip
    kind.add_argument("--mix", dest="kind", action="store_const", const="mix",
                      help="one file with every component at its level")  # fmt: skip
    parser.set_defaults(kind="groups")


def existing(folder: Path) -> Path:
    """Return the path of what was unmixed before; raise FileNotFoundError if it does not exist."""
    if not os.path.lexists(folder):
        raise FileNotFoundError(f"{folder} does not exist")
    return folder


def report(typed: argparse.Namespace) -> int:
    """Write report.html into the folder and print its path."""
    from phinmf.report.folder import write_report
    from phinmf.unmixing.folder import read_folder
    from phinmf.unmixing.ownership import PAGE

    write_report(read_folder(existing(typed.folder)))
    print(shown(typed.folder / PAGE))
    return 0


def export(typed: argparse.Namespace) -> int:
    """Write the folder and say what is in it."""
    from phinmf.unmixing.export import export

    exported = export(existing(typed.folder), typed.output, typed.kind)
    for file in exported.files:
        print(shown(file))
    print(f"{shown(typed.output)}: {shown(exported.message)}")
    return 0
