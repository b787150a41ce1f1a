"""The whole way through the studio: drop, wait, listen, group, take away, come back."""

import json
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import soundfile
from browser import PLAYER
from sound_files import integers, tones, write
from studio_page import STUDIO, downloaded, drop, groups, rendered, show, studio, text, until_saved
from studios import PATIENCE

from phinmf.cli import main
from phinmf.studio.serving import LINK

pytestmark = pytest.mark.full

RATE = 8000
DOWN, ENTER = "\ue015", "\ue007"


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """45 seconds: long enough for a preview."""
    folder = tmp_path_factory.mktemp("recording")
    return write(folder / "long song.flac", tones(45 * RATE, 2), subtype="PCM_16")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("flow") / "home"


@pytest.fixture(scope="module")
def flow(home, recording, browser):
    """A studio in which a recording was dropped, heard, grouped and unmixed."""
    with studio(home) as process:
        browser.look(1280, 1400)
        browser.visit(process.address)
        drop(browser, recording)
        browser.until(f"{STUDIO}.store.shown", 120)
        yield process


def test_the_file_that_a_browser_is_started_with_leads_to_the_page(browser, server, tmp_path):
    file = tmp_path / "studio.html"
    file.write_text(LINK.format(address=server.address))
    browser.open(file)
    browser.until(f"{STUDIO}?.store.shown", PATIENCE)
    browser.driver.refresh()
    browser.until(f"{STUDIO}?.store.shown", PATIENCE)


def test_from_the_drop_to_what_is_taken_away(flow, browser, home, recording, downloads, tmp_path):
    process, page = flow, browser

    # the preview is heard while the whole recording is being unmixed
    preview = process.version(home / "long song" / "preview")
    assert page.js(f"{STUDIO}.store.shown") == preview["folder"]
    assert preview["kind"] == "preview"
    assert preview["length"] == 30 * RATE
    exact = soundfile.read(recording, dtype="float32")[0].T
    first = preview["first_sample"]
    heard = rendered(page, 0, RATE)
    np.testing.assert_allclose(heard, exact[:, first : first + RATE], rtol=0, atol=1e-6)
    page.press(" ")
    page.until(f"{STUDIO}.playing && {STUDIO}.position > 1000")
    assert text(page, ".now").startswith("0:07")  # the clock is that of the recording
    page.press(" ")

    page.press("1", shift=True)  # somebody is busy with the preview: the whole is offered
    until_saved(page)
    state = process.until_idle(n_versions=2)
    page.until("document.querySelector('[data-notice=ready]')")
    page.click("[data-notice=ready] [data-action=accept]")
    whole = home / "long song" / "whole"
    page.until(f"{STUDIO}.store.shown === {json.dumps(str(whole))}")
    (one,) = state["recordings"]
    assert [version["kind"] for version in one["versions"]] == ["preview", "whole"]
    page.press(DOWN + DOWN + "x" + DOWN + "x" + "g" + "drums" + ENTER)
    until_saved(page)

    # groups and rest are taken away: the null test
    file, said = downloaded(page, downloads, "groups")
    assert file.name == "long song groups.zip"
    assert "add up to the recording bit for bit" in said
    with zipfile.ZipFile(file) as bundle:
        bundle.extractall(tmp_path)
        names = [name.rpartition("/")[2] for name in bundle.namelist()]
    assert names == ["01 drums.flac", "02 rest.flac"]
    parts = sorted(tmp_path.rglob("*.flac"))
    assert np.array_equal(sum(integers(part) for part in parts), integers(recording))
    assert {soundfile.info(part).frames for part in parts} == {45 * RATE}

    # a mix as it sounds
    page.press("0")
    page.click("[data-component='1'] [data-action=gain]", x=0.4)
    page.click("[data-component='2'] [data-action=pan]", x=0.2)
    page.click("[data-component='3'] [data-action=mute]")
    page.press("\ue00c")  # nothing is soloed
    file, _ = downloaded(page, downloads, "mix")
    mix = soundfile.read(file, dtype="float64")[0].T
    assert mix.shape == exact.shape
    heard = rendered(page, 10 * RATE, RATE)
    np.testing.assert_allclose(mix[:, 10 * RATE :][:, :RATE], heard, rtol=0, atol=1.01 / 2**15)
    until_saved(page)

    # the command line knows the same groups
    assert main(["export", str(whole), "-o", str(tmp_path / "groups")]) == 0
    written = [tmp_path / "groups" / name for name in ("01 drums.flac", "02 rest.flac")]
    assert np.array_equal(sum(integers(part) for part in written), integers(recording))


def test_groups_of_the_page_are_those_of_the_command_line_and_the_report(
    unmixed, browser, tmp_path
):
    model = str(unmixed / "few" / "song" / "model.npz")
    song = str(unmixed / "song.wav")
    assert main(["unmix", song, "-o", str(tmp_path), "--model", model, "--quiet"]) == 0
    folder = tmp_path / "song"
    assert main(["unmix", str(folder), "--group", "typed=2,3", "--quiet"]) == 0
    with studio(tmp_path / "home", folder) as process:
        show(browser, process, folder)
        assert groups(browser) == {"typed": [2, 3]}
        browser.press(DOWN * 2 + "m" + DOWN * 5 + "g" + "clicked" + ENTER)
        until_saved(browser)
        found = groups(browser)
        assert len(found) == 2
        assert process.end()[0] == 0
    grouped = {number for components in found.values() for number in components}
    found["rest"] = [number for number in range(1, 7) if number not in grouped]
    assert groups_of_the_report(browser, folder) == found  # drawn again when the studio ended


def groups_of_the_report(page, folder):
    """Names and components of the groups that the static page shows."""
    page.open(folder / "report.html")
    assert page.resolved(f"{PLAYER}.ready") is True
    return dict(page.js(f"{PLAYER}.mix.groups.map(({{name, components}}) => [name, components])"))


def test_another_number_of_components_side_by_side(flow, browser, home):
    process = flow
    whole = home / "long song" / "whole"
    show(browser, process, whole)
    browser.click("[popovertarget=again]")
    browser.do("document.querySelector('[name=n_components]').select()")
    browser.press("5")
    browser.click("#again [type=submit]")
    state = process.until_idle(n_versions=3)
    (one,) = state["recordings"]
    last = one["versions"][-1]
    assert len(last["components"]) == 5
    browser.until(
        f"document.querySelectorAll('.versions [role=tab]').length === {len(one['versions'])}"
    )
    browser.until(f"{STUDIO}.store.shown === {json.dumps(last['folder'])}")  # nobody was busy
    words = browser.js(
        "[...document.querySelectorAll('.versions [role=tab]')].map(e => e.textContent)"
    )
    assert "5 components" in words[-1]
    browser.press("t")
    assert browser.js(f"{STUDIO}.store.shown") == one["versions"][0]["folder"]

    # and removed again: what it wrote, and nothing else
    browser.press("tt")
    kept = {version["folder"] for version in one["versions"][:-1]}
    browser.click("[data-action=remove-version]")
    browser.driver.switch_to.alert.dismiss()
    assert Path(last["folder"]).exists()
    browser.click("[data-action=remove-version]")
    question = browser.driver.switch_to.alert
    assert last["folder"] in question.text
    question.accept()
    browser.until("document.querySelectorAll('.versions [role=tab]').length === 2")
    end = time.monotonic() + PATIENCE
    while Path(last["folder"]).exists():  # first it disappears from the page, then from the disk
        assert time.monotonic() < end
        time.sleep(0.02)
    assert all(Path(folder).exists() for folder in kept)
    assert browser.js(f"{STUDIO}.store.shown") in kept
    assert browser.errors() == []
