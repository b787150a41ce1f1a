import pytest
import sound_files
from studios import QUICK, idle, running

from phinmf.studio import jobs, session
from phinmf.unmixing.options import UnmixOptions


@pytest.fixture(autouse=True, scope="session")
def quickly(tmp_path_factory):
    """Learn little, so that small sounds are unmixed in a moment; log faults elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        defaults = UnmixOptions()  # of what learns nothing
        patch.setattr(session, "UnmixOptions", lambda **how: QUICK if how else defaults)
        patch.setattr(jobs, "warm_up", lambda: None)
        yield


@pytest.fixture
def previews(monkeypatch):
    """Let the small recording be long enough for a preview."""
    monkeypatch.setattr(session, "LONG", 0.5)
    monkeypatch.setattr(session, "PREVIEW_SECONDS", 0.25)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def studio(home):
    """A studio in which nothing is open."""
    with running(home) as client:
        yield client


@pytest.fixture(scope="session")
def wav(tmp_path_factory):
    """The bytes of a small stereo recording."""
    path = tmp_path_factory.mktemp("made") / "made.wav"
    return sound_files.write(path, sound_files.tones(channels=2)).read_bytes()


@pytest.fixture
def version(studio, wav):
    """The only version of the studio."""
    assert studio.upload(wav).status == 201
    ((version,),) = studio.versions(studio.until(idle))
    return version


@pytest.fixture
def filled(home, wav):
    """The folder of a studio that has ended, with one recording in one version."""
    with running(home) as studio:
        studio.upload(wav)
        studio.until(idle)
    return home
