"""Nobody but our own page is answered, and nothing that is sent reaches the disk by its name."""

import http.client
import os
import socket
import time
import webbrowser
from argparse import Namespace
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from kept import everything
from studios import PATIENCE, idle, running

from phinmf.cli.studio import announce
from phinmf.studio import guard
from phinmf.studio.guard import Guard


@pytest.fixture(scope="module")
def shared(tmp_path_factory, wav):
    """A studio with one version, for requests that change nothing."""
    with running(tmp_path_factory.mktemp("guard") / "home") as client:
        client.upload(wav)
        client.until(idle)
        yield client


@pytest.fixture
def studio(shared):
    """The shared studio, which is as before afterwards."""
    before = everything(shared.session.home.path)
    yield shared
    assert everything(shared.session.home.path) == before
    assert len(shared.versions()[0]) == 1


PATHS = [
    "../", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "..%5c..%5cwindows", "%00",
    "index.html%00.js", "/etc/passwd", "%2fetc%2fpasswd", "//etc/passwd", "page/../app.py",
    "..%252fapp.py", "%c0%ae%c0%ae/app.py", "app.py", "__init__.py", ".hidden", "versions/../../x",
    "versions/%2e%2e%2fwhole/overview", "exports/..%2f..%2fsong%2fsong.wav",
    "exports/%2fetc%2fpasswd",
    "versions//overview", "versions/v1%00/overview", "C:%5cwindows%5cwin.ini", "a" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_to_a_file(studio, path):
    for method in ("GET", "DELETE", "PUT", "POST"):
        got = studio(method, path, b"{}" if method in ("PUT", "POST") else None)
        assert got.status in (400, 404, 405)
        assert b"root:" not in got.body


def test_without_the_secret_nothing_is_known(studio):
    for secret in ("", "x", "..", "%00", "%c3%a9", "a" * 32, studio.prefix[1:-3]):
        for path in ("", "events", "versions/v1/overview", "index.html"):
            got = studio("GET", f"/{secret}/{path}", prefix="")
            assert got.status == 404
            assert got.json == {"error": "this address is not known here"}


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "",
             "192.168.0.1:{port}", "127.0.0.1:{port}.evil.example", "localhost.evil.example:{port}"]
)  # fmt: skip
def test_another_host_is_refused(studio, host):
    """A name of an attacker that leads to this computer (DNS rebinding)."""
    host = host.format(port=studio.port)
    got = studio("GET", "versions/v1/overview", headers={"Host": host})
    assert got.status in (400, 421)
    with socket.create_connection((studio.host, studio.port)) as raw:
        both = f"Host: 127.0.0.1:{studio.port}\r\nHost: {host}\r\n"
        raw.sendall(f"GET {studio.prefix} HTTP/1.1\r\n{both}\r\n".encode())
        assert raw.recv(100).split()[1] in (b"400", b"421")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1"])
def test_our_own_names_are_accepted(studio, host):
    headers = {"Host": f"{host}:{studio.port}", "Origin": f"http://{host.lower()}:{studio.port}"}
    assert studio("GET", "versions/v1/overview", headers=headers).status == 200
    assert host.lower() in Guard(None, "secret", 80).hosts  # browsers leave this port out


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1", "",
                                    "https://127.0.0.1:{port}", "http://127.0.0.1:1"])  # fmt: skip
def test_a_foreign_origin_is_refused(studio, origin):
    headers = {"Origin": origin.format(port=studio.port)}
    for method, path in (
        ("DELETE", "versions/v1"),
        ("GET", "events"),
        ("POST", "recordings?name=a"),
    ):
        assert studio(method, path, headers=headers).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_requests_of_other_pages_are_refused(studio, site):
    assert studio("GET", "", headers={"Sec-Fetch-Site": site}).status == 403
    assert studio("DELETE", "versions/v1", headers={"Sec-Fetch-Site": site}).status == 403


def test_only_the_page_may_be_opened_by_a_link(studio):
    opened = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    document = {**opened, "Sec-Fetch-Dest": "document"}
    assert studio("GET", "", headers=document).status == 200
    assert studio("GET", "", headers={**opened, "Sec-Fetch-Dest": "iframe"}).status == 403
    assert studio("POST", "", headers=document).status == 403
    assert studio("GET", "versions/v1/overview", headers=document).status == 403
    assert studio("GET", "", headers={**document, "Origin": "http://evil.example"}).status == 403


@pytest.mark.parametrize("visited", [True, False])
def test_the_browser_is_not_started_with_the_secret(home, monkeypatch, visited):
    opened = []

    def browser(address):
        path = Path(url2pathname(urlsplit(address).path))
        modes = [at.stat().st_mode & 0o777 for at in (path, path.parent)] if path.exists() else []
        opened.append((address, path, modes, path.read_text() if path.exists() else ""))
        return True

    def until(condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.01)

    monkeypatch.setattr(webbrowser, "open", browser)
    with running(home) as studio:
        announce(studio.server, Namespace(output=home, no_browser=False))
        until(lambda: opened)
        ((address, path, modes, content),) = opened
        assert studio.prefix.strip("/") not in address
        assert studio.server.address in content
        assert modes == [0o600, 0o700] or os.name != "posix"
        if visited:
            assert studio("GET", "").status == 200
            until(lambda: not path.parent.exists())
        else:
            assert path.exists()
    assert not home.exists()


def test_every_answer_is_protected(studio):
    for method, path in (("GET", "nothing"), ("GET", "versions/v1/overview"), ("PATCH", "events")):
        headers = studio(method, path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_large_bodies_are_refused(studio):
    for length in (str(2**20 + 1), "9" * 30, "-1", "1e3"):
        connection = http.client.HTTPConnection(studio.host, studio.port, timeout=20)
        connection.putrequest("PUT", f"{studio.prefix}versions/v1/mix")
        connection.putheader("Content-Length", length)
        connection.endheaders()
        assert connection.getresponse().status in (400, 413)
        connection.close()
    pieces = (b" " * 2**16 for _ in range(17))
    assert studio("PUT", "versions/v1/mix", pieces).status == 413


def test_a_body_that_does_not_come_is_given_up(studio, monkeypatch):
    monkeypatch.setattr(guard, "PATIENCE", 0.2)
    connection = http.client.HTTPConnection(studio.host, studio.port, timeout=20)
    connection.putrequest("PUT", f"{studio.prefix}versions/v1/mix")
    connection.putheader("Content-Length", "10")
    connection.endheaders(b"{")
    assert connection.getresponse().status == 408
    connection.close()


MIX = '{"revision": 0, "groups": %s, "levels": %s}'


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"revision": 0}', b"1" * 10_000,
     *(text.encode() for text in (
         MIX % ("null", "[]"), MIX % ("[1]", "[]"), MIX % ('[{"name": 1, "components": []}]', "[]"),
         MIX % ('[{"name": "a", "components": ["1"]}]', "[]"),
         MIX % ('[{"name": "a", "components": [1.5]}]', "[]"),
         MIX % ('[{"name": "a", "components": [true]}]', "[]"),
         MIX % ("[]", '[{"gain_db": NaN}]'), MIX % ("[]", '[{"gain_db": 1e999}, {}, {}]'),
         MIX % ("[]", '[{"gain_db": -Infinity}]'), MIX % ("[]", '[{"pan": "left"}]'),
         MIX % ("[]", '[{"muted": 1}, {}, {}]'), MIX % ("[]", "[{}]"),
         MIX % ('[{"name": "a", "components": [0]}]', "[]"),
         MIX % ('[{"name": "../a", "components": [1]}]', "[]"),
         MIX % ('[{"name": "\\ud800", "components": [1]}]', "[]"),
     ))],
)  # fmt: skip
def test_nonsense_is_refused_in_a_sentence(studio, body):
    got = studio("PUT", "versions/v1/mix", body)
    assert got.status == 400
    assert 10 < len(got.json["error"]) < 300
