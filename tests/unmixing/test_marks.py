"""Marks: a file that is checked, gains on frames, and groups that follow them."""

import json
from dataclasses import replace

import numpy as np
import pytest
import soundfile

import phinmf
from phinmf.audio import ArraySource
from phinmf.divergences import ItakuraSaito
from phinmf.unmixing import listing
from phinmf.unmixing import refine as refining
from phinmf.unmixing.groups import marks_of, save_mix
from phinmf.unmixing.marks import SILENT, Box, Gains, Marks, Stroke, read_marks
from phinmf.unmixing.mix import Group
from phinmf.unmixing.refine import Block, check_marks, hear, refine
from phinmf.unmixing.separate import ArraySink, separate

RATE, SECONDS = 8000, 3
QUICK = {"window": 256, "seed": 0, "max_time": 10}


def notes(hertz, starts, seconds=0.5):
    """Tones of three partials that begin at some seconds."""
    y = np.zeros(SECONDS * RATE)
    t = np.arange(round(seconds * RATE)) / RATE
    tone = sum(np.sin(2 * np.pi * hertz * k * t) / k for k in (1, 2, 3)) * np.exp(-3 * t)
    for start in starts:
        first = round(start * RATE)
        y[first : first + len(tone)] += tone[: len(y) - first]
    return y


LOW, HIGH = notes(220, (0, 0.7, 1.4, 2.1)), notes(500, (0.3, 0.7, 1.6, 2.1))
MIXTURE = LOW + HIGH


def marks_of_all(*marks, new=()):
    return Marks(RATE, SECONDS * RATE, list(marks), list(new))


def snr(estimate, truth):
    return 10 * np.log10(np.square(truth).sum() / np.square(estimate - truth).sum())


@pytest.fixture(scope="module")
def unmixing():
    return phinmf.unmix(MIXTURE, RATE, 4, **QUICK)


GROUPS = {"low": [1, 3], "high": [2]}  # as wrong as any; the rest is 4


# ---- the formulas


class Dense:
    """The objective and what its derivatives are made of, with gains (K, P, n), written out."""

    def __init__(self, block, member, mu, eps=1e-3):
        self.V, self.G, self.mu, self.eps = block.V, block.A[member], mu, eps

    def model(self, W, H):
        return np.einsum("kpn,pk,kn->pn", self.G, W, H) + self.eps

    def cost(self, W, H):
        divergence = ItakuraSaito().value(self.V, self.model(W, H), self.eps).sum()
        return divergence + self.mu * W.sum(axis=0) @ H.sum(axis=1)

    def slopes(self, W, H):
        """The negative and the positive part of the derivatives by H and by W."""
        v_hat = self.model(W, H)
        entries = (self.V + self.eps) / v_hat**2, 1 / v_hat
        by_H = [np.einsum("kpn,pn,pk->kn", self.G, E, W) for E in entries]
        by_W = [np.einsum("kpn,pn,kn->pk", self.G, E, H) for E in entries]
        by_H[1] += self.mu * W.sum(axis=0)[:, None]
        by_W[1] += self.mu * H.sum(axis=1)
        return by_H, by_W


@pytest.fixture
def block():
    rng = np.random.default_rng(3)
    P, n, K = 7, 11, 5
    parts = [np.array([0, 3]), np.array([2]), np.array([1, 4])]
    member = np.array([0, 2, 1, 0, 2])
    A = rng.choice([SILENT, 1.0], (3, P, n))
    V = rng.exponential(1, (P, n))
    W, H = rng.uniform(0.1, 1, (P, K)), rng.uniform(0.1, 1, (K, n))
    return Block(V, A, parts), member, W / W.sum(axis=0), H


def slope(cost, F, i, step=1e-6):
    """The derivative of a cost by one entry, as a difference."""
    up, down = F.copy(), F.copy()
    up[i] += step
    down[i] -= step
    return (cost(up) - cost(down)) / (2 * step)


@pytest.mark.parametrize("mu", [0.0, 7.0])
def test_updates_are_those_of_the_derivatives_and_never_raise_the_cost(block, mu):
    block, member, W, H = block
    dense = Dense(block, member, mu)
    for k, p, n in ((0, 2, 3), (1, 0, 7), (4, 6, 10)):
        by_H, by_W = (plus - minus for minus, plus in dense.slopes(W, H))
        difference = slope(lambda H: dense.cost(W, H), H, (k, n))
        assert difference == pytest.approx(by_H[k, n], rel=1e-4, abs=1e-4)
        difference = slope(lambda W: dense.cost(W, H), W, (p, k))
        assert difference == pytest.approx(by_W[p, k], rel=1e-4, abs=1e-4)
    costs = [dense.cost(W, H)]
    for _ in range(10):
        (minus, plus), _ = dense.slopes(W, H)
        expected = H * minus / plus
        H = block.updated(W, H, mu, dense.eps)
        assert np.allclose(H, expected)
        costs.append(dense.cost(W, H))
        sums = block.sums(W, H, mu, dense.eps)
        assert np.allclose(sums, dense.slopes(W, H)[1])
        W = W * sums[0] / sums[1]
        costs.append(dense.cost(W, H))
    assert (np.diff(costs) <= 1e-9).all()


def test_without_gains_it_is_the_model_of_all_components(block):
    block, _, *how = block
    how += [2.0, 1e-3]
    plain, ones = replace(block, A=None), replace(block, A=np.ones_like(block.A))
    assert np.allclose(plain.updated(*how), ones.updated(*how))
    assert np.allclose(plain.sums(*how), ones.sums(*how))


# ---- where a mark is


def gains_of(unmixing, *marks):
    groups = [Group(name, k) for name, k in GROUPS.items()]
    model = replace(unmixing.model, groups=tuple(groups))
    return Gains.of(marks_of_all(*marks), model, ArraySource(MIXTURE[:, None], RATE))


def test_a_box_silences_all_other_groups_and_a_silent_one_its_own(unmixing):
    gains = gains_of(unmixing, Box("low", 1, 1.5, 300, 1000), Box("rest", 2, 2.2, silent=True))
    n = 2 + SECONDS * RATE // 128
    A = gains.of_frames(0, n)
    t, f = np.arange(n) * 128 / RATE, np.arange(128) * RATE / 256
    box = ((f >= 300) & (f <= 1000))[:, None] & ((t >= 1) & (t <= 1.5))
    assert np.allclose(A[0], 1)
    assert np.allclose(A[1], np.where(box, SILENT, 1))
    stretch = (t >= 2) & (t <= 2.2)
    assert np.allclose(A[2], np.where(box | stretch, SILENT, 1))
    assert gains.of_frames(0, 10) is None
    blocks = [gains.of_frames(first, 32) for first in range(0, 160, 32)]
    assert np.array_equal(A[..., 64:96], blocks[2])


def test_a_stroke_is_as_wide_as_its_brush_and_reaches_from_point_to_point(unmixing):
    stroke = Stroke("low", [[1.0, 500.0], [1.5, 1000.0]], seconds=0.2, octaves=0.5)
    A = gains_of(unmixing, stroke).of_frames(0, 190)
    covered = A[1] < 1

    def at(t, f):
        return covered[round(f * 256 / RATE), round(t * RATE / 128)]

    assert all(at(*point) for point in [(1.0, 500), (1.25, 707), (1.5, 1000), (1.0, 560)])
    assert not any(at(*point) for point in [(1.0, 700), (1.25, 450), (0.7, 500), (1.7, 1000)])


@pytest.mark.parametrize(
    "mark", [Box("low", 1.0001, 1.0002, 500, 500.1), Stroke("low", [[1.004, 507]], 1e-4, 1e-4)]
)
def test_the_smallest_mark_is_about_one_entry_at_least(unmixing, mark):
    assert (gains_of(unmixing, mark).of_frames(0, 190)[1] < 1).sum() == 1


def test_a_later_mark_overrules_an_earlier_one_and_contradictions_say_nothing(unmixing):
    first, second = Box("low", 1, 2), Box("high", 1.5, 2.5)
    A = gains_of(unmixing, first, second).of_frames(0, 190)
    at = round(1.75 * RATE / 128)
    assert A[:2, 5, at].tolist() == [np.float32(SILENT), 1]
    silent = [Box(name, 1, 2, silent=True) for name in ("low", "high", "rest")]
    assert gains_of(unmixing, *silent).of_frames(0, 190) is None


# ---- groups that follow marks

TRUE = [
    {"group": "low", "start": 0.0, "end": 0.25},
    {"group": "high", "start": 0.3, "end": 0.6},
    {"group": "low", "start": 1.45, "end": 1.58},
]


def test_marks_improve_groups_and_components_add_up(unmixing):
    groups = {"low": [1, 2], "high": [3, 4]}
    before = unmixing.components[:2].sum(axis=0), unmixing.components[2:].sum(axis=0)
    low, high = {"group": "low", "low": 150, "high": 300}, {"group": "high", "low": 450}
    u = unmixing.refine([*TRUE, low, high | {"high": 550}], groups)
    after = u.groups["low"], u.groups["high"]
    for x, y, truth in zip(before, after, (LOW, HIGH), strict=True):
        assert snr(y, truth) > snr(x, truth) + 3
    assert np.allclose(u.components.sum(axis=0), MIXTURE, atol=1e-9)


def test_a_new_group_is_learned_from_its_marks(unmixing):
    one = phinmf.unmix(MIXTURE, RATE, 4, **QUICK)
    u = one.refine([{"group": "high", "start": 0.3, "end": 0.6}], {}, new=["high"])
    assert [*u.groups] == ["high", "rest"]
    assert u.model.K == 4 + refining.NEW
    assert snr(u.groups["high"], HIGH) > 3


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_refined_recording_has_the_same_bits_for_any_number_of_threads(pairs, channels):
    y = np.stack([MIXTURE, LOW - HIGH][:channels], axis=1)
    u = phinmf.unmix(y, RATE, 4, pairs=pairs, **QUICK)
    marks = [
        *TRUE,
        {"group": "low", "points": [[2, 300], [2.2, 900]], "seconds": 0.1, "octaves": 1},
    ]
    a, b = (u.refine(marks, GROUPS, n_threads=n) for n in (1, 3))
    assert np.array_equal(a.model.W, b.model.W)
    assert np.array_equal(a.components, b.components)
    assert np.allclose(a.components.sum(axis=0), y, atol=1e-9)


def test_a_stretch_is_heard_as_it_will_be_written(unmixing):
    u = unmixing.refine(TRUE, GROUPS)
    source = ArraySource(MIXTURE[:, None], RATE)
    for start, length in ((0, None), (3001, 9000), (SECONDS * RATE - 77, 77)):
        heard = hear(source, u.model, u.marks, start, length, n_threads=2)
        stretch = slice(start, None if length is None else start + length)
        assert [*heard] == ["low", "high", "rest"]
        assert np.allclose(sum(heard.values())[:, 0], MIXTURE[stretch], atol=1e-6)
    heard = hear(source, u.model, u.marks, 3001, 9000)
    for name in ("low", "high"):
        assert snr(heard[name][:, 0], u.groups[name][3001:12001]) > 20


def test_frames_without_marks_are_taken_apart_as_without_them(unmixing):
    model = replace(unmixing.model, groups=(Group("low", [1, 3]),))
    source = ArraySource(MIXTURE[:, None], RATE)
    sinks = [ArraySink(4, source, np.float64) for _ in range(3)]
    separate(source, model, sinks[0])
    separate(source, model, sinks[1], marks=marks_of_all())
    separate(source, model, sinks[2], marks=marks_of_all(Box("low", 2.1, 2.4)))
    assert np.array_equal(sinks[0].components, sinks[1].components)
    end = round(1.9 * RATE)  # the blocks of frames before the mark
    assert np.array_equal(sinks[0].components[:, :end], sinks[2].components[:, :end])
    assert not np.allclose(sinks[0].components, sinks[2].components)


def test_a_long_recording_is_sampled_around_its_marks(unmixing, monkeypatch):
    monkeypatch.setattr(refining, "MOST_FRAMES", 128)
    model = replace(unmixing.model, groups=(Group("low", [1, 3]),))
    source = ArraySource(np.tile(MIXTURE, 4)[:, None], RATE)
    marks = Marks(RATE, source.length, [Box("low", 7.4, 7.6)])
    frames = refining.MarkedFrames(source, model, marks)
    starts = refining.chosen(frames, 4 * 190)
    assert len(starts) == 2
    assert any(start <= 7.5 * RATE / 128 < start + 64 for start in starts)
    assert np.isfinite(refine(source, model, marks).W).all()


def test_marks_are_seconds_of_the_whole_recording(unmixing, tmp_path):
    soundfile.write(tmp_path / "song.wav", MIXTURE / 4, RATE, subtype="PCM_16")
    whole = phinmf.audio.files.excerpt(tmp_path / "song.wav")
    model = replace(unmixing.model, groups=(Group("low", [1, 3]),))
    marks = marks_of_all(Box("low", 1.0, 1.2))
    first = Gains.of(marks, model, whole).of_frames(0, 150)
    later = Gains.of(marks, model, whole.stretch(0.512)).of_frames(0, 100)
    assert np.array_equal(first[..., 32:132], later)


# ---- files


def test_a_file_of_marks_comes_back(tmp_path):
    marks = marks_of_all(
        Box("voice", 1, 2), Box("é/", low=200, high=900, silent=True), Box("voice"),
        Stroke("drums", [[1, 200], [1.5, 300.5]], 0.2, 0.3, silent=True), new=["voice"],
    )  # fmt: skip
    marks.write(tmp_path / "marks.json")
    assert read_marks(tmp_path / "marks.json") == marks
    marks_of_all().write(tmp_path / "none.json")
    assert read_marks(tmp_path / "none.json") == marks_of_all()


GOOD = {
    "program": "phinmf", "kind": "marks", "version": 1, "sample_rate": RATE,
    "length": SECONDS * RATE, "marks": [{"group": "low", "start": 1, "end": 2}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"program": "other"}, "no marks"),
        ({"version": 2}, "no marks"),
        ({"sample_rate": "8000"}, "sample_rate"),
        ({"sample_rate": 0}, "sample_rate"),
        ({"length": 1.5}, "length"),
        ({"new": "voice"}, "new"),
        ({"new": ["a/b"]}, "name"),
        ({"marks": None}, "list of marks"),
        ({"marks": ["voice"]}, "mark 1"),
        ({"marks": [{"start": 1}]}, "mark 1"),
        ({"marks": [{"group": "low", "hihg": 900}]}, "hihg"),
        ({"marks": [{"group": "low", "start": float("nan")}]}, "mark 1"),
        ({"marks": [{"group": "low", "start": -1}]}, "start"),
        ({"marks": [{"group": "low", "start": 2, "end": 2}]}, "larger"),
        ({"marks": [{"group": "low", "low": 900, "high": 200}]}, "low and high"),
        ({"marks": [{"group": "low", "start": 1, "end": 3.5}]}, "3.5 s"),
        ({"marks": [{"group": "low", "low": 1, "high": 5000}]}, "5000 Hz"),
        ({"marks": [{"group": "low", "start": "1"}]}, "wrong type"),
        ({"marks": [{"group": "low", "points": []}]}, "mark 1"),
        ({"marks": [{"group": "low", "points": [], "seconds": 1, "octaves": 1}]}, "points"),
        ({"marks": [{"group": "low", "points": [[1]], "seconds": 1, "octaves": 1}]}, "points"),
        ({"marks": [{"group": "low", "points": [[1, 2]], "seconds": 0, "octaves": 1}]}, "brush"),
        (
            {
                "marks": [
                    {"group": "low", "points": [[1, 2], [2, 3]], "seconds": 1e-300, "octaves": 1}
                ]
            },
            "brush",
        ),
        ({"new": [f"group {i}" for i in range(33)]}, "33 groups"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, change, message):
    path = tmp_path / "marks.json"
    path.write_text(json.dumps(GOOD), "utf-8")
    read_marks(path)
    path.write_text(json.dumps(GOOD | change), "utf-8")
    with pytest.raises(ValueError, match=message) as error:
        read_marks(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", "1", '{"program":', "[" * 100_000])
def test_what_is_no_file_of_marks_is_refused(tmp_path, text):
    (tmp_path / "marks.json").write_text(text)
    with pytest.raises(ValueError, match="no marks"):
        read_marks(tmp_path / "marks.json")


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        (marks_of_all(Box("voice")), "'voice', but the groups are low, high, rest"),
        (marks_of_all(Box("voice", silent=True), new=["voice"]), "where the new group"),
        (marks_of_all(new=["voice"]), "where the new group"),
        (replace(marks_of_all(Box("low", 1, 2)), length=30000), "30000 samples at 8000 Hz"),
        (replace(marks_of_all(Box("low", 1, 2)), sample_rate=8001), "8001"),
    ],
)
def test_marks_that_do_not_fit_are_refused_before_anything_is_computed(unmixing, marks, message):
    groups = [Group(name, k) for name, k in GROUPS.items()]
    source = ArraySource(MIXTURE[:, None], RATE)
    with pytest.raises(ValueError, match=message):
        check_marks(source, unmixing.model, marks, groups)


def test_marks_on_the_command_line(tmp_path, unmixing):
    from phinmf.cli.main import main

    song = tmp_path / "song.wav"
    soundfile.write(song, MIXTURE / 4, RATE, subtype="PCM_16")
    how = ["--window", "256", "--quiet", "--no-report"]
    first, second = tmp_path / "one" / "song", tmp_path / "two" / "song"
    group = "low=1,3 high=2"
    assert main(["unmix", str(song), "-k4", "-o", str(first.parent), "--group", group, *how]) == 0
    marks = marks_of_all(Box("low", 0, 0.25), Box("other", 0.3, 0.6), new=["other"])
    assert marks_of(first) is None
    mix = listing.read(first).mix
    for saved in (marks_of_all(Box("high")), marks, None):  # None: as they are
        mix = save_mix(first, mix, marks=saved).mix
    assert marks_of(first) == marks
    how += ["--marks", str(first / "marks.json"), "-o", str(second.parent)]
    assert main(["unmix", str(song), *how]) == 1  # without a model
    assert main(["unmix", str(song), "--model", str(first / "model.npz"), *how]) == 1  # or groups
    assert not second.exists()
    assert main(["unmix", str(song), "--model", str(first), *how]) == 0
    assert marks_of(second) == marks
    sounds = [soundfile.read(second / f"{name}.wav", dtype="int16")[0].astype(int)
              for name in ("low", "high", "other", "rest")]  # fmt: skip
    assert np.array_equal(sum(sounds), soundfile.read(song, dtype="int16")[0])


def test_a_new_group_needs_a_mark_where_something_sounds(unmixing):
    silent = np.concatenate([MIXTURE, np.zeros(RATE)])
    overruled = [{"group": "new", "end": 0.5}, {"group": "low", "end": 0.5}]
    after_the_end = [{"group": "new", "start": SECONDS + 0.3, "end": SECONDS + 0.8}]
    u = phinmf.unmix(silent, RATE, model=unmixing.model)
    for marks in (overruled, after_the_end):
        with pytest.raises(ValueError, match="nothing sounds where the new group 'new'"):
            u.refine(marks, GROUPS, new=["new"])


def test_a_short_mark_of_a_new_group_is_learned_from_among_many_others(unmixing, monkeypatch):
    monkeypatch.setattr(refining, "STRETCH", 4)
    monkeypatch.setattr(refining, "MOST_FRAMES", 16)
    marks = [{"group": "low"}, {"group": "new", "start": 1.6, "end": 1.65}]
    u = unmixing.refine(marks, GROUPS, new=["new"])
    assert np.isfinite(u.components).all()
    assert u.W[:, u.model.groups[-1].components[0] - 1].any()
