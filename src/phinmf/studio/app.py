"""The addresses of the studio, and what is done at each.

An endpoint that is an ordinary function is called in a thread: none of them keeps the server from
answering others.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from phinmf.errors import explained, is_for_user, sentence
from phinmf.fit.automatic import checked_components
from phinmf.studio.requests import (
    ExportRequest,
    MixRequest,
    NotFound,
    Refusal,
    VersionRequest,
    marks_in,
    parsed,
)
from phinmf.studio.session import Session
from phinmf.studio.transfers import upload
from phinmf.unmixing.groups import MixChanged
from phinmf.unmixing.mix import Mix
from phinmf.unmixing.options import UnmixOptions

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
BYTES = "application/octet-stream"
CHECK = 0.05  #: seconds between looks at whether something is new
PAUSE = 0.2  #: seconds between two messages: a job has news all the time

T = TypeVar("T")
U = TypeVar("U")


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
        version = "/versions/{id:str}"
        routes = [
            Route("/", self.file),
            Route("/events", self.events),
            Route("/recordings", self.upload, methods=["POST"]),
            Route("/recordings/{id:str}/versions", self.again, methods=["POST"]),
            Route("/jobs/{id:str}", self.cancel, methods=["DELETE"]),
            Route(version, self.remove_version, methods=["DELETE"]),
            Route(f"{version}/mix", self.save, methods=["PUT"]),
            Route(f"{version}/sound/{{start:int}}/{{count:int}}", self.sound),
            Route(f"{version}/overview", self.overview),
            Route(f"{version}/spectrogram/{{start:int}}/{{count:int}}", self.spectrogram),
            Route(f"{version}/draft", self.learn, methods=["POST"]),
            Route(f"{version}/draft/sound/{{start:int}}/{{count:int}}", self.draft),
            Route(f"{version}/draft/versions", self.keep, methods=["POST"]),
            Route(f"{version}/exports", self.export, methods=["POST"]),
            Route("/exports/{id:str}", self.download),
            Route("/{name:str}", self.file),
        ]
        app = Starlette(routes=routes, exception_handlers=dict.fromkeys(REFUSED, refused))
        app.router.redirect_slashes = False
        return app

    def file(self, request: Request) -> Response:
        """Send a file of the page."""
        name = request.path_params.get("name", "index.html")
        if name not in self.page:
            raise NotFound("there is no such page")
        if name == "index.html":
            self.visit.set()
            text = self.page[name].read_text("utf-8")
            for part in ("desk", "marks"):
                inner = self.page[f"{part}.html"].read_text("utf-8")
                text = text.replace(f"<!-- {part} -->", inner)
            return HTMLResponse(text)
        return FileResponse(self.page[name], media_type=TYPES[self.page[name].suffix])

    async def events(self, request: Request) -> Response:
        """Send the state at every change."""
        return StreamingResponse(events(self.session), media_type="text/event-stream")

    async def upload(self, request: Request) -> Response:
        """Receive a recording."""
        length = int(request.headers.get("content-length", 0))
        name = request.query_params.get("name", "")
        home, add = self.session.home, self.session.add_upload
        id = await upload(home, name, request.stream(), length, add)
        return answer({"id": id}, 201)

    async def again(self, request: Request) -> Response:
        """Unmix a recording in another way."""

        def again(body: VersionRequest) -> str:
            components = checked_components(body.n_components)
            options = UnmixOptions(components, body.window, seed=body.seed)
            return self.session.again(request.path_params["id"], options)

        return answer({"id": await with_body(request, VersionRequest, again)}, 201)

    def cancel(self, request: Request) -> Response:
        """Cancel a job."""
        self.session.cancel(request.path_params["id"])
        return Response(status_code=204)

    def remove_version(self, request: Request) -> Response:
        """Remove a version."""
        self.session.remove_version(request.path_params["id"])
        return Response(status_code=204)

    async def save(self, request: Request) -> Response:
        """Save groups, levels and marks."""
        id = request.path_params["id"]
        sent = await request.body()

        def save(body: MixRequest) -> Response:
            try:
                mix = Mix(body.groups, body.levels, body.revision)
                return answer({"revision": self.session.save(id, mix, marks_in(sent))})
            except MixChanged as error:
                stored = self.session.library.version(id).mix_state()
                return answer({"error": sentence(error)} | stored, 409)

        return await with_body(request, MixRequest, save)

    def sound(self, request: Request) -> Response:
        """Send a stretch of sound."""
        path = request.path_params
        version = self.session.library.version(path["id"])
        samples = self.session.listening.sound(version, path["start"], path["count"])
        return Response(samples.astype("<f4", copy=False).tobytes(), media_type=BYTES)

    def overview(self, request: Request) -> Response:
        """Send the outline of a version."""
        version = self.session.library.version(request.path_params["id"])
        return Response(version.overview.tobytes(), media_type=BYTES)

    def spectrogram(self, request: Request) -> Response:
        """Send a spectrogram of the recording, or of the sum of some components."""
        path, numbers = request.path_params, request.query_params.get("components", "")
        version = self.session.library.version(path["id"])
        components = tuple(number(text) for text in numbers.split(",") if numbers)
        picture = self.session.pointing.picture(version, path["start"], path["count"], components)
        return Response(picture.tobytes(), media_type=BYTES)

    def learn(self, request: Request) -> Response:
        """Refine a version with its marks, to be heard."""
        return answer({"groups": self.session.learn(request.path_params["id"])})

    def draft(self, request: Request) -> Response:
        """Send a stretch of the groups that were refined."""
        path = request.path_params
        version = self.session.library.version(path["id"])
        samples = self.session.pointing.sound(version, path["start"], path["count"])
        return Response(samples.astype("<f4", copy=False).tobytes(), media_type=BYTES)

    def keep(self, request: Request) -> Response:
        """Make a version of what was refined."""
        return answer({"id": self.session.keep(request.path_params["id"])}, 201)

    async def export(self, request: Request) -> Response:
        """Write files to be taken away."""
        id = request.path_params["id"]

        def export(body: ExportRequest) -> Response:
            made = self.session.export(id, body.kind, body.levels, body.without)
            address = f"exports/{made.id}"
            return answer({"address": address, "name": made.name, "message": made.message}, 201)

        await request.body()  # nobody waits for one that is slow
        async with self.one_export:
            return await with_body(request, ExportRequest, export)

    def download(self, request: Request) -> Response:
        """Send an export."""
        export = self.session.exports[request.path_params["id"]]
        return FileResponse(export.path, media_type=BYTES, filename=export.name)


async def events(session: Session) -> AsyncIterator[str]:
    """Yield the state at every change until the studio ends."""
    revision = -1
    while not session.closing:
        if session.library.revision == revision:
            await asyncio.sleep(CHECK)
            continue
        revision = session.library.revision
        state = json.dumps(session.state(), allow_nan=False)  # one line of ASCII
        yield f"data: {state}\n\n"
        await asyncio.sleep(PAUSE)


async def with_body(request: Request, kind: type[T], act: Callable[[T], U]) -> U:
    """Return what a function makes, in a thread, of the JSON that was sent."""
    body = parsed(kind, await request.body())
    return await run_in_threadpool(act, body)


def answer(content: object, status: int = 200) -> Response:
    """Return JSON in ASCII, which can hold names that are not text, too."""
    return Response(json.dumps(content), status, media_type="application/json")


def refused(request: Request, error: Exception) -> Response:
    """Answer with the sentence of an error; a fault of phinmf is in its log."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # nobody is there to read it
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


#: an error of another kind is answered in the same way, and the server prints its traceback
REFUSED = (
    HTTPException, ClientDisconnect, ValueError, TypeError, RuntimeError, OSError, MemoryError,
    Exception,
)  # fmt: skip


def number(text: str) -> int:
    """Return the number of a component that was sent; 0, which none has, for anything else."""
    return int(text) if text.isdecimal() and len(text) < 9 else 0
