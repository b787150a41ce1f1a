"""The state of the studio as a stream of events: at every change, and as work goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from phinmf.studio.session import Session

LOOK = 0.05  #: seconds between looks at whether something is new
PROGRESS = 0.25  #: seconds between messages about work that goes on
ALIVE = 15.0  #: seconds after which something is sent, so that a lost connection is noticed


async def events(session: Session) -> AsyncIterator[str]:
    """Yield messages until the studio ends."""
    seen, sent, idle, since = -1, "", 0.0, 0.0
    while not session.closing:
        revision = session.library.revision
        if revision != seen or (since >= PROGRESS and session.queue.working()):
            seen, since, text = revision, 0.0, session.state().to_json()
            if text != sent:
                yield f"data: {text}\n\n"
                sent, idle = text, 0.0
        if idle >= ALIVE:
            yield ": still here\n\n"
            idle = 0.0
        await asyncio.sleep(LOOK)
        idle, since = idle + LOOK, since + LOOK
