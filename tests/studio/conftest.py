import pytest
import sound_files
from studios import QUICK, idle, running

from phinmf.studio import session


@pytest.fixture(autouse=True)
def quickly(monkeypatch, tmp_path):
    """Learn little, so that small sounds are unmixed in a moment; log faults elsewhere."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(session, "UnmixOptions", lambda **how: QUICK)
    monkeypatch.setattr(session, "warm_up", lambda: None)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def studio(home):
    """A studio in which nothing is open."""
    with running(home) as client:
        yield client


@pytest.fixture
def wav(tmp_path):
    """The bytes of a small stereo recording."""
    return sound_files.write(tmp_path / "made.wav", sound_files.tones(channels=2)).read_bytes()


@pytest.fixture
def take(studio, wav):
    """The only take of the studio."""
    assert studio.upload(wav).status == 201
    (recording,) = studio.until(idle)["recordings"]
    (take,) = recording["takes"]
    return take
