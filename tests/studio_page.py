"""``phinmf studio`` for the tests: its process, and its page in a browser."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from urllib.parse import quote

import browser
from studios import PATIENCE, Client, idle

STUDIO = "window.phinmfStudio"


class StudioProcess(Client):
    """The command in a process of its own; started again, it has the same port."""

    def __init__(self, home, inputs, said):
        self.home, self.inputs, self.said, self.port = home, inputs, said, 0

    def start(self):
        """Start it, or start it again after it ended, and wait until it says where it is."""
        command = [
            sys.executable, "-m", "phinmf", "studio", "--no-browser", "-o", self.home,
            "--port", self.port, *self.inputs,
        ]  # fmt: skip
        self.process = subprocess.Popen(
            list(map(str, command)), stdout=self.said, stderr=self.said, start_new_session=True,
            env=dict(os.environ, PYTHONUNBUFFERED="1"),
        )  # fmt: skip
        end = time.monotonic() + PATIENCE
        while "http://" not in (said := self.output()) or "\n" not in said.partition("http://")[2]:
            assert self.process.poll() is None, said
            assert time.monotonic() < end, said
            time.sleep(0.02)
        self.address = next(word for word in said.split() if word.startswith("http://"))
        super().__init__(self.address)

    def output(self):
        """What it has said so far."""
        self.said.seek(0)
        return self.said.read()

    def end(self, number=signal.SIGINT):
        """Send a signal; return the exit code and everything that was said."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        said = self.output()
        self.said.truncate(0)
        return code, said

    def version(self, folder):
        """The state of the version in a folder."""
        versions = [version for each in self.versions() for version in each]
        return next(version for version in versions if version["folder"] == str(folder))

    def ungroup(self, folder):
        """Forget all groups and levels of a version.

        What a page sent just before it was closed may still arrive in between, and then it is
        stored first; a page that is closed sends nothing after that.
        """
        for _ in range(5):
            version = self.version(folder)
            answer = self.save(version["revision"], id=version["id"])
            if answer.status != 409:
                break
        assert answer.status == 200, answer.body

    def until_idle(self, n_versions):
        """Wait until the first recording has as many versions and no work is left."""
        return self.until(lambda state: idle(state) and len(self.versions(state)[0]) == n_versions)


@contextlib.contextmanager
def studio(home, *inputs):
    """Run the command; kill it at the end if it still runs."""
    with tempfile.TemporaryFile("w+") as said:
        process = StudioProcess(home, inputs, said)
        process.start()
        try:
            yield process
        finally:
            process.end(signal.SIGKILL)


def show(page, process, folder):
    """Open the page of a studio at a version, and wait until it is drawn."""
    page.visit(f"{process.address}#{quote(str(folder), safe='')}")
    page.until(f"{STUDIO}?.store.shown === {json.dumps(str(folder))}", PATIENCE)
    page.until(f"{STUDIO}.rows.overview")


def show_untouched(page, process, folder):
    """Open a version as if nobody had grouped anything yet."""
    page.visit("about:blank")  # whatever is open there saves no more
    process.ungroup(folder)
    page.look(1280, 1400)
    show(page, process, folder)
    return page


def drop(page, *files):
    """Drop files from the disk onto the page, as a hand does."""
    for kind in ("dragEnter", "dragOver", "drop"):
        data = {"items": [], "files": list(map(str, files)), "dragOperationsMask": 1}
        event = {"type": kind, "x": 300, "y": 300, "data": data}
        page.driver.execute_cdp_cmd("Input.dispatchDragEvent", event)


def rendered(page, start, count):
    """Left and right of what would be heard from a sample on: (2, count)."""
    return browser.rendered(page, STUDIO, start, count)


def groups(page):
    """Names and components of the groups, as this page has them."""
    found = page.js(f"{STUDIO}.mix.groups.map(({{name, components}}) => [name, components])")
    return dict(found)


def until_saved(page):
    """Wait until the page says that everything is saved."""
    page.until("document.querySelector('.status').textContent === 'saved'")


def text(page, selector):
    """The text of an element."""
    return page.js(f"document.querySelector({json.dumps(selector)}).textContent")


def downloaded(page, folder, kind):
    """Click on an export; return the file that was downloaded."""
    before = set(folder.iterdir())
    page.click(f"[data-export={kind}]")
    page.until("document.querySelector('[data-notice=export]')", 30)
    assert "error" not in page.js("document.querySelector('[data-notice=export]').className")
    name = text(page, "[data-notice=export] p")
    page.click("[data-notice=export] [data-action=dismiss]")
    for _ in range(200):
        new = [path for path in set(folder.iterdir()) - before if path.suffix != ".crdownload"]
        if new:
            return new[0], name
        page.js("new Promise((done) => setTimeout(done, 50))")
    raise AssertionError("nothing was downloaded")
