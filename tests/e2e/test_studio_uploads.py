"""Files that arrive in the studio: hostile, broken, cancelled."""

import numpy as np
import pytest
import soundfile
from reports import HOSTILE
from sound_files import tones, write
from studio_page import STUDIO, drop, groups, studio, text, until_saved

pytestmark = pytest.mark.full

RATE = 8000
ENTER = "\ue007"


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A studio with nothing in it."""
    with studio(tmp_path_factory.mktemp("uploads") / "home") as process:
        yield process


@pytest.fixture
def page(browser, own):
    browser.look(1280, 1000)
    browser.visit(own.address)
    browser.until(f"{STUDIO}?.store.home")
    return browser


def texts(page, selector):
    return page.js(f"[...document.querySelectorAll('{selector}')].map(e => e.textContent)")


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_what_is_no_sound_is_answered_in_a_sentence(page, own, tmp_path):
    broken = write(tmp_path / "broken.flac", tones(20_000), format="FLAC")
    broken.write_bytes(b"fLaC" + bytes(200) + broken.read_bytes()[400:])
    (tmp_path / "notes.txt").write_text("no sound at all")
    (tmp_path / "empty.wav").write_bytes(b"")
    drop(page, broken, tmp_path / "notes.txt", tmp_path / "empty.wav")
    page.until("document.querySelectorAll('.upload.failed').length === 3", 30)
    said = texts(page, ".upload.failed .doing")
    for name, sentence in zip(("broken.flac", "notes.txt", "empty.wav"), said, strict=True):
        assert name in sentence
        assert "Traceback" not in sentence
        assert str(tmp_path.parent) not in sentence
        assert str(own.home) not in sentence
    for _ in range(3):
        page.click(".upload [data-action=cancel]")
    assert texts(page, ".upload") == []
    assert own.state["recordings"] == []
    assert files_in(own.home) == [] or all("studio-" in name for name in files_in(own.home))


def test_cancelling_leaves_nothing_behind(page, own, tmp_path):
    """Cancel both jobs of a long recording; tests/studio/test_jobs.py does it at any moment."""
    drop(page, write(tmp_path / "long.wav", tones(120 * RATE, 2)))
    page.until("document.querySelectorAll('[data-job]').length === 2", 30)
    page.do("for (const stop of document.querySelectorAll('[data-job] button')) stop.click()")
    page.until("document.querySelectorAll('[data-job]').length === 0", 30)
    finished = {version["name"].lower() for version in own.state["recordings"][-1]["versions"]}
    left = {path.name for path in (own.home / "long").iterdir()}
    assert left == {"studio.json", "long.wav", *finished}
    assert [path for path in own.home.glob(".phinmf-studio-*/*") if path.is_dir()] == []
    assert page.errors() == []


def test_an_upload_that_is_cancelled_leaves_nothing_behind(page, own, tmp_path):
    slow = {"offline": False, "latency": 50, "downloadThroughput": -1, "uploadThroughput": 10**6}
    page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", slow)
    try:
        # far more than the system takes from the browser before the server reads it
        drop(page, write(tmp_path / "slow.wav", np.tile(tones(RATE, 2), (900, 1))))
        page.until("document.querySelector('.upload .doing')?.textContent === 'Sending'", 30)
        page.click(".upload [data-action=cancel]")
        assert texts(page, ".upload") == []
    finally:
        fast = {**slow, "latency": 0, "uploadThroughput": -1}
        page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", fast)
    for _ in range(100):
        if not (left := list(own.home.glob(".phinmf-studio-*/*/*"))):
            break
        page.resolved("new Promise((done) => setTimeout(done, 50))")
    assert left == []
    assert not any("slow" in one["name"] for one in own.state["recordings"])


def test_hostile_names_and_tags_are_shown_and_not_executed(page, own, tmp_path):
    name = "<img src=x onerror=alert(1)>.flac"
    path = tmp_path / name
    with soundfile.SoundFile(path, "w", RATE, 1, format="FLAC") as file:
        file.title = HOSTILE
        file.write(tones(3 * RATE))
    page.do(
        "window.violations = []; document.addEventListener("
        "'securitypolicyviolation', (e) => violations.push(e.blockedURI))"
    )
    shown = page.js(f"{STUDIO}.store.shown")
    drop(page, path)
    if shown:  # what is dropped is offered
        page.until("document.querySelector('[data-notice=ready]')", 60)
        page.click("[data-notice=ready] [data-action=accept]")
    page.until(f"{STUDIO}.store.shown && {STUDIO}.rows.overview", 60)
    page.until(f"{STUDIO}.mix.version.kind === 'whole'", 60)
    assert text(page, "#title bdi") == HOSTILE
    assert texts(page, ".recording .file bdi")[-1] == HOSTILE
    assert page.js("[...document.querySelectorAll('.recording .file')].at(-1).title") == name
    group = "&amp ' ` ${alert(1)} ]'][x]"
    page.press("\ue015\ue015" + "g" + group + ENTER)
    until_saved(page)
    assert list(groups(page)) == [group]
    assert page.js("document.querySelector('.group .title').value") == group
    page.click("[data-export=groups]")
    page.until("document.querySelector('[data-notice=export]')", 30)
    assert page.js("window.violations") == []
    assert not page.js("window.attacked")
    assert page.js("document.querySelectorAll('img, script:not([src])').length") == 0
    host = own.address.split("/")[2]
    assert all(host in address for address in page.requests() if address.startswith("http"))
    assert [words for words in page.errors() if "No available adapters" not in words] == []
    for folder in own.home.iterdir():
        assert not set(folder.name) & set('<>:"|?*\\')


def test_several_files_are_chosen_and_taken_one_after_the_other(page, own, tmp_path):
    before = len(own.state["recordings"])
    names = [f"part {i}.wav" for i in range(3)]
    files = [write(tmp_path / name, np.tile(tones(RATE), (2, 1))) for name in names]
    chooser = page.driver.find_element("css selector", "input[type=file]")
    chooser.send_keys("\n".join(map(str, files)))
    state = own.until(lambda state: len(state["recordings"]) == before + 3)
    assert [one["name"] for one in state["recordings"]][before:] == names
    own.until(lambda state: not any(one["jobs"] for one in state["recordings"]))
    page.until(
        "document.querySelectorAll('.recording [data-action=show-recording]:enabled').length >= 3"
    )
    assert page.errors() == []
