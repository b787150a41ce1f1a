"""The server: it listens on this computer until it is interrupted."""

from __future__ import annotations

import html
import os
import secrets
import socket
import webbrowser
from types import FrameType

import uvicorn

from phinmf.studio.app import Studio
from phinmf.studio.guard import Guard
from phinmf.studio.session import Session

LOOPBACK = "127.0.0.1"  #: which only programs of this computer can reach
GRACE = 2  #: seconds that unfinished answers get when the studio ends
LINK = """\
<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={address}">
<title>phinmf studio</title>
<a href="{address}">phinmf studio</a>
"""


class Server(uvicorn.Server):
    """A server for one session, with an address that cannot be guessed."""

    def __init__(self, session: Session, port: int) -> None:
        self.session = session
        self.socket = bound(port)
        self.port: int = self.socket.getsockname()[1]
        secret = secrets.token_urlsafe(24)
        self.address = f"http://{LOOPBACK}:{self.port}/{secret}/"
        self.studio = Studio(session)
        app = Guard(self.studio.app(), secret, self.port)
        super().__init__(
            uvicorn.Config(
                app, http="h11", ws="none", loop="asyncio", lifespan="off", log_level="warning",
                access_log=False, proxy_headers=False, server_header=False,
                timeout_graceful_shutdown=GRACE,
            )
        )  # fmt: skip

    def open_browser(self) -> None:
        """Open the page in a browser, and wait until it was asked for.

        The browser is started with a file that leads to the page: everybody who uses this computer
        can see the arguments of a program, but only this user can read the file. It is not in /tmp,
        because a browser in a sandbox may have a /tmp of its own.
        """
        with self.session.home.temporary() as folder:
            path = folder / "studio.html"
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(LINK.format(address=html.escape(self.address)))
            if webbrowser.open(path.absolute().as_uri()):
                self.studio.visit.wait()

    def serve_until_interrupted(self) -> None:
        """Answer requests until a signal ends the program."""
        try:
            with self.socket:
                self.run(sockets=[self.socket])
        finally:
            self.studio.visit.set()  # there will be none

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End at a signal; pages that listen for events are let go."""
        self.session.closing = True
        super().handle_exit(sig, frame)


def bound(port: int) -> socket.socket:
    """Return a socket at a port of this computer, or at a free one for 0."""
    listening = socket.socket()
    try:
        if os.name == "posix":  # elsewhere it would let another program take the same port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((LOOPBACK, port))
        listening.listen()  # a browser may be quicker than the server
    except OSError as error:
        listening.close()
        raise OSError(
            f"port {port} cannot be used ({error.strerror}): choose another --port, or leave it out"
        ) from None
    return listening
