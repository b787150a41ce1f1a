"""Point at it, in a browser: drop, listen, mark, hear the difference, keep, take away."""

import signal
import zipfile

import numpy as np
import pytest
import soundfile
from browser import SCREENSHOTS, TOO_SMALL, TOO_WIDE
from sound_files import integers, write
from studio_page import STUDIO, downloaded, drop, rendered, show, studio, text, until_saved
from studios import idle

pytestmark = pytest.mark.full

RATE, BARS = 8000, 6  #: bars of two seconds
START = 2 * RATE  #: of what is compared
DOWN, ENTER, ESCAPE, TAB, DELETE = "\ue015", "\ue007", "\ue00c", "\ue004", "\ue017"


def notes(hertz, starts):
    """Tones of three partials that begin at some seconds of each bar."""
    y, t = np.zeros(2 * BARS * RATE), np.arange(round(0.45 * RATE)) / RATE
    tone = sum(np.sin(2 * np.pi * hertz * k * t) / k for k in (1, 2, 3)) * np.exp(-3 * t)
    for bar in range(BARS):
        for start in starts:
            first = round((2 * bar + start) * RATE)
            y[first : first + len(tone)] += 0.2 * tone
    return y


#: the first half second of a bar is low alone, the second one high alone, the third one both
LOW, HIGH = notes(220, (0, 1)), notes(500, (0.5, 1))


def snr(estimate, truth):
    return 10 * np.log10(np.square(truth).sum() / np.square(estimate - truth).sum())


def low_alone(page):
    """How near to the low notes that is which is heard from the group alone, in decibels."""
    return snr(rendered(page, START, RATE * 2)[0], LOW[START:][: 2 * RATE])


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("marked") / "two notes.flac"
    return write(path, np.stack([LOW + HIGH] * 2, axis=1), subtype="PCM_16")


@pytest.fixture(scope="module")
def marked(browser, recording, tmp_path_factory):
    """A studio in which the recording was dropped and unmixed, and its home."""
    home = tmp_path_factory.mktemp("marking") / "home"
    with studio(home) as process:
        browser.look(1280, 1000)
        browser.visit(process.address)
        drop(browser, recording)
        browser.until(f"{STUDIO}.store.shown", 120)
        process.until(idle)
        yield process, home / "two notes" / "whole"


def marks(page):
    return page.js(f"{STUDIO}.mix.marks")


def seconds(page, number, start, end):
    """Drag over a stretch of time."""
    length = 2 * BARS
    page.click("[data-action=tool][data-value=time]")
    page.drag(".drawing", ".drawing", x=start / length, to=end / length)
    assert len(marks(page)) == number
    assert marks(page)[-1]["start"] == pytest.approx(start, abs=0.05)
    assert marks(page)[-1]["end"] == pytest.approx(end, abs=0.05)


def test_from_the_drop_to_what_pointing_is_worth(marked, browser, recording, downloads, tmp_path):
    (process, folder), page = marked, browser
    page.until(f"{STUDIO}.pointing.spectrogram.whole")

    # a group that is wrong: half of the components, heard alone
    page.press(DOWN)
    half = page.js(f"{STUDIO}.mix.levels.length") // 2
    for _ in range(half):
        page.press(DOWN + "x")
    page.press("g" + "low" + ENTER + "s")
    before = low_alone(page)

    # marks with the mouse, and a form with the keyboard alone
    page.click(".chips [data-value=low]")
    seconds(page, 1, 0.05, 0.45)
    page.click(".chips [data-value=rest]")
    page.do("document.querySelector('[name=start]').focus()")
    page.press("0.5" + TAB + "0.95" + TAB + TAB + TAB + ENTER)
    assert marks(page)[1] == {"group": "rest", "start": 0.5, "end": 0.95, "low": 0}
    seconds(page, 3, 4.5, 4.95)
    page.click(".chips [data-value=low]")
    seconds(page, 4, 4, 4.45)

    # select, remove, undo
    page.click(".drawing", x=4.2 / 12)
    assert page.js("document.activeElement.ariaLabel").startswith("low belongs: 0:0")
    page.press(DELETE)
    assert len(marks(page)) == 3
    page.press("z")
    assert len(marks(page)) == 4
    until_saved(page)
    assert len(process.version(folder)["marks"]["marks"]) == 4

    # learned, and heard by the same rows: the group is nearer to the notes
    page.js("document.activeElement.blur()")
    page.press("h")
    page.until(f"{STUDIO}.pointing.draft && {STUDIO}.playing", 30)
    page.press(" ")
    after = low_alone(page)
    assert after > before + 3, (before, after)
    page.press("b")
    assert low_alone(page) == pytest.approx(before, abs=0.1)
    page.press("b")
    page.press(ESCAPE)  # not alone any more: everything is the recording
    exact = soundfile.read(recording, dtype="float32")[0].T
    heard = rendered(page, RATE, RATE)
    np.testing.assert_allclose(heard, exact[:, RATE : 2 * RATE], rtol=0, atol=1e-5)

    # kept as a version, with its groups and marks
    page.click("[data-action=keep]")
    page.until("document.querySelector('[data-notice=ready]')", 60)
    page.click("[data-notice=ready] [data-action=accept]")
    page.until(f"{STUDIO}.store.shown.endsWith('version-2')")
    page.until(f"{STUDIO}.rows.overview")
    assert len(marks(page)) == 4
    page.click("[data-group=low] [data-action=solo]")
    assert low_alone(page) > before + 3
    page.press(ESCAPE)

    # taken away: groups are the recording, and everything but one is the other one
    file, said = downloaded(page, downloads, "groups")
    assert "add up to the recording bit for bit" in said
    with zipfile.ZipFile(file) as bundle:
        bundle.extractall(tmp_path)
    parts = sorted(tmp_path.rglob("*.flac"))
    assert [part.name for part in parts] == ["01 low.flac", "02 rest.flac"]
    assert np.array_equal(sum(integers(part) for part in parts), integers(recording))
    page.click("[data-group=low] [data-action=all-but]")
    page.until("document.querySelector('[data-notice=export]')", 30)
    rest = downloads / "two notes without low.flac"
    page.until("true")
    for _ in range(100):
        if rest.exists():
            break
        page.js("new Promise((done) => setTimeout(done, 50))")
    assert np.array_equal(integers(rest), integers(parts[1]))
    assert page.errors() == []


def test_marks_survive_a_studio_that_is_killed(marked, browser):
    process, folder = marked
    version = process.version(folder)
    pair = [{"group": "bell", "start": 1}, {"group": "rest", "end": 1, "silent": True}]
    sent = version["marks"] | {"new": ["bell"], "marks": pair}
    assert process.save(version["revision"], id=version["id"], marks=sent).status == 200
    process.end(signal.SIGKILL)
    process.start()
    show(browser, process, folder)
    assert marks(browser) == pair
    labels = browser.js("[...document.querySelectorAll('.mark title')].map((e) => e.textContent)")
    assert labels == ["bell", "no everything else"]


def test_a_finger_brushes_on_a_phone(marked, browser):
    (process, folder), page = marked, browser
    process.ungroup(folder)
    show(page, process, folder)
    page.look(390, 844, mobile=True)
    page.do("document.querySelector('.new-name').focus()")
    page.press("voice" + ENTER)
    page.click("[data-action=tool][data-value=brush]")
    n = len(marks(page))
    page.drag(".drawing", ".drawing", x=0.2, to=0.5, touch=True)
    stroke = marks(page)[-1]
    assert (len(marks(page)), stroke["group"]) == (n + 1, "voice")
    assert stroke["points"][0][0] == pytest.approx(0.2 * 2 * BARS, abs=0.3)
    assert stroke["points"][-1][0] == pytest.approx(0.5 * 2 * BARS, abs=0.3)
    assert page.js(TOO_WIDE) == []
    assert page.js(TOO_SMALL) == []
    page.screenshot(SCREENSHOTS / "marks_phone.png")
    assert text(page, ".count") == f"{n + 1} marks"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_group_is_looked_at_and_zoomed(marked, browser, scheme):
    (process, folder), page = marked, browser
    page.look(1280, 1000, scheme)
    show(page, process, folder)
    page.until(f"{STUDIO}.pointing.spectrogram.whole")
    page.press("++")
    page.until(f"{STUDIO}.pointing.spectrogram.finer")
    page.press("a")
    image = "document.querySelector('.sonogram canvas')"
    data = f"[...{image}.getContext('2d').getImageData(0, 0, {image}.width, {image}.height).data]"
    pixels = np.array(page.js(data)).reshape(-1, 4)
    loud = pixels[pixels[:, 3] > 200][:, :3].mean()
    assert loud > 150 if scheme == "dark" else loud < 100  # it stands out from the page
    page.screenshot(SCREENSHOTS / f"marks_{scheme}.png")
