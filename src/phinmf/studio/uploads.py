"""Recordings that are dropped onto the page: the bytes are written to a file as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from phinmf.audio import files
from phinmf.errors import sentence
from phinmf.studio.home import Home, file_name, shown_name
from phinmf.studio.requests import Refusal
from phinmf.studio.scratch import free_bytes
from phinmf.studio.session import Session

SPARE = 2**28  #: bytes of the disk that an upload leaves free

T = TypeVar("T")


async def upload(
    session: Session, name: str, chunks: AsyncIterator[bytes], length: int | None
) -> str:
    """Write a body to a file; return the id of the recording, or leave nothing behind."""
    await run_in_threadpool(check_room, session.home, length or 0)
    async with in_thread(session.home.temporary()) as temporary:
        folder, shown = temporary / "recording", shown_name(name)
        path = folder / file_name(name)
        await run_in_threadpool(folder.mkdir)
        async with in_thread(await run_in_threadpool(path.open, "xb")) as file:
            async for chunk in chunks:
                await run_in_threadpool(check_room, session.home, len(chunk))
                await run_in_threadpool(file.write, chunk)
        await run_in_threadpool(check_sound, path, shown)
        return await run_in_threadpool(session.add_upload, folder, shown, path.name)


@asynccontextmanager
async def in_thread(manager: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and exit a context in a thread: to remove a large file takes a second."""
    value = await run_in_threadpool(manager.__enter__)
    try:
        yield value
    finally:
        await run_in_threadpool(manager.__exit__, None, None, None)


def check_room(home: Home, length: int) -> None:
    """Refuse if a file of this length does not fit on the disk."""
    if free_bytes(home.path) < length + SPARE:
        raise Refusal("the disk is full: free some space, or start the studio with another -o", 507)


def check_sound(path: Path, name: str) -> None:
    """Refuse what is no sound, in a sentence that names the file as the user does."""
    try:
        files.excerpt(path)
    except (OSError, ValueError) as error:
        message = sentence(error).replace(str(path), name).replace(path.name, name)
        raise Refusal(message, 415) from None
