"""Who is answered: requests with the secret, for this address, from our own page.

Another page in the same browser can send requests to this computer as well. It does not know the
secret; a name of its own that leads here (DNS rebinding) is seen in Host; and browsers say in
Origin and Sec-Fetch-Site where a request comes from.
"""

from __future__ import annotations

import asyncio
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from phinmf.studio.requests import NotFound, Refusal

SMALL = 2**20  #: bytes of a body
LARGE = 4 * 2**30  #: bytes of a recording
PATIENCE = 60.0  #: seconds without any byte of a body
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        " img-src 'self' data:; worker-src 'self'; frame-ancestors 'none'; base-uri 'none';"
        " form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Passes on what may be answered, without the secret in its path, and refuses the rest."""

    def __init__(self, app: ASGIApp, secret: str, port: int) -> None:
        self.app = app
        self.secret = secret
        names = ("127.0.0.1", "localhost")
        self.hosts = {f"{name}:{port}" for name in names}
        if port == 80:  # which browsers leave out
            self.hosts |= set(names)
        self.longest = LARGE  #: bytes of a recording

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        first, _, rest = scope["path"].removeprefix("/").partition("/")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        request = scope["method"], rest
        body = Body(receive, self.longest if request == ("POST", "recordings") else SMALL)
        try:
            self.check_secret(first)
            self.check_origin(headers, page=request == ("GET", ""))
            body.check_announced(headers.get("content-length"))
        except Refusal as error:
            answer = JSONResponse({"error": str(error)}, error.status, {"Connection": "close"})
            await answer(scope, receive, with_headers)
            return
        inner = dict(scope, path=f"/{rest}", raw_path=f"/{rest}".encode("utf-8", "replace"))
        await self.app(inner, body, with_headers)

    def check_secret(self, first: str) -> None:
        """Refuse a request whose path does not begin with the secret."""
        if not secrets.compare_digest(first.encode("utf-8", "replace"), self.secret.encode()):
            raise NotFound("this address is not known here")

    def check_origin(self, headers: Headers, page: bool) -> None:
        """Refuse a request that is not from our page, at our address.

        The page itself may also be opened by a link, as in the file that the browser is started
        with; not in a frame.
        """
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        if len(headers.getlist("host")) != 1 or host not in self.hosts:
            raise Refusal("this is the address of another computer", 421)
        elsewhere = origin is not None and origin.lower() != f"http://{host}"
        site = headers.get("sec-fetch-site", "none")
        kind = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
        link = page and kind == ("navigate", "document")
        if elsewhere or not (link or site in ("same-origin", "none")):
            raise Refusal("only the page of the studio may ask for this", 403)


class Body:
    """Receives a body of limited size that keeps coming."""

    def __init__(self, receive: Receive, longest: int) -> None:
        self.receive = receive
        self.longest = longest
        self.length = 0
        self.complete = False

    def check_announced(self, length: str | None) -> None:
        """Refuse a length that is not even worth receiving."""
        if length is not None and (not length.isdecimal() or int(length[:20]) > self.longest):
            raise self.too_large()

    def too_large(self) -> Refusal:
        """Return the error for a body beyond its limit."""
        size = f"{self.longest / 2**20:.0f} MiB"
        return Refusal(f"this is too large: at most {size} are accepted", 413)

    async def __call__(self) -> Message:
        """Receive the next message; after the body, only the end of the connection follows."""
        if self.complete:
            return await self.receive()
        try:
            message = await asyncio.wait_for(self.receive(), PATIENCE)
        except TimeoutError:
            raise Refusal("the connection was too slow: try again", 408) from None
        self.length += len(message.get("body", b""))
        self.complete = not message.get("more_body", False)
        if self.length > self.longest:
            raise self.too_large()
        return message
