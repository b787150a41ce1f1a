"""A running studio, and a client of it that sends whatever is wanted."""

import http.client
import json
import threading
import time
import urllib.parse
from contextlib import contextmanager
from dataclasses import dataclass

import sound_files

from phinmf.audio import files
from phinmf.studio.serving import Server
from phinmf.studio.session import Session
from phinmf.unmix_file import unmix_file
from phinmf.unmixing.options import Output, Request, UnmixOptions

PATIENCE = 60.0  #: seconds, on a busy machine
QUICK = UnmixOptions(n_components=3, window=64, solver=None, seed=0)


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """Speaks to a studio at its address."""

    def __init__(self, address):
        parts = urllib.parse.urlsplit(address)
        self.host, self.port, self.prefix = parts.hostname, parts.port, parts.path

    def __call__(self, method, path, body=None, headers=None, prefix=None):
        """Send a request; a body that is no bytes and no iterator is sent as JSON."""
        if isinstance(body, (dict, list, str)):
            body = json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            target = (self.prefix if prefix is None else prefix) + path
            chunked = body is not None and not isinstance(body, bytes)
            connection.request(method, target, body, headers or {}, encode_chunked=chunked)
            got = connection.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.headers.items()}, got.read())
        finally:
            connection.close()

    def states(self):
        """Yield the state whenever it changes."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        connection.request("GET", f"{self.prefix}events")
        stream = connection.getresponse()
        try:
            while line := stream.readline():
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        finally:
            connection.close()

    @property
    def state(self):
        return next(self.states())

    def until(self, condition):
        """Return the first state for which a condition holds."""
        end = time.monotonic() + PATIENCE
        for state in self.states():
            if condition(state):
                return state
            assert time.monotonic() < end, state
        raise AssertionError("the studio has ended")

    def versions(self, state=None):
        """The versions of each recording."""
        return [one["versions"] for one in (state or self.state)["recordings"]]

    def save(self, revision, groups=(), levels=(), id="v1", **more):
        mix = {"revision": revision, "groups": list(groups), "levels": list(levels)} | more
        return self("PUT", f"versions/{id}/mix", mix)

    def again(self, recording="r1", **how):
        """Ask for another version of a recording."""
        wanted = {"n_components": 2, "window": "16ms", "seed": 0} | how
        return self("POST", f"recordings/{recording}/versions", wanted)

    def sound(self, start, count, id="v1"):
        return self("GET", f"versions/{id}/sound/{start}/{count}")

    def upload(self, body, name="song.wav"):
        return self("POST", f"recordings?name={urllib.parse.quote(name)}", body)


def idle(state):
    """Whether nothing is in progress."""
    return not any(recording["jobs"] for recording in state["recordings"])


@contextmanager
def running(home, *discoveries):
    """Run a studio in this process; yield its session and a client."""
    session = Session(home)
    server = Server(session, 0)
    thread = threading.Thread(target=server.serve_until_interrupted)
    try:
        session.queue.start()
        problems = [*session.open_home(), *session.open(discoveries)]
        assert problems == []
        thread.start()
        client = Client(server.address)
        client.session, client.server = session, server
        while not server.started:
            time.sleep(0.01)
        yield client
    finally:
        session.closing = server.should_exit = True
        thread.join()
        session.close()


@contextmanager
def waiting(monkeypatch, owner, name):
    """Let all calls of a function wait until the block ends; yield an event that the first sets."""
    function, called, going_on = getattr(owner, name), threading.Event(), threading.Event()

    def wait(*arguments, **options):
        called.set()
        going_on.wait(PATIENCE)
        return function(*arguments, **options)

    monkeypatch.setattr(owner, name, wait)
    try:
        yield called
    finally:
        going_on.set()


def unmixed(folder, sound=None, **how):
    """Unmix a small sound into a folder, as the command does."""
    recording = folder.parent / f"{folder.name} source.wav"
    if not recording.exists():
        recording.parent.mkdir(parents=True, exist_ok=True)
        sound_files.write(recording, sound)
    options = UnmixOptions(**{**vars(QUICK), **how})
    unmix_file(Request(files.excerpt(recording), Output(folder), options, page=False))
    return folder
