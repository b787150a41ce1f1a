"""``phinmf score``: compare estimates with the true sources."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

EPILOG = """\
Components are grouped with the help of the true sources: the score is the best that a listener
could reach by grouping them. For comparison there are the scores of the mixture itself, of plain
NMF in the DCT with as many components, and of an oracle mask, the upper limit of this kind of
method.

A folder that phinmf unmix has written stands for its components; its groups are scored as well. If
it holds a part of the recording, such as a preview, the true sources are cut to that part.

examples:
  phinmf score out/song --reference stems/
  phinmf score out/song/component_*.wav --reference stems/*.wav
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = parser.add_argument
    add("estimates", nargs="+", type=Path, metavar="EST", help="files of components, or a folder")
    add("--reference", nargs="+", type=Path, required=True, metavar="REF",
        help="files of the true sources, or a folder")  # fmt: skip
    add("--mixture", type=Path, help="the recording, if it is not the sum of the references")
    add("--json", action="store_true", help="print JSON instead of a table")


def run(typed: argparse.Namespace) -> int:
    """Print the scores."""
    from phinmf.cli.text import plain_console, shown
    from phinmf.scores.files import score_files

    table = score_files(typed.estimates, typed.reference, mixture=typed.mixture)
    for said in (table.options.stretch, table.options.missing):
        if said is not None:
            print(shown(said), file=sys.stderr)
    if typed.json:
        print(json.dumps(table.as_dict(), indent=2, allow_nan=False))
    else:
        rows = [row._replace(source=shown(row.source)) for row in table.rows]
        plain_console().print(replace(table, rows=rows).table())
    return 0
