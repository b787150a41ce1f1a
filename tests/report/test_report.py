"""The page, read as text."""

import re
import threading
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from io import BytesIO

import numpy as np
import pytest
import soundfile
from matplotlib.figure import Figure
from reports import HOSTILE, example_report, hostile_report

import phinmf
from phinmf import report as reports
from phinmf.arrays import threads
from phinmf.audio.example import example
from phinmf.audio.frames import frame_count
from phinmf.report import Component, Report, figures, page, previews, words
from phinmf.report.contents import transformed
from phinmf.report.pictures import resampled
from phinmf.result import History

BITS = [coding.bits for coding in previews.CODINGS if coding.format == "FLAC"]


class Reader(HTMLParser):
    """Elements of a page: [(tag, attributes)], and what scripts and styles there are."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def count(self, tag):
        return sum(found == tag for found, _ in self.elements)


@pytest.fixture(scope="module")
def short():
    return example_report(seconds=2.0)


@pytest.fixture(scope="module")
def text(short):
    return reports.html(short)


def test_every_part_has_a_row_with_its_controls(short, text):
    labels = {a.get("aria-label") for _, a in Reader(text).elements}
    for component in short.components:
        assert f"Solo {component.name}" in labels
        assert f"Mute {component.name}" in labels
        assert f"whole file: {component.name}" in labels
        assert f'href="./{component.file}"' in text
    assert len(re.findall(r'data-component="', text)) == len(short.components)
    assert text.count('class="factor" ') == short.W.shape[1]


def test_facts_are_shown(short, text):
    for what, value in short.facts:
        assert f"<bdi>{what}</bdi>" in text
        assert f"<bdi>{value}</bdi>" in text


def test_the_page_asks_nothing_of_the_network(text):
    assert "://" not in text.replace("file://", "")
    for _, attributes in Reader(text).elements:
        for name in ("src", "href", "srcset", "action", "poster", "xlink:href"):
            assert re.match(r"(data:|\./|#)", attributes.get(name) or "#"), attributes
    assert "default-src 'none'" in text
    assert not re.search(r"@import|url\((?!#)", text)


def test_ids_are_unique(text):
    ids = [a["id"] for _, a in Reader(text).elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_pictures_have_words(text):
    for tag, attributes in Reader(text).elements:
        if tag == "img":
            assert attributes["alt"]
        if attributes.get("role") == "img":
            assert attributes["aria-label"]


@pytest.mark.parametrize("made", [reports.html, reports.fragment])
def test_what_comes_from_outside_is_inert(made, short):
    hostile = hostile_report(short)
    plain, attacked = Reader(made(short)), Reader(made(hostile))
    assert [tag for tag, _ in plain.elements] == [tag for tag, _ in attacked.elements]
    for _, attributes in attacked.elements:
        assert not {name for name in attributes if name.startswith("on")}
        assert (attributes.get("href") or ".").startswith((".", "#", "data:"))
    assert HOSTILE not in made(hostile)


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("a b.wav", "./a%20b.wav"),
        ("javascript:alert(1)", "./javascript%3Aalert%281%29"),
        ("//elsewhere/x.wav", ".///elsewhere/x.wav"),
        ('"><script>', "./%22%3E%3Cscript%3E"),
        ("é#?%.wav", "./%C3%A9%23%3F%25.wav"),
        ("not-a-letter-\udcff.wav", "./not-a-letter-%FF.wav"),
    ],
)
def test_links_are_relative_and_quoted(file, address):
    assert f'href="{address}"' in words.link(file, "whole file", file)


def test_names_that_are_no_text_are_shown(short, tmp_path):
    odd = replace(short, title="b\udcffd\0 ‮name")
    assert b"b?d" in reports.write(odd, tmp_path / "report.html").read_bytes()


def test_fragments_share_no_names(short):
    one, two = Reader(reports.fragment(short)), Reader(reports.fragment(short))
    assert [tag for tag, _ in (one.elements + two.elements)] == ["iframe", "iframe"]
    (_, attributes), *_ = one.elements
    assert "id" not in attributes
    inner = Reader(attributes["srcdoc"])
    assert inner.count("input") == len(short.components) + 3
    assert inner.count("a") == 0  # files are not beside a notebook
    assert "<h2>Facts" not in attributes["srcdoc"]  # the player, not the whole page


@pytest.mark.full
@pytest.mark.parametrize("limit", [700_000, 450_000])
def test_the_page_keeps_to_its_size(limit, monkeypatch):
    report = example_report()
    monkeypatch.setattr(page, "LIMIT", limit)
    text = reports.html(report)
    assert len(text.encode()) <= limit
    assert "so that this page stays small" in text


def test_the_longest_preview():
    n = 8000 * 70
    noise = np.random.default_rng(0).standard_normal((n, 1)) / 10
    heard = previews.previews(_plain(noise, 8000), 15_000_000)
    assert heard.report.seconds == previews.SECONDS < 70
    assert heard.report.H.shape[1] == transformed(heard.report).frames.shape[-1]
    assert f"{previews.SECONDS} of 70.0 seconds" in heard.words


def test_a_preview_is_cut_if_the_smallest_coding_is_too_large(short, monkeypatch):
    def large(samples, rate, coding):
        return bytes(int(40_000 * len(samples) / rate))

    monkeypatch.setattr(previews, "encoded", large)
    room = len(short.sounds) * short.seconds * 30_000 * previews.BASE64
    heard = previews.previews(short, int(room))
    assert sum(map(len, heard.sounds)) * previews.BASE64 <= room
    assert 0.6 < heard.report.seconds / short.seconds < 0.75


@pytest.mark.parametrize("without", [(), ("FLAC",)])
def test_parts_stay_in_sync_in_every_format(without, short, monkeypatch):
    known = {k: v for k, v in soundfile.available_formats().items() if k not in without}
    monkeypatch.setattr(soundfile, "available_formats", lambda: known)
    heard = previews.previews(short, 15_000_000)
    sounds = [soundfile.read(BytesIO(sound), always_2d=True)[0][:, 0] for sound in heard.sounds]
    assert {len(sound) for sound in sounds} == {len(short.mixture)}
    for samples, sound in zip(short.sounds, sounds, strict=True):
        exact = samples[:, 0]
        assert lag(sound, exact) == 0
        level = np.dot(sound, exact) / np.dot(exact, exact)
        assert level == pytest.approx(1, abs=0.02)
    difference = sounds[0] - np.sum(sounds[1:], axis=0)
    assert np.square(difference).sum() < 0.02 * np.square(sounds[0]).sum()


def test_flac_is_taken_if_there_is_room_with_as_many_bits_as_fit(short):
    """It is encoded in a twentieth of the time of MP3, and is exact but for the rounding."""
    sizes = []
    for bits in BITS:
        heard = previews.previews(short, int(sizes[-1]) - 1 if sizes else 15_000_000)
        sizes.append(sum(map(len, heard.sounds)) * previews.BASE64)
        assert f"You hear {bits}-bit previews" in heard.words
        for exact, sound in zip(short.sounds, heard.sounds, strict=True):
            decoded = soundfile.read(BytesIO(sound), always_2d=True)[0]
            assert np.abs(decoded - exact).max() < 2.0**-bits * 1.01
    heard = previews.previews(short, int(sizes[-1]) - 1)
    assert "You hear MP3 previews" in heard.words
    assert heard.report.seconds == short.seconds


def test_samples_at_full_scale_do_not_wrap_around():
    ends = np.array([[1.0, -1.0, 1.0001, -1.0001]]).T
    for bits in BITS:
        assert np.sign(previews.rounded(ends, bits)).ravel().tolist() == [1, -1, 1, -1]


def test_sounds_do_not_depend_on_the_number_of_threads(short, monkeypatch):
    told = []
    for n in (1, 2, 5):
        monkeypatch.setattr(threads, "available", lambda n=n: n)
        told.append(previews.previews(short, 15_000_000).sounds)
    assert told[0] == told[1] == told[2]
    monkeypatch.setattr(previews, "encoded", lambda samples, *how: samples.tobytes())
    exact = [samples.astype(np.float32).tobytes() for samples in short.sounds]
    assert previews.previews(short, 15_000_000).sounds == exact  # mixture, components, in order


@pytest.mark.parametrize("n", [1, 2])
def test_an_encoder_that_fails_for_one_sound_fails_in_one_sentence(short, monkeypatch, n):
    quiet = min(float(np.abs(samples).max()) for samples in short.sounds)

    def failing(samples, rate, coding):
        if np.abs(samples).max() <= np.float32(quiet):
            raise OSError("No space left on device")
        return bytes(10)

    monkeypatch.setattr(threads, "available", lambda: n)
    monkeypatch.setattr(previews, "encoded", failing)
    with pytest.raises(OSError, match="^No space left on device$"):
        reports.html(short)
    assert not [t for t in threading.enumerate() if t.name.startswith("phinmf")]


def lag(a, b, most=64):
    """By how many samples a is late."""
    middle = slice(most, len(b) - most)
    by = range(-most, most + 1)
    return by[int(np.argmax([np.dot(np.roll(a, -k)[middle], b[middle]) for k in by]))]


@pytest.mark.parametrize(("rate", "channels"), [(1, 1), (7350, 1), (48_000, 2), (384_000, 6)])
def test_any_rate_and_any_number_of_channels(rate, channels):
    samples = np.random.default_rng(0).standard_normal((max(50, rate // 5), channels))
    heard = previews.previews(_plain(samples, rate), 15_000_000)
    for sound in heard.sounds:
        read, found = soundfile.read(BytesIO(sound), always_2d=True)
        assert found == heard.rate
        assert len(read) == pytest.approx(heard.report.seconds * found, rel=0.01, abs=2)
        assert np.abs(read).max() <= 1.2
    assert "quieter" in heard.words
    assert ("mixed to one" in heard.words) == (channels > 2)


@pytest.mark.parametrize("n", [1, 3, 200])
@pytest.mark.parametrize("M", [2, 16])
@pytest.mark.parametrize("level", [0.0, 0.1])
def test_tiny_and_silent_recordings_have_a_page(n, M, level):
    samples = level * np.random.default_rng(0).standard_normal((n, 1))
    text = reports.html(_plain(samples, 8000, M))
    assert ("The preview is silent" in text) == (level == 0)
    assert "nan" not in re.sub(r'base64,[^"]*|<script.*?</script>', "", text, flags=re.DOTALL)


def test_parts_that_do_not_fit_together_are_refused(short):
    longer = Component("longer", np.zeros((len(short.mixture) + 1, 1)), None, 0.0)
    with pytest.raises(ValueError, match="'longer' has samples of shape"):
        reports.html(replace(short, components=[longer]))
    with pytest.raises(ValueError, match="no components"):
        reports.html(replace(short, components=[]))
    flat = short.mixture[:, 0]
    with pytest.raises(ValueError, match=r"\(n, channels\) is needed"):
        reports.html(replace(short, mixture=flat))
    broken = replace(short.components[0], samples=short.components[0].samples * np.nan)
    with pytest.raises(ValueError, match="not numbers"):
        reports.html(replace(short, components=[broken]))


def test_the_same_report_is_the_same_page(short, text):
    assert reports.html(short) == text


def test_rows_between_rows_are_the_nearest_and_crowded_ones_are_averaged():
    values = np.array([[1.0], [3.0], [10.0]])
    even = resampled(values, np.array([0.1, 0.2, 0.9]), 4)
    np.testing.assert_allclose(even[:, 0], [2, 3, 10, 10])


def test_clocks_and_shares_read_well():
    assert words.clock(65) == "1:05"
    assert words.clock(59.96, 1) == "1:00.0"
    assert words.clock(5.25, 2) == "0:05.25"
    assert [words.percent(x) for x in (0, 0.001, 0.345, 1, np.nan)] == [
        "0 %", "below 1 %", "34 %", "100 %", "0 %",
    ]  # fmt: skip


def test_assets_are_part_of_the_package():
    folder = files("phinmf.report")
    for asset in ("template.html", "style.css", "core/base.css", *page.MODULES):
        assert folder.joinpath(asset).is_file()


def _plain(samples, rate, M=16):
    """A report of one component, nothing learned."""
    N = frame_count(len(samples), M)
    return Report(
        title="plain", sample_rate=rate, mixture=samples,
        components=[Component("all of it", samples, None, 1.0)], start=0.0, Phi=np.eye(M),
        W=np.ones((M, 1)) / M, H=np.ones((1, N)), history=History(0.0), facts=[],
    )  # fmt: skip


def test_the_curve_of_learning_can_be_read(monkeypatch):
    """It falls to 100 %, although the objective at the floor of the moment rises meanwhile."""
    sound, how = example().mixture[:48_000], {"window": 320, "seed": 0, "n_atoms": None}
    unmixing = phinmf.unmix(sound, 16_000, 4, **how)
    history = unmixing.history
    assert (np.diff(history.objective) > 0).any()
    drawn = []
    monkeypatch.setattr(figures, "_svg", lambda name, draw, height: drawn.append(draw))
    figures.cost(replace(example_report(), history=history))
    figure = Figure()
    drawn[0](figure)
    for ax in (*figure.axes, *unmixing.plot_cost().axes):
        seconds, cost = ax.lines[0].get_data()
        assert seconds[0] == 0
        assert (np.diff(cost) <= 0).all()
        assert cost[-1] < cost[0]
    assert figure.axes[0].lines[0].get_ydata()[-1] == pytest.approx(100)
