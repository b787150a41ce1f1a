"""The report played in a real browser, opened from disk."""

import time

import numpy as np
import pytest
from browser import PLAYER, RENDER, gains, position, start

from phinmf import report as reports
from phinmf.report import previews

pytestmark = pytest.mark.full


def test_opens_from_disk_without_a_request_or_an_error(page, file):
    page.click(".play")
    page.until(f"{PLAYER}.playback.position > 0.3")
    assert page.requests() == [file.resolve().as_uri()]
    assert page.errors() == []


@pytest.mark.parametrize("format", ["FLAC", "MP3"])
def test_every_part_is_decoded_in_time(page, report, format, monkeypatch, tmp_path):
    codings = [coding for coding in previews.CODINGS if coding.format == format]
    monkeypatch.setattr(previews, "CODINGS", codings)
    page.open(reports.write(report, tmp_path / "report.html"))
    assert page.resolved(f"{PLAYER}.ready") is True
    n = len(report.mixture)
    assert page.js(f"{PLAYER}.playback.buffers.map(b => b.length)") == [n] * len(report.sounds)
    begin, end = 32_000, 48_000
    for i, samples in enumerate(report.sounds):
        channel = f"{PLAYER}.playback.buffers[{i}].getChannelData(0)"
        decoded = np.array(page.js(f"Array.from({channel}.slice({begin - 50}, {end + 50}))"))
        exact = samples[begin:end, 0]
        late = [np.dot(decoded[k : k + len(exact)], exact) for k in range(101)]
        assert np.argmax(late) == 50, i  # a lag of 0 samples


def rendered(page, begin, seconds):
    """What would be heard."""
    code = f"{RENDER}({begin}, {seconds}).then(b => Array.from(b.getChannelData(0)))"
    return np.array(page.resolved(code))


def test_the_sum_of_the_parts_is_the_mixture(page, report):
    total = rendered(page, 2, 1)
    page.press("m")
    mixture = rendered(page, 2, 1)
    assert np.corrcoef(total, mixture)[0, 1] > 0.99
    assert np.corrcoef(total, report.mixture[32_000:48_000, 0])[0, 1] > 0.99


def test_all_play_and_the_clock_runs(page, report):
    start(page)
    assert page.js(f"{PLAYER}.playback.sources.length") == len(report.sounds)
    assert gains(page) == [0] + [1] * len(report.components)
    before = page.js(f"[{PLAYER}.playback.position, performance.now()]")
    page.until(f"{PLAYER}.playback.position > {before[0]} + 0.5")
    after = page.js(f"[{PLAYER}.playback.position, performance.now()]")
    assert after[0] - before[0] == pytest.approx((after[1] - before[1]) / 1000, abs=0.15)
    page.click(".play")
    still = position(page)
    assert not page.js(f"{PLAYER}.playback.playing")
    assert position(page) == still > 0.5
    assert page.js("document.querySelector('.play').getAttribute('aria-label')") == "Play"


def test_solo_mute_and_gain_act(page, report):
    start(page)
    n = len(report.components)
    page.click("[data-component='2'] .solo")
    assert gains(page) == [0, 0, 1] + [0] * (n - 2)
    page.click("[data-component='3'] .solo")
    assert gains(page) == [0, 0, 1, 1] + [0] * (n - 3)
    page.click("[data-component='3'] .mute")
    assert gains(page) == [0, 0, 1] + [0] * (n - 2)
    page.click(".reset")
    page.click("[data-component='1'] .mute")
    assert gains(page) == [0, 0] + [1] * (n - 1)
    assert page.js("document.querySelector(\"[data-component='1'] .mute\").ariaPressed") == "true"
    page.click(".reset")
    page.click("[data-component='1'] .gain input", x=0.02)
    quiet = gains(page)[1]
    assert 0.009 < quiet < 0.02  # about -40 dB
    page.click(".switch label:nth-of-type(2)")
    assert gains(page) == [1] + [0] * n
    page.click(".switch label:nth-of-type(1)")
    assert gains(page) == [0, quiet] + [1] * (n - 1)


def test_solo_is_heard_alone(page, report):
    page.press("2")
    alone = rendered(page, 1, 1)
    exact = report.components[1].samples[16_000:32_000, 0]
    assert np.corrcoef(alone, exact)[0, 1] > 0.98


@pytest.mark.parametrize(
    "where",
    ["[data-component='1'] .timeline", ".plot .timeline", ".factor .timeline", ".whole .timeline"],
)
@pytest.mark.parametrize("playing", [False, True])
def test_seeking_moves_all(page, where, playing, report):
    if playing:
        start(page)
    clicked = time.monotonic()
    page.click(where, x=0.6)
    place = position(page)
    at = float(page.js("document.body.style.getPropertyValue('--at')"))
    heard = time.monotonic() - clicked if playing else 0.0
    assert 5.95 <= place <= 6.05 + heard
    assert 0.595 <= at <= 0.605 + heard / 10
    assert page.js(f"{PLAYER}.playback.playing") == playing
    assert page.js(f"{PLAYER}.playback.sources.length") == (len(report.sounds) if playing else 0)
    if not playing:
        assert page.js("document.querySelector('.now').textContent").startswith("0:06.0")


def test_keys(page, report):
    n = len(report.components)
    page.press(" ")
    page.until(f"{PLAYER}.playback.playing")
    page.press(" ")
    assert not page.js(f"{PLAYER}.playback.playing")
    page.press("\ue012" * 50)  # left, past the beginning
    assert position(page) == 0
    page.press("\ue014\ue014\ue014")  # right
    assert position(page) == pytest.approx(3)
    page.press("\ue011")  # home
    assert position(page) == 0
    page.press("1")
    assert gains(page) == [0, 1] + [0] * (n - 1)
    page.press("1")
    assert gains(page) == [0] + [1] * n
    page.press("1", shift=True)
    assert gains(page) == [0, 0] + [1] * (n - 1)
    page.press("m")
    assert gains(page) == [1] + [0] * n
    page.press("m")
    assert gains(page) == [0, 0] + [1] * (n - 1)
    page.press(" ")
    page.until(f"{PLAYER}.playback.playing")
    assert gains(page) == [0, 0] + [1] * (n - 1)  # what was changed in silence is heard
    page.press("0")
    assert gains(page) == [0] + [1] * n


def test_every_control_is_reached_by_tab_and_pressed_by_space(page, report):
    controls = page.js(
        "[...document.querySelectorAll('button, a, input:not([type=radio])')].length"
    ) + 1  # fmt: skip
    reached = set()
    for _ in range(controls):
        page.press("\ue004")  # tab
        reached.add(page.js("document.activeElement.outerHTML.slice(0, 120)"))
        outline = page.js(
            "[document.activeElement, document.activeElement.nextElementSibling].some("
            "e => e && parseFloat(getComputedStyle(e).outlineWidth) >= 2)"
        )
        assert outline, page.js("document.activeElement.outerHTML")
        if "Mute component 1" in page.js("document.activeElement.ariaLabel || ''"):
            page.press(" ")
    assert page.js("document.activeElement.tagName") != "BODY"
    assert len(reached) >= 4 * len(report.components)
    assert gains(page)[1] == 0
    assert not page.js(f"{PLAYER}.playback.playing")


def test_the_end_is_the_beginning_and_repeat_repeats(page):
    page.click(".whole .timeline", x=0.97)
    start(page)
    page.until(f"!{PLAYER}.playback.playing")
    assert position(page) == 0
    page.press("r")
    page.click(".whole .timeline", x=0.97)
    page.click(".play")
    page.until(f"{PLAYER}.playback.playing && {PLAYER}.playback.position < 5")
