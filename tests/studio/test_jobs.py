"""Work in the background: its order, its progress, and how it is cancelled without a trace."""

import threading

import pytest
from kept import everything
from studios import PATIENCE, idle, running

from phinmf.errors import log_path
from phinmf.studio import session
from phinmf.studio.home import LOCK
from phinmf.studio.jobs import DOING, WAITS
from phinmf.unmixing.progress import CHECKING, LEARNING, SEPARATING

OTHERS = (LEARNING, SEPARATING, CHECKING)
MOMENTS = ["reading", *(pytest.param(moment, marks=pytest.mark.full) for moment in OTHERS)]
#: What is in the home when nothing was unmixed.
LEFT = {
    "song", "song/song.wav", "song/studio.json",
    "later", "later/later.wav", "later/studio.json",
}  # fmt: skip


@pytest.fixture
def halted(monkeypatch):
    """Stop a job at a moment: the first event says that it is there, the second lets it go on."""
    reached, go = threading.Event(), threading.Event()
    unmix = session.unmix_file

    def at(moment):
        def pass_by(name):
            if name == moment:
                reached.set()
                assert go.wait(PATIENCE)

        def unmix_file(request, progress):
            pass_by("reading")

            def reported(stage, share):
                pass_by(stage)
                progress(stage, share)

            return unmix(request, progress=reported)

        monkeypatch.setattr(session, "unmix_file", unmix_file)
        return reached, go

    yield at
    go.set()


@pytest.mark.parametrize("moment", MOMENTS)
def test_cancelled_at_any_moment_and_before(studio, home, wav, halted, moment):
    reached, go = halted(moment)
    studio.upload(wav)
    studio.upload(wav, "later.wav")
    assert reached.wait(PATIENCE)
    (waiting,) = studio.state["recordings"][1]["jobs"]
    assert waiting["state"] == "waiting"
    assert studio("DELETE", f"jobs/{waiting['id']}").status == 204
    assert studio.state["recordings"][1]["jobs"] == []
    (job,) = studio.state["recordings"][0]["jobs"]
    assert job["state"] == "running"
    for _ in range(2):  # the second time changes nothing
        assert studio("DELETE", f"jobs/{job['id']}").status == 204
        assert studio.state["recordings"][0]["jobs"][0]["state"] == "cancelling"
    go.set()
    assert studio.versions(studio.until(idle)) == [[], []]
    assert {name for name in everything(home) if not name.startswith(".")} == LEFT
    (unfinished,) = home.glob(".*")
    assert [path.name for path in unfinished.iterdir()] == [LOCK]


@pytest.mark.parametrize("moment", MOMENTS)
def test_ended_at_any_moment(home, wav, halted, moment):
    reached, go = halted(moment)
    with running(home) as studio:
        studio.upload(wav)
        studio.upload(wav, "later.wav")
        assert reached.wait(PATIENCE)
        studio.session.closing = True
        threading.Timer(0.2, go.set).start()
    assert set(everything(home)) == LEFT


def test_a_preview_waits_for_no_long_job_and_its_groups_are_carried_over(
    studio, wav, previews, monkeypatch
):
    unmix, begun, go = session.unmix_file, threading.Event(), threading.Event()

    def slowly(request, progress):
        if request.recording.length == 6000:  # the whole
            begun.set()
            assert go.wait(PATIENCE)
        return unmix(request, progress=progress)

    monkeypatch.setattr(session, "unmix_file", slowly)
    studio.upload(wav)
    assert begun.wait(PATIENCE)
    studio.upload(wav, "next.wav")
    state = studio.until(lambda state: [len(one) for one in studio.versions(state)] == [1, 1])
    (preview,), _ = studio.versions(state)
    assert (preview["kind"], preview["first_sample"], preview["length"]) == ("preview", 2000, 2000)
    groups = [{"name": "all", "colour": 7, "components": [1, 2, 3]}]
    assert studio.save(0, groups, id=preview["id"]).status == 200
    go.set()
    (preview, whole), (_, other) = studio.versions(studio.until(idle))
    assert (preview["groups"], whole["groups"], whole["revision"]) == (groups, groups, 1)
    assert (whole["kind"], other["kind"], other["groups"]) == ("whole", "whole", [])


def test_what_is_done_is_said_and_its_share_never_goes_back(studio, wav, previews):
    studio.upload(wav)
    shares = {}
    for state in studio.states():
        for job in state["recordings"][0]["jobs"]:
            shares.setdefault((job["id"], job["doing"]), []).append(job["share"])
        if idle(state):
            break
    assert {DOING[LEARNING], WAITS} <= {doing for _, doing in shares}
    for values in shares.values():
        assert values == sorted(values)
        assert max(values) <= 1


@pytest.mark.parametrize(
    ("fault", "said"), [(MemoryError, "MemoryError"), (ZeroDivisionError, "fault of phinmf")]
)
def test_a_failing_job_does_not_stop_the_next(studio, wav, tmp_path, monkeypatch, fault, said):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    unmix, faults = session.unmix_file, [fault]

    def failing(*arguments, **named):
        if faults:
            raise faults.pop()
        return unmix(*arguments, **named)

    monkeypatch.setattr(session, "unmix_file", failing)
    studio.upload(wav)
    studio.upload(wav, "next.wav")
    state = studio.until(lambda state: [len(one) for one in studio.versions(state)] == [0, 1])
    (job,) = state["recordings"][0]["jobs"]
    assert job["state"] == "failed"
    assert said in job["doing"]
    assert log_path().exists() == (fault is ZeroDivisionError)  # with its traceback
