"""``phinmf export``: groups, components or a mix as numbered files."""

from __future__ import annotations

import argparse

from phinmf.cli.inputs import existing
from phinmf.cli.options import path
from phinmf.cli.text import shown

EPILOG = """\
Groups and levels are those that were chosen in `phinmf studio`, or with `phinmf unmix --group`.
Files are numbered and equally long, in the format of the components: a folder that a digital audio
workstation can import as it is. Groups and components add up to the recording.

examples:
  phinmf export phinmf-studio/song/whole -o song-groups
  phinmf export out/song -o song-mix --mix
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = parser.add_argument
    add("folder", type=path, metavar="DIR", help="a folder that phinmf unmix or studio has written")
    add("-o", "--output", type=path, required=True, metavar="NEW",
        help="folder to be written, which must not exist")  # fmt: skip
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--components", dest="kind", action="store_const", const="components",
                      help="one file for each component instead of each group")  # fmt: skip
    kind.add_argument("--mix", dest="kind", action="store_const", const="mix",
                      help="one file with every component at its level")  # fmt: skip
    parser.set_defaults(kind="groups")


def run(typed: argparse.Namespace) -> int:
    """Write the folder and say what is in it."""
    from phinmf.unmixing.export import export

    done = export(existing(typed.folder), typed.output, typed.kind)
    for file in done.files:
        print(shown(file))
    print(f"{shown(typed.output)}: {shown(done.message)}")
    return 0
