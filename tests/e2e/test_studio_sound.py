"""The sound of the studio's page: exactly in sync, at the levels that are shown, where it is."""

import contextlib
import json
import time

import numpy as np
import pytest
import soundfile
from browser import arrays
from studio_page import (
    STUDIO,
    rendered,
    show,
    show_untouched,
    studio,
    text,
)
from studios import unmixed as unmixed_into

pytestmark = pytest.mark.full

RATE = 8000
TIMES = 1e-9  #: the browser rounds the times at which sounds begin, and interpolates
RECORDER = """
registerProcessor("recorder", class extends AudioWorkletProcessor {
  process([[left, right]]) {
    if (left) this.port.postMessage([left.slice(), right.slice()]);
    return true;
  }
});
"""


@pytest.fixture(scope="module")
def sounds(unmixed):
    """The recording and its components as they are on the disk: (1 + K, 2, samples)."""
    folder = unmixed / "few" / "song"
    files = [unmixed / "song.wav", *sorted(folder.glob("component_*.wav"))]
    return np.array([soundfile.read(file, dtype="float32")[0].T for file in files])


@contextlib.contextmanager
def without_policy(page):
    """Let the page load a script that is not the server's: the recorder."""
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    try:
        yield
    finally:
        page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})


def row(number):
    return f"[data-component='{number}']"


def test_the_components_add_up_to_the_recording(few, sounds):
    n = sounds.shape[2]
    total = rendered(few, 0, n)
    few.press("o")
    button = "document.querySelector('.transport [data-action=original]')"
    assert few.js(f"{button}.ariaPressed") == "true"
    original = rendered(few, 0, n)
    np.testing.assert_allclose(original, sounds[0], rtol=0, atol=TIMES)
    np.testing.assert_allclose(total, original, rtol=0, atol=1e-6)
    assert n > 3 * few.js(f"{STUDIO}.player.sounds.length")  # seams


def test_what_is_played_is_what_is_computed(browser, server, unmixed, sounds):
    """Record what is played in real time: around the loop no sample is lost or repeated."""
    with without_policy(browser):
        page = show_untouched(browser, server, unmixed / "few" / "song")
        page.do(f"{STUDIO}.player.setLoop(1000, 13_333)")
        page.click(".play")
        fetcher = f"{STUDIO}.player.sounds"  # what is not here yet would be a pause
        fetched = f"{fetcher}.upcoming.every((start) => {fetcher}.piece(start))"
        page.until(f"{STUDIO}.playing && {fetched}")
        page.do(f"{STUDIO}.player.seek(6000)")
        page.until(f"{STUDIO}.position > 6000 && !{STUDIO}.waiting")
        page.resolved(
            f"{STUDIO}.player.context.audioWorklet.addModule(URL.createObjectURL("
            f"new Blob([`{RECORDER}`], {{type: 'text/javascript'}}))).then(() => {{"
            " window.heard = [];"
            f" const node = new AudioWorkletNode({STUDIO}.player.context, 'recorder');"
            " node.port.onmessage = ({ data }) => heard.push(data);"
            f" {STUDIO}.player.run.fader.connect(node); }})"
        )
        page.until("heard.length > 350", 20)  # 5.6 seconds: around the loop three times
        join = (
            "new Promise((done) => done([0, 1].map((side) =>"
            " Float32Array.from(heard.flatMap((block) => [...block[side]])))))"
        )
        heard = np.array(arrays(page, join, "<f4", "<f4"))
        assert not page.js(f"{STUDIO}.waiting")
    total = sounds[1:].sum(axis=0, dtype=np.float64).astype(np.float32)
    once = np.arange(1000, 13_333)
    expected = np.tile(total[:, once], 6)
    late = [
        k for k in range(len(once))
        if np.allclose(expected[:, k : k + 500], heard[:, :500], rtol=0, atol=TIMES)
    ]  # fmt: skip
    assert len(late) == 1
    exact = expected[:, late[0] :][:, : heard.shape[1]]
    np.testing.assert_allclose(heard, exact, rtol=0, atol=TIMES)


def test_solo_mute_gain_and_pan_are_heard(few, sounds):
    few.click(f"{row(2)} [data-action=solo]")
    np.testing.assert_allclose(rendered(few, 0, 9000), sounds[2][:, :9000], rtol=0, atol=TIMES)
    few.press("2")
    few.click(f"{row(1)} [data-action=mute]")
    rest = sounds[2:].sum(axis=0, dtype=np.float64)[:, :9000]
    np.testing.assert_allclose(rendered(few, 0, 9000), rest, rtol=0, atol=1e-6)
    few.press("0")
    few.click(f"{row(3)} [data-action=gain]", x=0.5)
    decibels = few.js(f"{STUDIO}.mix.levels[2].gain_db")
    assert -40 < decibels < -10
    assert text(few, f"{row(3)} output") == f"{decibels:g}".replace("-", "−")
    few.click(f"{row(3)} [data-action=pan]", x=0.99)
    assert few.js(f"{STUDIO}.mix.levels[2].pan") == 1
    few.press("3")
    loud = 10 ** (decibels / 20) * np.sqrt(2)
    np.testing.assert_allclose(
        rendered(few, 0, 9000), [0 * rest[0], loud * sounds[3][1, :9000]], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("playing", [False, True])
def test_seeking_while_it_plays_or_not(few, playing):
    if playing:
        few.click(".play")
        few.until(f"{STUDIO}.playing && {STUDIO}.position > 0")
    before = time.monotonic()
    few.click(f"{row(4)} .lane", x=0.5)
    at, now_playing = few.js(f"[{STUDIO}.position, {STUDIO}.playing]")
    went_on = playing * RATE * (time.monotonic() - before)
    assert 16_000 - 50 <= at <= 16_000 + 50 + went_on
    assert now_playing == playing
    if not playing:
        assert text(few, ".now") == "0:02.0"
        few.press("\ue011")  # home
        assert few.js(f"{STUDIO}.position") == 0
        return
    few.click(".original .lane", x=0.95)
    few.until(f"!{STUDIO}.playing")  # to the end, and it stands at the beginning
    assert few.js(f"{STUDIO}.position") == 0
    assert few.js("document.querySelector('.play').getAttribute('aria-label')") == "Play"
    assert few.errors() == []


def test_dragging_on_a_waveform_loops_it(few):
    few.drag(".original .lane", ".original .lane", x=0.25, to=0.5)
    loop = few.js(f"{STUDIO}.player.loop")
    assert loop["start"] == pytest.approx(8000, abs=60)
    assert loop["end"] == pytest.approx(16_000, abs=60)
    few.click(".play")
    few.until(f"{STUDIO}.playing && {STUDIO}.position > 14_000")
    few.until(f"{STUDIO}.position < 10_000")
    few.until(f"{STUDIO}.position > 12_000")
    assert few.js(f"{STUDIO}.position") < loop["end"]
    few.press("l")
    assert few.js(f"{STUDIO}.player.loop") is None
    few.until(f"{STUDIO}.position > {loop['end'] + 2000}")
    few.do(f"{STUDIO}.player.setLoop(2000, 24_000)")  # while it plays
    few.until(f"{STUDIO}.position < 10_000 && !{STUDIO}.waiting")
    assert few.js(f"{STUDIO}.playing && {STUDIO}.position") >= 2000


def test_zoom_and_scroll(few):
    view = f"{STUDIO}.timeline.view"
    few.click("[data-action=zoom-in]")
    few.press("+")
    assert few.js(f"{view}.span") == 8000
    shown = few.js("[...document.querySelectorAll('.ticks span')].map(e => e.textContent)")
    assert shown
    assert len(set(shown)) == len(shown)
    few.press("\ue010")  # end
    assert few.js(f"{view}.to") == 32_000
    few.drag(".scrollbar", ".scrollbar", x=0.9, to=0.125)
    assert few.js(f"{view}.from") == pytest.approx(0, abs=200)
    few.press("a")
    assert few.js(f"{view}.span") == 32_000


def test_another_version_is_heard_at_the_same_moment_while_it_plays(few, unmixed):
    few.click(".play")
    few.until(f"{STUDIO}.playing && {STUDIO}.position > 4000")
    few.press("t")
    assert few.js(f"{STUDIO}.store.shown") == str(unmixed / "many" / "song")
    few.until(f"{STUDIO}.player.run.sounds.version.folder === {STUDIO}.store.shown")
    assert few.js(f"{STUDIO}.playing")
    few.until(f"{STUDIO}.position > 9000")
    few.press("t")
    few.until(f"{STUDIO}.player.run.sounds.version.folder === {STUDIO}.store.shown")
    assert few.js(f"{STUDIO}.playing && {STUDIO}.position") > 9000
    assert few.errors() == []


def test_thirty_two_components_play_without_waiting(many):
    """While a component is moved at every frame, sound never lacks and frames come in time."""
    many.do(
        "{ window.waited = 0; window.frames_ = []; let last = performance.now();"
        " const frame = (now) => { frames_.push(now - last); last = now;"
        f"  if ({STUDIO}.waiting) waited += 1;"
        f"  if ({STUDIO}.playing) {STUDIO}.mix.setGain([1 + frames_.length % 32], -6, 'x');"
        "  requestAnimationFrame(frame); }; requestAnimationFrame(frame); }"
    )
    many.do(f"{STUDIO}.player.setLoop(0, 30_000)")
    many.click(".play")
    many.until(f"{STUDIO}.playing && {STUDIO}.position > 0 && !{STUDIO}.waiting")
    many.do("{ waited = 0; frames_.length = 0; }")
    many.until("frames_.length > 60", 30)
    waited, frames = many.js("[waited, frames_]")
    assert waited == 0
    assert np.median(frames) < 100


def test_another_recording_is_opened_while_the_player_starts(browser, tmp_path):
    one, other = unmixed_into(tmp_path / "one"), unmixed_into(tmp_path / "other")
    start_and_open = f"""(async () => {{
      const starting = {STUDIO}.player.play();
      {STUDIO}.show({json.dumps(str(other))});
      await starting;
      return {STUDIO}.player.problem;
    }})()"""
    with studio(tmp_path / "home", one, other) as process:
        show(browser, process, one)
        assert browser.resolved(start_and_open) == ""
        assert not browser.js(f"{STUDIO}.playing")
        browser.click(".play")
        browser.until(f"{STUDIO}.playing && {STUDIO}.position > 0")
        browser.visit("about:blank")


def test_a_browser_that_cannot_play_says_so_at_every_attempt(few):
    few.do("AudioContext.prototype.resume = () => Promise.reject(new Error('no'))")
    for _ in range(2):
        few.do(f"{STUDIO}.player.problem = ''")
        few.click(".play")
        few.until(f"{STUDIO}.player.problem.includes('cannot play')")
        assert not few.js(f"{STUDIO}.playing")
