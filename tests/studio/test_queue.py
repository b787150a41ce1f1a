"""The order of work in the background."""

import threading
from contextlib import contextmanager

import pytest
from studios import PATIENCE

from phinmf.errors import log_path
from phinmf.studio.jobs import Queue


class Errand:
    """What the queue needs of a job: it says that it runs, and waits."""

    def __init__(self, id, urgent):
        self.id = id
        self.urgent = urgent
        self.status = "waiting"
        self.message = None
        self.cancelled = threading.Event()
        self.begun, self.go = threading.Event(), threading.Event()

    def run(self, workplace):
        self.begun.set()
        assert self.go.wait(PATIENCE)


@pytest.fixture
def queue(tmp_path):
    @contextmanager
    def workplace():
        yield tmp_path

    queue = Queue(workplace, lambda: None)
    queue.start(lambda: None)
    yield queue
    queue.close()


def test_urgent_work_does_not_wait_for_a_long_job(queue):
    long, later, urgent, second = (
        Errand("long", False), Errand("later", False), Errand("urgent", True), Errand("next", True)
    )  # fmt: skip
    queue.add(long)
    assert long.begun.wait(PATIENCE)
    for errand in (later, urgent, second):
        queue.add(errand)
    assert urgent.begun.wait(PATIENCE)
    assert not second.begun.wait(0.1)
    long.go.set()
    assert not later.begun.wait(0.1)  # urgent ones are still there
    urgent.go.set()
    assert second.begun.wait(PATIENCE)
    assert not later.begun.wait(0.1)
    second.go.set()
    assert later.begun.wait(PATIENCE)
    later.go.set()


def test_a_failed_urgent_job_holds_nobody_up(queue):
    urgent, later = Errand("urgent", True), Errand("later", False)
    urgent.run = lambda workplace: 1 / 0
    queue.add(urgent)
    queue.add(later)
    assert later.begun.wait(PATIENCE)
    assert urgent.status == "failed"
    assert "fault of phinmf" in urgent.message
    assert "Traceback" in log_path().read_text()
    later.go.set()
