"""The report looked at in a real browser: colours, widths, hostile names, several in a notebook."""

import pytest
from browser import CONTRAST, PLAYER, SCREENSHOTS, gains, start
from reports import hostile_report

from phinmf import report as reports

pytestmark = pytest.mark.full


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(page, scheme):
    page.look(1200, 900, scheme)
    page.press("1")
    found = page.js(CONTRAST)
    assert len(found) > 50
    assert [text for text in found if text[0] < 4.5] == []
    (red, *_), _ = page.js("[0, 1].map(() => getComputedStyle(document.body).backgroundColor"
                           ".match(/\\d+/g).map(Number))")  # fmt: skip
    assert (red < 60) == (scheme == "dark")


def test_what_comes_from_outside_is_inert(browser, report, tmp_path):
    browser.open(reports.write(hostile_report(report), tmp_path / "hostile.html"))
    assert browser.resolved(f"{PLAYER}.ready") is True
    hostile = hostile_report(report)
    assert browser.js("document.querySelector('h1').textContent") == hostile.title
    shown = browser.js(
        "[...document.querySelectorAll('[data-component] bdi')].map(e => e.textContent)"
    )
    assert shown == [component.name for component in hostile.components]
    links = browser.js("[...document.links].map(a => a.href)")
    assert all(link.startswith(tmp_path.as_uri()) for link in links)
    assert not browser.js("window.attacked")
    assert len(browser.requests()) == 1
    assert browser.errors() == []


def test_fragments_beside_each_other_do_not_clash(browser, report, tmp_path):
    host = tmp_path / "notebook.html"
    one = reports.fragment(report)
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
    assert not browser.js(f"{PLAYER}.playback.playing")
    assert browser.js(f"{PLAYER}.gains[2]") == 1
    browser.driver.switch_to.default_content()
    browser.screenshot(SCREENSHOTS / "report_fragments.png")
    assert browser.errors() == []


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("light", 1200, "light"), ("dark", 1200, "dark"), ("phone", 360, "light"),
     ("phone_dark", 360, "dark"), ("tablet", 800, "light")],
)  # fmt: skip
def test_nothing_is_wider_than_the_window(page, name, width, scheme):
    page.look(width, 800, scheme, mobile=width < 500)
    page.press("3")
    page.click("[data-component='1'] .timeline", x=0.4)
    assert page.js("document.documentElement.scrollWidth") <= width
    wide = page.js(
        "[...document.querySelectorAll('main *:not(.hidden):not(svg *)')].filter(e => {"
        " const b = e.getBoundingClientRect(); return b.width && b.right > innerWidth + 1; })"
        ".map(e => e.outerHTML.slice(0, 100))"
    )
    assert wide == []
    page.js("window.scrollTo(0, 0)")
    page.screenshot(SCREENSHOTS / f"report_{name}.png")
