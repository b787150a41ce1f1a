"""Nothing that the studio's page showed as saved is lost, and it never says so too early."""

import json
import shutil
import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest
from studio_page import STUDIO, groups, rendered, show, show_untouched, studio, text, until_saved

pytestmark = pytest.mark.full

DOWN, ENTER = "\ue015", "\ue007"


@contextmanager
def not_answering(process):
    """Let the server sleep for a while."""
    process.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.process.send_signal(signal.SIGCONT)


@contextmanager
def another_tab(page):
    """Open a tab; yield functions that go to the first one and to it."""
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    second = page.driver.current_window_handle
    try:
        yield (
            lambda: page.driver.switch_to.window(first),
            lambda: page.driver.switch_to.window(second),
        )
    finally:
        page.driver.switch_to.window(second)
        page.driver.close()
        page.driver.switch_to.window(first)


def saved_groups(folder):
    """The groups on the disk."""
    mix = json.loads((folder / "result.json").read_text())["mix"]
    return {one["name"]: one["components"] for one in (mix or {}).get("groups", [])}


def group_first(page, name):
    """Put the first component into a group of its own, with the keyboard."""
    page.do(f"{STUDIO}.rows.focus({STUDIO}.rows.components[0])")
    page.press("g" + name + ENTER)


def status(page):
    return text(page, ".status")


@pytest.fixture
def own(tmp_path, unmixed, browser):
    """A studio of its own, with a folder that it may change, and its page."""
    folder = shutil.copytree(unmixed / "few" / "song", tmp_path / "song")
    with studio(tmp_path / "home", folder) as process:
        show_untouched(browser, process, folder)
        yield browser, process, folder
        browser.visit("about:blank")


def test_it_says_saved_only_when_it_is(few, server, unmixed):
    assert status(few) == "saved"
    with not_answering(server):
        group_first(few, "slow")
        said = set()
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            said.add(status(few))
        assert said == {"saving …"}
        assert saved_groups(unmixed / "few" / "song") == {}
    until_saved(few)
    assert saved_groups(unmixed / "few" / "song") == {"slow": [1]}


def test_a_killed_studio_loses_nothing_that_was_saved(own):
    page, process, folder = own
    # without its recording it cannot be unmixed again
    assert page.js("document.querySelector('[popovertarget=again]').disabled")
    group_first(page, "kept")
    until_saved(page)
    assert saved_groups(folder) == {"kept": [1]}
    process.end(signal.SIGKILL)
    page.press("v" + DOWN + ENTER)  # out of the group, or into another one
    page.press(".")
    page.until("document.querySelector('.status').textContent.startsWith('not saved')")
    page.until("!document.querySelector('.banner').hidden")
    assert "phinmf studio" in text(page, ".banner")
    time.sleep(2.5)  # it tries again, and still does not claim anything
    assert status(page).startswith("not saved")
    before = saved_groups(folder)
    process.start()
    assert saved_groups(folder) == before
    show(page, process, folder)
    assert groups(page) == {"kept": [1]}
    assert status(page) == "saved"
    assert page.js("document.querySelector('.banner').hidden")
    code, said = process.end()
    assert code == 0, said
    assert "Traceback" not in said


def test_two_tabs_show_the_same_and_neither_overwrites_the_other(few, server, unmixed):
    folder = unmixed / "few" / "song"
    with another_tab(few) as (to_first, to_second):
        show(few, server, folder)
        group_first(few, "from here")
        until_saved(few)
        to_first()
        few.until(f"{STUDIO}.mix.groups[0]?.name === 'from here'")  # it had another name at first
        few.press("z")  # undo in this tab takes back what came from the other one
        until_saved(few)
        assert saved_groups(folder) == {}
        to_second()
        few.until(f"{STUDIO}.mix.groups.length === 0")
        to_first()
        with not_answering(server):
            group_first(few, "one")
            to_second()
            group_first(few, "two")
            time.sleep(1.2)  # until both have asked; a tab in the background has slow clocks
        found = []
        for go in (to_first, to_second):
            go()
            until_saved(few)
            notices = few.js("[...document.querySelectorAll('.notice p')].map(e => e.textContent)")
            found.append((groups(few), any("Another tab" in words for words in notices)))
    assert found[0][0] == found[1][0] == saved_groups(folder)
    assert sorted(overruled for _, overruled in found) == [False, True]


def test_reloading_shows_the_same_version_and_groups(few, server, unmixed):
    group_first(few, "stays")
    few.press(".")
    until_saved(few)
    heard = rendered(few, 0, 1000)
    few.driver.refresh()
    few.until(f"{STUDIO}?.rows.overview")
    assert few.js(f"{STUDIO}.store.shown") == str(unmixed / "few" / "song")
    assert groups(few) == {"stays": [1]}
    np.testing.assert_allclose(rendered(few, 0, 1000), heard, rtol=0, atol=1e-6)
    few.js("(location.hash = '#%', 0)")  # an address that names no version shows one
    few.driver.refresh()
    few.until(f"{STUDIO}?.rows.overview")
    assert few.js(f"{STUDIO}.store.shown")


def test_switching_versions_while_saving_saves_both(browser, server, unmixed):
    few, many = (unmixed / name / "song" for name in ("few", "many"))
    server.ungroup(many)
    page = show_untouched(browser, server, few)
    group_first(page, "a")
    page.do(f"{STUDIO}.show({json.dumps(str(many))})")
    page.until(f"{STUDIO}.store.shown === {json.dumps(str(many))}")
    group_first(page, "b")
    until_saved(page)
    assert saved_groups(few) == {"a": [1]}
    assert saved_groups(many) == {"b": [1]}
