"""``phinmf``: parse the command line and call the function of the command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

import phinmf
from phinmf.cli import demo, env, folders, studio, unmix
from phinmf.cli.signals import Ended, ended_by_signals
from phinmf.cli.text import print_anything, print_error, shown, written_out

#: name, summary, function that adds arguments (None: no arguments), function that runs it, and
#: text below the options
COMMANDS = (
    ("unmix", "take recordings apart into components that add up to them",
     unmix.add_arguments, unmix.run, unmix.EPILOG),
    ("studio", "open a page to unmix, listen, group and take away",
     studio.add_arguments, studio.run, studio.EPILOG),
    ("export", "write groups, components or a mix as numbered files",
     folders.add_export_arguments, folders.export, folders.EXPORT_EPILOG),
    ("demo", "unmix the built-in example and write a page to listen to",
     demo.add_arguments, demo.run, None),
    ("report", "write the page of an unmixed folder again",
     folders.add_report_arguments, folders.report, None),
    ("env", "versions, threads, and what is missing", None, env.run, None),
)  # fmt: skip
EXAMPLES = """\
examples:
  phinmf unmix song.flac -k 8 -o out/
  phinmf unmix song.wav --preview
  phinmf unmix out/song --group "drums=1,4-6 bass=2"
  phinmf export out/song -o song-groups
"""


class Parser(argparse.ArgumentParser):
    """A parser whose messages are safe to print for any input."""

    def error(self, message: str) -> NoReturn:
        """Print a message and where help is, and exit; the usage of a command is a page long."""
        self.exit(2, f"{self.prog}: {shown(message)}; see {self.prog} --help\n")


def get_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; it imports nothing slow."""
    parser = Parser(
        prog="phinmf",
        description="Take recordings apart into components that add up to them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"phinmf {phinmf.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary, add_arguments, run, epilog in COMMANDS:
        own = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if add_arguments is not None:
            add_arguments(own)
        own.add_argument("--debug", action="store_true", help="print where a fault of phinmf is")
        own.set_defaults(run=run, parser=own)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    print_anything()
    with ended_by_signals():
        try:
            return attempt(sys.argv[1:] if argv is None else argv)
        except Ended as end:
            print(f"phinmf: {end}; no incomplete files remain", file=sys.stderr)
            return end.status


def attempt(argv: Sequence[str]) -> int:
    """Run a command; print an error in one line."""
    debug = "--debug" in argv
    try:
        with written_out():
            typed = get_parser().parse_args(argv)
            return int(typed.run(typed))
    except Exception as error:
        print_error(error, debug)
        return 1
