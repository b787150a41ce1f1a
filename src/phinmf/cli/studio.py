"""``phinmf studio``: a page on which recordings are taken apart, listened to and put together."""

from __future__ import annotations

import argparse
import signal
import threading

from phinmf import checks
from phinmf.cli.progress import Ended
from phinmf.cli.terminal import Failures, note, shown
from phinmf.errors import sentence
from phinmf.studio.discovery import Discovery, discover
from phinmf.studio.serving import Server
from phinmf.studio.session import Session


def studio(typed: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    failures = Failures(typed.debug)
    discoveries: list[Discovery] = []
    for path in typed.inputs:
        with failures.reported(None):
            discoveries += discover(path)
    if typed.inputs and not discoveries:
        return 1
    if typed.output.exists() and not typed.output.is_dir():
        raise FileExistsError(
            f"{typed.output} is a file, but a folder is needed: choose another -o"
        )
    checks.count("port", typed.port, 0, 65_535)
    session = Session(typed.output)
    try:
        server = Server(session, typed.port)
        session.queue.start()
        for problem in [*session.open_home(), *session.open(discoveries)]:
            note(f"phinmf: {problem}")
        announce(server, typed)
        server.serve_until_interrupted()
    except Ended as end:
        if end.number != signal.SIGINT:
            raise
    finally:
        session.close()
    print(f"The studio has ended; what was finished is in {shown(typed.output)}.")
    return 0


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
        note(f"phinmf: no browser was opened: {sentence(error)}")
