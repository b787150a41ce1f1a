"""``phinmf studio``: a page on which recordings are taken apart, listened to and put together."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from phinmf.cli import values
from phinmf.cli.signals import Ended
from phinmf.cli.text import print_error, shown
from phinmf.errors import sentence

if TYPE_CHECKING:
    from phinmf.studio.discovery import Discovery
    from phinmf.studio.serving import Server

EPILOG = """\
Drop a recording onto the page: after a few seconds its middle can be heard in components, later all
of it. Put components together, and take the groups away as files that add up to the recording.

Everything is computed on this computer and written into the folder -o, which `phinmf studio` shows
again next time. Recordings that are named here are read where they are and are never changed.
Ctrl-C ends the studio.

examples:
  phinmf studio                     then drop files onto the page
  phinmf studio song.flac
  phinmf studio out/song            a folder that phinmf unmix has written
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = parser.add_argument
    add("inputs", nargs="*", type=values.path, metavar="FILE",
        help="sound files, folders of them, or folders that phinmf unmix has written")  # fmt: skip
    add("-o", "--output", type=values.path, default=Path("phinmf-studio"), metavar="DIR",
        help="folder for the results (phinmf-studio)")  # fmt: skip
    add(
        "--port",
        type=values.whole(0, 65_535),
        default=0,
        metavar="N",
        help="port to listen on (a free one)",
    )
    add("--no-browser", action="store_true", help="do not open a browser")


def run(typed: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise ImportError(
            'the studio needs starlette and uvicorn: run pip install "phinmf[studio]"'
        ) from None
    from phinmf.studio.serving import Server
    from phinmf.studio.session import Session

    discoveries = readable(typed.inputs)
    if typed.inputs and not discoveries:
        return 1
    if typed.output.exists() and not typed.output.is_dir():
        raise FileExistsError(
            f"{typed.output} is a file, but a folder is needed: choose another -o"
        )
    session = Session(typed.output)
    try:
        server = Server(session, typed.port)
        session.start()
        for problem in [*session.open_home(), *session.open(discoveries)]:
            print(f"phinmf: {shown(problem)}", file=sys.stderr)
        announce(server, typed)
        server.serve_until_interrupted()
    except Ended as end:
        if end.number != signal.SIGINT:
            raise
    finally:
        session.close()
    print(f"The studio has ended; what was finished is in {shown(typed.output)}.")
    return 0


def readable(inputs: list[Path]) -> list[Discovery]:
    """Return what can be opened; say of every other input why not."""
    from phinmf.studio.discovery import discover

    discoveries: list[Discovery] = []
    for path in inputs:
        try:
            discoveries += discover(path)
        except (OSError, ValueError) as error:
            print_error(error)
    return discoveries


def announce(server: Server, typed: argparse.Namespace) -> None:
    """Say where the page is and what is written where, and open it."""
    print(f"The studio is open at {server.address}")
    print(f"Results are written into {shown(typed.output)}; Ctrl-C ends the studio.", flush=True)
    if not typed.no_browser:
        threading.Thread(target=open_browser, args=[server], daemon=True).start()


def open_browser(server: Server) -> None:
    """Open the page in a browser; a folder that cannot be written to does not end the studio."""
    try:
        server.open_browser()
    except OSError as error:
        print(f"phinmf: no browser was opened: {shown(sentence(error))}", file=sys.stderr)
