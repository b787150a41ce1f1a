"""Groups of components on the page, heard and seen in a real browser."""

from dataclasses import replace

import pytest
from browser import CONTRAST, PLAYER, SCREENSHOTS, gains, start
from reports import HOSTILE

from phinmf import report as reports
from phinmf.report import ComponentGroup

pytestmark = pytest.mark.full

GROUPS = [
    ComponentGroup("lead guitar", [4, 2], 1, "lead guitar.wav"),
    ComponentGroup(HOSTILE, [5], 0),
    ComponentGroup("rest", [1, 3]),
]
FIRST, SECOND, REST = "[data-group='4 2']", "[data-group='5']", "[data-group='1 3']"


@pytest.fixture(scope="module")
def file(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("grouped") / "report.html"
    return reports.write(replace(report, groups=GROUPS), path)


def pressed(page, selector):
    return page.js(f'document.querySelector("{selector}").ariaPressed')


def test_each_group_stands_above_its_components(page):
    rows = page.js(
        "[...document.querySelectorAll('.rows > li')]"
        ".map(e => e.dataset.group ?? e.dataset.component ?? 'mixture')"
    )
    assert rows == ["mixture", "4 2", "4", "2", "5", "5", "1 3", "1", "3"]
    names = page.js("[...document.querySelectorAll('.group bdi')].map(e => e.textContent)")
    assert names == [group.name for group in GROUPS]
    assert not page.js("window.attacked")
    assert page.js(f'document.querySelector("{FIRST} a").getAttribute("href")') == (
        "./lead%20guitar.wav"
    )
    assert "2 groups" in page.js("document.querySelector('.lede').textContent")
    assert page.errors() == []


def test_components_have_the_colour_of_their_group(page):
    def colour(selector):
        return page.js(f'getComputedStyle(document.querySelector("{selector} .shape")).fill')

    first = colour(FIRST)
    assert colour("[data-component='4']") == colour("[data-component='2']") == first
    assert colour(SECOND) == colour("[data-component='5']") != first
    assert colour(REST) == colour("[data-component='1']") == colour(".whole")
    assert colour(".factor:nth-child(3)") == colour(REST)
    assert colour(".factor:nth-child(4)") == first


def test_a_group_is_heard_alone_and_left_out(page):
    start(page)
    page.click(f"{FIRST} .solo")
    assert gains(page) == [0, 0, 1, 0, 1, 0]
    assert pressed(page, "[data-component='4'] .solo") == "true"
    page.click("[data-component='4'] .solo")
    assert pressed(page, f"{FIRST} .solo") == "mixed"
    assert gains(page) == [0, 0, 1, 0, 0, 0]
    page.click(f"{FIRST} .solo")
    page.click(f"{FIRST} .solo")
    assert pressed(page, f"{FIRST} .solo") == "false"
    page.click(f"{REST} .mute")
    assert gains(page) == [0, 0, 1, 0, 1, 1]
    page.press("2")  # the key of a component, wherever its row is
    assert gains(page) == [0, 0, 1, 0, 0, 0]
    page.click(".reset")
    assert gains(page) == [0, 1, 1, 1, 1, 1]
    assert pressed(page, f"{REST} .mute") == "false"


def test_every_button_of_a_group_is_reached_by_keyboard(page):
    reached = []
    while len(reached) < 2 * len(GROUPS):
        page.press("\ue004")  # tab
        assert page.js("document.activeElement.tagName") != "BODY"
        label = page.js("document.activeElement.ariaLabel || ''")
        if "group" in label:
            reached.append(label)
            page.press(" ")
    wanted = [f"{word} group {group.name}" for group in GROUPS for word in ("Solo", "Mute")]
    assert reached == wanted
    assert not page.js(f"{PLAYER}.playback.playing")
    assert gains(page) == [0] * 6  # all are muted


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(page, scheme):
    page.look(1200, 900, scheme)
    page.click(f"{FIRST} .solo")
    assert [text for text in page.js(CONTRAST) if text[0] < 4.5] == []


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("light", 1200, "light"), ("dark", 1200, "dark"), ("phone", 360, "light"),
     ("phone_dark", 360, "dark")],
)  # fmt: skip
def test_nothing_is_wider_than_the_window(page, name, width, scheme):
    page.look(width, 800, scheme, mobile=width < 500)
    page.click(f"{FIRST} .mute")
    assert page.js("document.documentElement.scrollWidth") <= width
    page.js("window.scrollTo(0, 0)")
    page.screenshot(SCREENSHOTS / f"report_groups_{name}.png")
