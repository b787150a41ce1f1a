"""``phinmf``: parse the command line and call the function of the command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

import phinmf
from phinmf.cli import demo, env, export, report, studio, unmix
from phinmf.cli.exit_codes import FAILED, USAGE
from phinmf.cli.options import dashed
from phinmf.cli.signals import Ended, ended_by_signals
from phinmf.cli.text import print_anything, print_error, shown, written_out

#: name, module, summary, and text below the options
COMMANDS = (
    ("unmix", unmix, "take recordings apart into components that add up to them", unmix.EPILOG),
    ("studio", studio, "open a page to unmix, listen, group and take away", studio.EPILOG),
    ("export", export, "write groups, components or a mix as numbered files", export.EPILOG),
    ("demo", demo, "unmix the built-in example and write a page to listen to", None),
    ("report", report, "write the page of an unmixed folder again", None),
    ("env", env, "versions, threads, and what is missing", None),
)
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
        self.exit(USAGE, f"{self.prog}: {shown(message)}; see {self.prog} --help\n")


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
    for name, module, summary, epilog in COMMANDS:
        own = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(own)
        own.add_argument("--debug", action="store_true", help="print where a fault of phinmf is")
        own.set_defaults(run=module.run, parser=own)
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
            typed = parsed(argv)
            return int(typed.run(typed))
    except Exception as error:
        print_error(error, debug)
        return FAILED


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Parse what was typed, or exit with a message."""
    parser = get_parser()
    if (name := dashed(argv)) is not None:
        parser.error(f"{name} looks like an option: if it is a file, write ./{name}")
    return parser.parse_args(argv)
