"""The addresses of the studio, and what is done at each."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from pathlib import Path
from typing import get_args

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from phinmf.errors import explained, is_for_user, sentence
from phinmf.fit.automatic import checked_components
from phinmf.studio.requests import ExportRequest, MixRequest, NotFound, Refusal, TakeRequest, parsed
from phinmf.studio.session import Session
from phinmf.studio.uploads import upload
from phinmf.unmixing.export import Kind
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.overview import step_of
from phinmf.unmixing.saved_mix import MixChanged

TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
BYTES = "application/octet-stream"
CHECK = 0.05  #: seconds between looks at whether something is new
PROGRESS = 0.25  #: seconds between messages about work that goes on
ALIVE = 15.0  #: seconds after which something is sent, so that a lost connection is noticed


class Studio:
    """Answers requests with what a session does."""

    def __init__(self, session: Session) -> None:
        self.session = session
        folders = files("phinmf.studio") / "page", files("phinmf.report") / "core"
        paths = [path for folder in folders for path in Path(str(folder)).iterdir()]
        self.page = {path.name: path for path in paths if path.suffix in TYPES}
        self.visit = threading.Event()  #: set when the page is asked for
        self.one_export = asyncio.Lock()  #: so that many exports do not take all threads

    def app(self) -> Starlette:
        """Return the application."""
        take = "/takes/{id:str}"
        routes = [
            Route("/", self.index),
            Route("/events", self.events),
            Route("/recordings", self.upload, methods=["POST"]),
            Route("/recordings/{id:str}/takes", self.again, methods=["POST"]),
            Route("/jobs/{id:str}", self.cancel, methods=["DELETE"]),
            Route(take, self.remove_take, methods=["DELETE"]),
            Route(f"{take}/mix", self.save, methods=["PUT"]),
            Route(f"{take}/sound", self.sound),
            Route(f"{take}/overview", self.overview),
            Route(f"{take}/exports", self.export, methods=["POST"]),
            Route("/exports/{id:str}", self.download),
            Route("/{name:str}", self.file),
        ]
        app = Starlette(routes=routes, exception_handlers=HANDLERS)
        app.router.redirect_slashes = False
        return app

    async def index(self, request: Request) -> Response:
        """Send the page."""
        self.visit.set()
        return self.page_file("index.html")

    async def file(self, request: Request) -> Response:
        """Send a file of the page."""
        return self.page_file(request.path_params["name"])

    def page_file(self, name: str) -> Response:
        """Return a file of the page."""
        path = self.page.get(name)
        if path is None:
            raise NotFound("there is no such page")
        return FileResponse(path, media_type=TYPES[path.suffix])

    async def events(self, request: Request) -> Response:
        """Send the state at every change."""
        return StreamingResponse(events(self.session), media_type="text/event-stream")

    async def upload(self, request: Request) -> Response:
        """Take a recording."""
        length = request.headers.get("content-length")
        name = request.query_params.get("name", "")
        id = await upload(
            self.session, name, request.stream(), None if length is None else int(length)
        )
        return answer({"id": id}, 201)

    async def again(self, request: Request) -> Response:
        """Unmix a recording in another way."""
        body = parsed(TakeRequest, await request.body())
        options = UnmixOptions(checked_components(body.n_components), body.window, seed=body.seed)
        id = await run_in_threadpool(
            self.session.again, request.path_params["id"], options, body.carry_from
        )
        return answer({"id": id}, 201)

    async def cancel(self, request: Request) -> Response:
        """Cancel a job."""
        await run_in_threadpool(self.session.cancel, request.path_params["id"])
        return Response(status_code=204)

    async def remove_take(self, request: Request) -> Response:
        """Remove a take."""
        await run_in_threadpool(self.session.remove_take, request.path_params["id"])
        return Response(status_code=204)

    async def save(self, request: Request) -> Response:
        """Save groups and levels."""
        mix = parsed(MixRequest, await request.body()).mix()
        id = request.path_params["id"]
        try:
            return answer({"revision": await run_in_threadpool(self.session.save, id, mix)})
        except MixChanged as error:
            stored = self.session.library.take(id).mix_state()
            return answer({"error": sentence(error)} | stored, 409)

    async def sound(self, request: Request) -> Response:
        """Send a stretch of sound."""
        take = self.session.library.take(request.path_params["id"])
        start, count = (whole(request, name) for name in ("start", "count"))

        def read() -> Response:
            samples = self.session.listening.sound(take, start, count)
            content = samples.astype("<f4", copy=False).tobytes()
            return Response(content, media_type=BYTES, headers={"X-Count": str(samples.shape[-1])})

        return await run_in_threadpool(read)

    async def overview(self, request: Request) -> Response:
        """Send the outline of a take."""
        take = self.session.library.take(request.path_params["id"])
        headers = {
            "X-Step": str(step_of(take.record.length)), "X-Bins": str(take.overview.shape[1])
        }  # fmt: skip
        return Response(take.overview.tobytes(), media_type=BYTES, headers=headers)

    async def export(self, request: Request) -> Response:
        """Write files to be taken away."""
        body = parsed(ExportRequest, await request.body())
        kind = next((kind for kind in get_args(Kind) if kind == body.kind), None)
        if kind is None:
            raise Refusal(
                f"kind is {body.kind!r}, but one of {', '.join(get_args(Kind))} is needed"
            )
        async with self.one_export:
            made = await run_in_threadpool(
                self.session.export, request.path_params["id"], kind, body.levels
            )
        address = f"exports/{made.id}"
        return answer({"address": address, "name": made.name, "message": made.message}, 201)

    async def download(self, request: Request) -> Response:
        """Send an export."""
        export = self.session.exports[request.path_params["id"]]
        return FileResponse(export.path, media_type=BYTES, filename=export.name)


async def events(session: Session) -> AsyncIterator[str]:
    """Yield the state at every change, and as work goes on, until the studio ends."""
    revision, sent, idle, since = -1, "", 0.0, 0.0
    while not session.closing:
        if session.library.revision != revision or (since >= PROGRESS and session.queue.working()):
            revision, since = session.library.revision, 0.0
            text = json.dumps(session.state(), allow_nan=False)  # one line of ASCII
            if text != sent:
                yield f"data: {text}\n\n"
                sent, idle = text, 0.0
        if idle >= ALIVE:
            yield ": still here\n\n"
            idle = 0.0
        await asyncio.sleep(CHECK)
        idle, since = idle + CHECK, since + CHECK


def answer(content: object, status: int = 200) -> Response:
    """Return JSON in ASCII, which can hold names that are not text, too."""
    return Response(json.dumps(content), status, media_type="application/json")


def whole(request: Request, name: str) -> int:
    """Return a number from the address."""
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) <= 15):
        raise Refusal(f"{name} is {text[:20]!r}, but a whole number is needed")
    return int(text)


def refused(request: Request, error: Exception) -> Response:
    """Answer with the sentence of an error; a fault of phinmf is in its log."""
    if isinstance(error, HTTPException):
        return answer({"error": error.detail}, error.status_code)
    status = 500
    if isinstance(error, Refusal):
        status = error.status
    elif isinstance(error, FileExistsError):
        status = 409
    elif is_for_user(error) and not isinstance(error, (OSError, MemoryError)):
        status = 400
    return answer({"error": explained(error)}, status)


def gone(request: Request, error: Exception) -> Response:
    """Answer nobody: the browser has closed the connection."""
    return Response(status_code=400)


#: an error of another kind is answered in the same way, and the server prints its traceback
HANDLERS: dict[type[Exception], Callable[[Request, Exception], Response]] = {
    HTTPException: refused,
    ValueError: refused,
    TypeError: refused,
    RuntimeError: refused,
    OSError: refused,
    MemoryError: refused,
    ClientDisconnect: gone,
    Exception: refused,
}
