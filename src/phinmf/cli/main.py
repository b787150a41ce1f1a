"""``phinmf``: parse the command line and call the function of the command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import NoReturn

import phinmf
from phinmf.cli import options
from phinmf.cli.progress import Ended, ended_by_signals
from phinmf.cli.terminal import Failures, note, print_anything, shown, written_out
from phinmf.errors import PackageError

#: name, summary, arguments, and text below them
COMMANDS: tuple[tuple[str, str, options.Arguments, str | None], ...] = (
    ("unmix", "take recordings apart into components that add up to them",
     options.UNMIX, options.UNMIX_EPILOG),
    ("studio", "open a page to unmix, listen, group and take away",
     options.STUDIO, options.STUDIO_EPILOG),
    ("export", "write groups or a mix as numbered files",
     options.EXPORT, options.EXPORT_EPILOG),
    ("demo", "unmix the built-in example and write a page to listen to", options.DEMO, None),
    ("report", "write the page of an unmixed folder again", options.REPORT, None),
    ("env", "versions, threads, and what is missing", {}, None),
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
    for name, summary, arguments, epilog in COMMANDS:
        own = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        options.add_arguments(own, arguments)
        own.set_defaults(refuse=own.error)
        own.add_argument("--debug", action="store_true", help="print where a fault of phinmf is")
    return parser


def function_of(command: str) -> Callable[[argparse.Namespace], int]:
    """Return the function of a command, whose module is imported only now."""
    if command == "studio" and not all(map(find_spec, ("starlette", "uvicorn"))):
        raise PackageError(
            'the studio needs starlette and uvicorn: run pip install "phinmf[studio]"'
        )
    module = command if command in ("unmix", "studio") else "commands"
    function: Callable[[argparse.Namespace], int] = getattr(
        import_module(f"phinmf.cli.{module}"), command
    )
    return function


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; print an error in one line."""
    words = sys.argv[1:] if argv is None else argv
    print_anything()
    try:
        with ended_by_signals():
            try:
                with written_out():
                    typed = get_parser().parse_args(words)
                    return function_of(typed.command)(typed)
            except Exception as error:
                Failures("--debug" in words).report(error)
                return 1
    except Ended as end:
        note(f"phinmf: {end}; no incomplete files remain")
        return end.status
