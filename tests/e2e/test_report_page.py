"""The report in a real browser, opened from disk: heard, operated and looked at."""

from dataclasses import replace

import numpy as np
import pytest
from browser import CONTRAST, PLAYER, SCREENSHOTS, TOO_WIDE, gains, position, rendered, start
from reports import HOSTILE, example_report, hostile_report, written

from phinmf.report.contents import ComponentGroup
from phinmf.report.page import fragment

pytestmark = pytest.mark.full

RATE = 16_000
LEFT, RIGHT, HOME = "\ue012", "\ue014", "\ue011"
GROUPS = [
    ComponentGroup("lead guitar", [4, 2], 1, "lead guitar.wav"),
    ComponentGroup(HOSTILE, [5], 0),
    ComponentGroup("rest", [1, 3]),
]
FIRST, SECOND = "[data-group='lead guitar']", ".group:has(+ [data-component='5'])"
REST = "[data-group='rest']"
PLAYING = f"{PLAYER}.player.playing"


@pytest.fixture(scope="module")
def report():
    return example_report()


@pytest.fixture(scope="module")
def files(report, tmp_path_factory):
    """The page of the report, and the same with groups."""
    folder = tmp_path_factory.mktemp("report")
    pages = {"plain": report, "grouped": replace(report, groups=GROUPS)}
    return {name: written(page, folder / f"{name}.html") for name, page in pages.items()}


def opened(browser, file):
    """A page, just opened, its sound decoded."""
    browser.look(1200, 900)
    browser.open(file)
    assert browser.resolved(f"{PLAYER}.ready") is True
    return browser


@pytest.fixture
def page(browser, files):
    return opened(browser, files["plain"])


@pytest.fixture
def grouped(browser, files):
    return opened(browser, files["grouped"])


def test_every_part_is_decoded_in_time_without_a_request(page, report, files):
    n = len(report.mixture)
    channels = f"{PLAYER}.player.sounds.whole.channels"
    assert page.js(f"{channels}.map(b => b.length)") == [n] * 2 * len(report.sounds)
    begin, end = 2 * RATE, 3 * RATE
    for i, samples in enumerate(report.sounds):
        channel = f"{channels}[{2 * i}].getChannelData(0)"
        decoded = np.array(page.js(f"Array.from({channel}.slice({begin - 50}, {end + 50}))"))
        exact = samples[begin:end, 0]
        late = [np.dot(decoded[k : k + len(exact)], exact) for k in range(101)]
        assert np.argmax(late) == 50, i  # a lag of 0 samples
    total = rendered(page, PLAYER, begin, RATE)[0]
    page.press("o")
    assert np.corrcoef(total, rendered(page, PLAYER, begin, RATE)[0])[0, 1] > 0.99
    assert np.corrcoef(total, report.mixture[begin:end, 0])[0, 1] > 0.99
    page.press("2")
    exact = report.components[1].samples[begin:end, 0]
    assert np.corrcoef(rendered(page, PLAYER, begin, RATE)[0], exact)[0, 1] > 0.98
    start(page)
    assert page.requests() == [files["plain"].resolve().as_uri()]
    assert page.errors() == []


def test_the_clock_runs_with_the_sound_stands_and_begins_again(page, report):
    start(page)
    assert page.js(f"{PLAYER}.player.run.volumes.length") == 2 * len(report.sounds)
    before = page.js(f"[{PLAYER}.player.position, performance.now()]")
    page.until(f"{PLAYER}.player.position > {before[0]} + {RATE} / 2")
    after = page.js(f"[{PLAYER}.player.position, performance.now()]")
    seconds = (after[0] - before[0]) / RATE
    assert seconds == pytest.approx((after[1] - before[1]) / 1000, abs=0.15)
    page.click(".play")
    still = position(page)
    assert not page.js(PLAYING)
    assert position(page) == still > 0.5
    page.click(".original .lane", x=0.97)
    start(page)
    page.until(f"!{PLAYING}")
    assert position(page) == 0


def test_keys(page, report):
    n = len(report.components)
    page.press(" ")
    page.until(PLAYING)
    page.press(" ")
    assert not page.js(PLAYING)
    page.press(LEFT * 50)  # past the beginning
    assert position(page) == 0
    page.press(RIGHT)
    page.press(RIGHT, shift=True)
    assert position(page) == pytest.approx(5.5)
    page.press(HOME)
    assert position(page) == 0
    page.press("1")
    assert gains(page) == [0, 1] + [0] * (n - 1)
    page.press("1")
    assert gains(page) == [0] + [1] * n
    page.press("1", shift=True)
    assert gains(page) == [0, 0] + [1] * (n - 1)
    page.press("o")
    assert gains(page) == [1] + [0] * n
    page.press("o")
    page.press(" ")
    page.until(PLAYING)
    assert gains(page) == [0, 0] + [1] * (n - 1)  # what was changed in silence is heard
    page.click("[data-component='1'] [data-action=solo]")  # and what is changed while it plays
    assert gains(page) == [0] * (n + 1)  # it is muted as well
    page.click("[data-component='1'] [data-action=solo]")
    page.click("[data-component='2'] [data-action=gain]", x=0.27)
    quiet = page.js(f"{PLAYER}.mix.levels[1].gain_db")
    assert -50 < quiet < -30
    assert gains(page)[2] == pytest.approx(10 ** (quiet / 20))
    page.press("0")
    assert gains(page) == [0] + [1] * n
    page.press("z")
    assert gains(page)[1] == 0 < gains(page)[2] < 1


@pytest.mark.parametrize("where", [".plot .timeline", ".factor .timeline"])
def test_a_click_on_a_picture_goes_there(page, where):
    page.click(where, x=0.6)
    assert position(page) == pytest.approx(6, abs=0.05)
    share = float(page.js("document.body.style.getPropertyValue('--at')"))
    assert share == pytest.approx(0.6, abs=0.005)


def test_each_group_stands_above_its_components_in_its_colour(grouped):
    def colour(selector):
        css = f'getComputedStyle(document.querySelector("{selector}"))'
        return grouped.js(f"{css}.fill" if "shape" in selector else f"{css}.color")

    rows = grouped.js(
        "[...document.querySelectorAll('.rows > li')]"
        ".map(e => e.dataset.group ?? e.dataset.component ?? 'original')"
    )
    assert rows[:8] == ["original", "lead guitar", "4", "2", HOSTILE, "5", "rest", "1"]
    names = grouped.js("[...document.querySelectorAll('.group .title')].map(e => e.value)")
    assert names == [group.name for group in GROUPS]
    assert not grouped.js("[...document.querySelectorAll('.edits')].some(e => e.checkVisibility())")
    link = grouped.js(f'document.querySelector("{FIRST} a").getAttribute("href")')
    assert link == "./lead%20guitar.wav"
    canvas = "[data-component='{}'] canvas".format
    first, rest = colour(f"{FIRST} canvas"), colour(f"{REST} canvas")
    assert colour(canvas(4)) == colour(canvas(2)) == first
    assert colour(f"{SECOND} canvas") == colour(canvas(5)) != first
    assert colour(canvas(1)) == rest
    assert colour(".factor:nth-child(3) .shape") == rest
    assert colour(".factor:nth-child(4) .shape") == first


@pytest.mark.parametrize("width", [1200, 800, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_and_nothing_is_wider_than_the_window(grouped, width, scheme):
    page = grouped
    page.look(width, 800, scheme, mobile=width < 500)
    page.press("3")
    page.click("[data-component='1'] .lane", x=0.4)
    texts = page.js(CONTRAST)
    assert len(texts) > 50
    assert [text for text in texts if text[0] < 4.5] == []
    red = page.js("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
    assert (red < 60) == (scheme == "dark")
    assert page.js("document.documentElement.scrollWidth") <= width
    assert page.js(TOO_WIDE) == []
    page.js("window.scrollTo(0, 0)")
    page.screenshot(SCREENSHOTS / f"report_{width}_{scheme}.png")


def test_what_comes_from_outside_is_inert(browser, report, tmp_path):
    hostile = replace(hostile_report(report), groups=GROUPS)
    page = opened(browser, written(hostile, tmp_path / "hostile.html"))
    assert page.js("document.querySelector('h1').textContent") == hostile.title
    shown = page.js("[...document.querySelectorAll('.factor bdi')].map(e=>e.textContent)")
    assert set(shown) == {component.name for component in hostile.components}
    links = page.js("[...document.links].map(a => a.href)")
    assert all(link.startswith(tmp_path.as_uri()) for link in links)
    assert not page.js("window.attacked")
    assert len(page.requests()) == 1
    assert page.errors() == []


def test_fragments_beside_each_other_do_not_clash(browser, report, tmp_path):
    host = tmp_path / "notebook.html"
    one = fragment(report)
    host.write_text(f"<!doctype html><title>two</title><h1>host</h1>{one}{one}", encoding="utf-8")
    browser.look(1000, 900)
    browser.open(host)
    frames = browser.driver.find_elements("css selector", "iframe")
    browser.driver.switch_to.frame(frames[0])
    assert browser.resolved(f"{PLAYER}.ready") is True
    start(browser)
    browser.press("1")
    assert gains(browser)[2] == 0
    inner = browser.js("document.body.offsetHeight")
    browser.driver.switch_to.default_content()
    browser.until(f"Math.abs(document.querySelector('iframe').clientHeight - {inner}) < 3")
    browser.driver.switch_to.frame(browser.driver.find_elements("css selector", "iframe")[1])
    assert browser.resolved(f"{PLAYER}.ready") is True
    assert not browser.js(PLAYING)
    assert browser.js(f"{PLAYER}.mix.gains[4]") == 1
    browser.driver.switch_to.default_content()
    assert browser.errors() == []
