"""``phinmf score``: estimates beside the true sources."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

EPILOG = """\
Components are put together by an oracle, each with the source it helps most: what comes out is
what a listener with perfect judgement could reach by grouping. Beside it stand the mixture
itself, plain NMF in the DCT with as many components, and an oracle mask, which no method of this
kind can pass.

example:
  phinmf score out/song/component_*.wav --reference stems/*.wav
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add = parser.add_argument
    add("estimates", nargs="+", type=Path, metavar="EST", help="files of components")
    add("--reference", nargs="+", type=Path, required=True, metavar="REF", help="true sources")
    add("--mixture", type=Path, help="the recording, if it is not the sum of the references")
    add("--json", action="store_true", help="print JSON instead of a table")


def run(options: argparse.Namespace) -> int:
    """Print the scores."""
    from phinmf.cli.text import plain_console, shown
    from phinmf.scores.files import score_files

    table = score_files(options.estimates, options.reference, mixture=options.mixture)
    if options.json:
        print(json.dumps(table.as_dict(), indent=2, allow_nan=False))
    else:
        rows = [row._replace(source=shown(row.source)) for row in table.rows]
        plain_console().print(replace(table, rows=rows).table())
    return 0
