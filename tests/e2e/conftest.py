import pytest
from browser import chromium
from sound_files import tones, write
from studio_page import show_untouched, studio

from phinmf.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def unmixed(tmp_path_factory):
    """Four seconds in stereo, and the folders of 6 and of 32 components that unmix wrote."""
    folder = tmp_path_factory.mktemp("unmixed")
    song = write(folder / "song.wav", tones(32_000, 2))
    for name, number in (("few", 6), ("many", 32)):
        quick = ["--window", "64", "--no-report", "--quiet"]
        assert main(["unmix", str(song), "-o", str(folder / name), "-k", str(number), *quick]) == 0
    return folder


@pytest.fixture(scope="session")
def server(unmixed, tmp_path_factory):
    """One studio for all tests that learn nothing."""
    home = tmp_path_factory.mktemp("studio") / "home"
    with studio(home, unmixed / "few" / "song", unmixed / "many" / "song") as process:
        yield process


@pytest.fixture
def few(browser, server, unmixed):
    """The page with the take of 6 components, without groups."""
    return show_untouched(browser, server, unmixed / "few" / "song")


@pytest.fixture
def many(browser, server, unmixed):
    """The page with the take of 32 components, without groups."""
    return show_untouched(browser, server, unmixed / "many" / "song")


@pytest.fixture(scope="session")
def downloads(browser, tmp_path_factory):
    """The folder into which the browser downloads."""
    folder = tmp_path_factory.mktemp("downloads")
    how = {"behavior": "allow", "downloadPath": str(folder)}
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", how)
    return folder
