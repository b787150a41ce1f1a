"""Work in progress: it only goes forwards, and can be cancelled at any moment without a trace."""

import threading
import time

import pytest
from kept import everything
from studios import PATIENCE, Client, idle, running

from phinmf.studio import jobs, session
from phinmf.studio.scratch import LOCK
from phinmf.unmixing.progress import CHECKING, LEARNING, SEPARATING

MOMENTS = ["reading", LEARNING, SEPARATING, CHECKING, "carrying"]


@pytest.fixture
def held(monkeypatch):
    """Hold a job at a moment: the function sets it, the events say that it is there and let go."""
    reached, go = threading.Event(), threading.Event()

    def hold(moment):
        def here(name):
            if name == moment:
                reached.set()
                assert go.wait(PATIENCE)

        unmix, carry = jobs.unmix_file, session.Session._grouped

        def unmix_file(request, progress):
            here("reading")

            def reported(stage, share):
                here(stage)
                progress(stage, share)

            return unmix(request, progress=reported)

        def grouped(self, recording, job):
            here("carrying")
            return carry(self, recording, job)

        monkeypatch.setattr(jobs, "unmix_file", unmix_file)
        monkeypatch.setattr(session.Session, "_grouped", grouped)
        return reached, go

    yield hold
    go.set()


def visible(home):
    """Everything in a home but the folder for unfinished work."""
    return {name: what for name, what in everything(home).items() if not name.startswith(".")}


@pytest.mark.full
@pytest.mark.parametrize("moment", MOMENTS)
def test_cancelled_at_any_moment(studio, home, wav, held, moment):
    reached, go = held(moment)
    studio.upload(wav)
    assert reached.wait(PATIENCE)
    (job,) = studio.state["recordings"][0]["jobs"]
    assert job["state"] == "running"
    assert studio("DELETE", f"jobs/{job['id']}").status == 204
    assert studio.state["recordings"][0]["jobs"][0]["state"] == "cancelling"
    assert studio("DELETE", f"jobs/{job['id']}").status == 204  # again, which changes nothing
    go.set()
    assert studio.until(idle)["recordings"][0]["takes"] == []
    assert visible(home).keys() == {"song", "song/song.wav", "song/studio.json"}
    (scratch,) = [path for path in home.iterdir() if path.name.startswith(".")]
    assert [path.name for path in scratch.iterdir()] == [LOCK]


@pytest.mark.full
@pytest.mark.parametrize("moment", MOMENTS)
def test_ended_at_any_moment(home, wav, held, moment):
    reached, go = held(moment)
    with running(home) as studio:
        studio.upload(wav)
        studio.upload(wav, "waiting.wav")
        assert reached.wait(PATIENCE)
        studio.session.closing = True
        threading.Timer(0.2, go.set).start()
    assert sorted(everything(home)) == [
        "song", "song/song.wav", "song/studio.json",
        "waiting", "waiting/studio.json", "waiting/waiting.wav",
    ]  # fmt: skip


def test_a_waiting_job_is_cancelled_at_once(studio, wav, held):
    reached, go = held("reading")
    studio.upload(wav)
    studio.upload(wav, "other.wav")
    assert reached.wait(PATIENCE)
    (waiting,) = studio.state["recordings"][1]["jobs"]
    assert waiting["state"] == "waiting"
    assert studio("DELETE", f"jobs/{waiting['id']}").status == 204
    assert studio.state["recordings"][1]["jobs"] == []
    go.set()
    first, second = studio.until(idle)["recordings"]
    assert len(first["takes"]) == 1
    assert second["takes"] == []


@pytest.mark.full
def test_previews_come_first(studio, wav, held, monkeypatch):
    monkeypatch.setattr(session, "LONG", 0.5)
    monkeypatch.setattr(session, "PREVIEW_SECONDS", 0.25)
    reached, go = held("reading")
    for name in ("a.wav", "b.wav"):
        studio.upload(wav, name)
    assert reached.wait(PATIENCE)
    go.set()
    orders = []
    for state in studio.states():
        orders.append([len(one["takes"]) for one in state["recordings"]])
        if idle(state):
            break
    assert [1, 1] in orders or [1, 0] in orders
    assert [2, 0] not in orders


def test_progress_only_goes_forwards_and_says_what_is_done(studio, wav, held):
    reached, go = held("reading")
    studio.upload(wav)
    assert reached.wait(PATIENCE)
    go.set()
    stages = [jobs.READS, *jobs.DOING.values(), jobs.FINISHES]
    moments = []
    for state in studio.states():
        for job in state["recordings"][0]["jobs"]:
            moments.append((stages.index(job["doing"]), job["share"]))
            assert job["take_name"] == "Whole recording"
        if idle(state):
            break
    assert moments == sorted(moments)
    assert all(0 <= share <= 1 for _, share in moments)


def test_every_tab_sees_every_change(studio, wav):
    other = Client(f"http://{studio.host}:{studio.port}{studio.prefix}")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(other.until(lambda s: s["recordings"])))
    thread.start()
    studio.upload(wav)
    thread.join(PATIENCE)
    assert seen[0]["recordings"][0]["name"] == "song.wav"


def test_groups_of_the_preview_are_carried_over(studio, wav, monkeypatch):
    monkeypatch.setattr(session, "LONG", 0.5)
    monkeypatch.setattr(session, "PREVIEW_SECONDS", 0.4)
    grouped, saved = session.Session._grouped, threading.Event()

    def later(self, recording, job):
        assert job.folder == "preview" or saved.wait(PATIENCE)
        return grouped(self, recording, job)

    monkeypatch.setattr(session.Session, "_grouped", later)
    studio.upload(wav)
    state = studio.until(lambda s: s["recordings"] and s["recordings"][0]["takes"])
    groups = [{"name": "all", "colour": 7, "components": [1, 2, 3]}]
    preview = state["recordings"][0]["takes"][0]["id"]
    mix = {"revision": 0, "groups": groups, "levels": []}
    assert studio("PUT", f"takes/{preview}/mix", mix).status == 200
    saved.set()
    _, whole = studio.until(idle)["recordings"][0]["takes"]
    assert (whole["groups"], whole["revision"]) == (groups, 1)


def test_a_failing_job_does_not_stop_the_next(studio, wav, monkeypatch):
    unmix, calls = jobs.unmix_file, []

    def failing(*arguments, **named):
        calls.append(time.monotonic())
        if len(calls) == 1:
            raise MemoryError
        return unmix(*arguments, **named)

    monkeypatch.setattr(jobs, "unmix_file", failing)
    studio.upload(wav)
    studio.upload(wav, "next.wav")
    state = studio.until(lambda s: len(s["recordings"]) == 2 and s["recordings"][1]["takes"])
    (job,) = state["recordings"][0]["jobs"]
    assert (job["state"], job["message"]) == ("failed", "MemoryError")
