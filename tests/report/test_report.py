"""The page, read as text."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from io import BytesIO

import numpy as np
import pytest
import soundfile
from matplotlib.figure import Figure
from reports import HOSTILE, example_report, hostile_report, written

import phinmf
from phinmf.audio.example import example
from phinmf.report import page, plots, sections
from phinmf.report.contents import Component, ComponentGroup, Report
from phinmf.result import History, Row

ROOM = 15_000_000


class Reader(HTMLParser):
    """The elements of a page: [(tag, attributes)]."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    @property
    def tags(self):
        return [tag for tag, _ in self.elements]


@pytest.fixture(scope="module")
def short():
    return example_report(seconds=2.0)


@pytest.fixture(scope="module")
def text(short):
    return page.html(short)


def plain(samples, rate, M=16):
    """A report of one component, after an iteration that learned nothing."""
    history = History(0.0)
    nothing = dict.fromkeys(Row._fields, 0) | {"gradient": 0.0, "seconds": 0.0, "steps": ()}
    history.rows.append(Row(**nothing))
    model = phinmf.UnmixModel(
        Phi=np.eye(M), W=np.ones((M, 1)) / M, scale=1.0, floor=1e-6, sparsity=0.0,
        sample_rate=rate, history=history, stop_reason="", n_atoms=M, energy=1.0,
    )  # fmt: skip
    return Report("plain", model, [Component("all of it", samples, None, 1.0)])


def decoded(sounds):
    return [soundfile.read(BytesIO(sound), always_2d=True)[0] for sound in sounds]


def test_the_page_asks_nothing_of_the_network(short, text):
    assert page.html(short) == text
    assert "://" not in text.replace("file://", "")
    for _, attributes in Reader(text).elements:
        for name in ("src", "href", "srcset", "action", "poster", "xlink:href"):
            assert re.match(r"(data:|\./|#)", attributes.get(name) or "#"), attributes
    assert "default-src 'none'" in text
    assert not re.search(r"@import|url\((?!#)", text)


def test_elements_can_be_told_apart_and_pictures_have_words(text):
    elements = Reader(text).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert all(attributes["alt"] for tag, attributes in elements if tag == "img")
    drawn = [attributes for _, attributes in elements if attributes.get("role") == "img"]
    assert all(attributes["aria-label"] for attributes in drawn)


@pytest.mark.parametrize("write", [page.html, page.fragment])
def test_what_comes_from_outside_is_inert(write, short):
    groups = [ComponentGroup("low", [4, 2], 1, "a b.wav"), ComponentGroup("rest", [1, 3, 5])]
    named = [replace(group, name=HOSTILE) for group in groups]
    hostile = write(replace(hostile_report(short), groups=named))
    attacked = Reader(hostile)
    assert attacked.tags == Reader(write(replace(short, groups=groups))).tags
    for _, attributes in attacked.elements:
        assert not {name for name in attributes if name.startswith("on")}
        assert (attributes.get("href") or ".").startswith((".", "#", "data:"))
    assert HOSTILE not in hostile


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
    assert sections.address(file) == address


def test_names_that_are_no_text_are_shown(short, tmp_path):
    odd = replace(short, title="b\udcffd\0 \u202ename")
    assert b"b?d" in written(odd, tmp_path / "report.html").read_bytes()


def test_a_fragment_is_a_page_of_its_own_with_the_player_alone(short):
    ((tag, attributes),) = Reader(page.fragment(short)).elements
    assert tag == "iframe"
    assert "id" not in attributes
    assert Reader(attributes["srcdoc"]).tags.count("input") == len(short.components) + 1
    assert "<h2>Facts" not in attributes["srcdoc"]


@pytest.mark.parametrize("limit", [2_300_000, 2_000_000])
def test_the_page_keeps_to_its_size(short, limit, monkeypatch):
    noise = np.random.default_rng(0).standard_normal((64_000, 2)) / 10
    components = [replace(part, samples=noise) for part in short.components]
    monkeypatch.setattr(page, "LIMIT", limit)
    text = page.html(replace(short, components=components))
    assert len(text.encode()) <= limit
    assert "so that this page stays small" in text


def test_a_preview_has_as_many_bits_as_there_is_room_for_and_half_a_minute_at_most():
    noise = np.random.default_rng(0).standard_normal((8000 * 70, 1)) / 10
    room = ROOM
    for bits in page.BITS:
        report, sounds, note = page.previews(plain(noise, 8000), 8000, room)
        assert report.seconds == page.SECONDS < 70
        assert report.H.shape[1] == report.frames.shape[-1]
        assert f"{bits}-bit" in note
        for exact, sound in zip(report.sounds, decoded(sounds), strict=True):
            assert np.abs(sound - exact).max() < 2.0**-bits * 1.01
        room = sum(map(len, sounds)) * 4 // 3 - 1
    cut, sounds, note = page.previews(plain(noise, 8000), 8000, room)
    assert sum(map(len, sounds)) * 4 / 3 <= room
    assert 0.9 < cut.seconds / page.SECONDS < 1
    assert f"{cut.seconds:.1f} of 70.0 seconds" in note


@pytest.mark.parametrize(("rate", "channels"), [(1, 1), (7350, 1), (48_000, 2), (384_000, 6)])
def test_any_rate_and_any_number_of_channels(rate, channels):
    samples = np.random.default_rng(0).standard_normal((max(50, rate // 5), channels))
    text = page.html(plain(samples, rate))
    assert "quieter" in text
    assert ("mixed to one" in text) == (channels > 2)
    playable = min(max(rate, 8000), 48_000)
    report, sounds, _ = page.previews(plain(samples, rate), playable, ROOM)
    for sound in decoded(sounds):
        assert len(sound) == pytest.approx(report.seconds * playable, rel=0.01, abs=2)
        assert np.abs(sound).max() <= 1


@pytest.mark.parametrize(
    ("n", "M", "level"), [(1, 2, 0.1), (1, 16, 0.0), (3, 2, 0.0), (3, 16, 0.1), (200, 16, 0.1)]
)
def test_tiny_and_silent_recordings_have_a_page(n, M, level):
    samples = level * np.random.default_rng(0).standard_normal((n, 1))
    text = page.html(plain(samples, 8000, M))
    assert ("The preview is silent" in text) == (level == 0)
    assert "nan" not in re.sub(r'base64,[^"]*|<script.*?</script>', "", text, flags=re.DOTALL)


def test_the_curve_of_learning_can_be_read():
    """It falls to 100 %, although the objective at the floor of the moment rises meanwhile."""
    sound, options = example().mixture[:48_000], {"window": 320, "seed": 0, "n_atoms": None}
    history = phinmf.unmix(sound, 16_000, 4, **options).history
    assert (np.diff(history.objective) > 0).any()
    figure = plots.cost(history)
    assert isinstance(figure, Figure)
    seconds, cost = figure.axes[0].lines[0].get_data()
    assert seconds[0] == 0
    assert (np.diff(cost) <= 0).all()
    assert cost[0] > cost[-1] == pytest.approx(100)
