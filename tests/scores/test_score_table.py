import io
import json

import numpy as np
import pytest
import soundfile
from rich.console import Console

from phinmf.audio.example import example
from phinmf.linalg.manifold import random_orthogonal
from phinmf.scores.files import score_files
from phinmf.scores.measures import LIMIT
from phinmf.scores.oracles import dct_nmf, oracle_mask
from phinmf.scores.table import DCT, ESTIMATE, MASK, MIXTURE, score_components


@pytest.fixture(scope="module")
def short():
    """Three seconds of the example, which are enough to separate something."""
    return {name: stem[:48_000] for name, stem in example().stems.items()}


@pytest.fixture(scope="module")
def table(short):
    parts = [part for stem in short.values() for part in (0.7 * stem, 0.3 * stem)]
    return score_components(parts, short, 256)


def test_the_table_holds_each_source_by_each_method(table, short):
    assert table.methods == [MIXTURE, ESTIMATE, DCT, MASK]
    assert len(table.rows) == 4 * len(short)
    components = [row.components for row in table.rows if row.method == ESTIMATE]
    assert components == [(1, 2), (3, 4), (5, 6)]
    assert table.options.to_json() == {"M": 256, "K": 6, "sparsity": 10.0, "mask transform": "DCT"}


def test_the_scores_are_in_the_expected_order(table):
    mixture, estimate, fixed, mask = (table.mean(method).snr for method in table.methods)
    assert mixture < fixed < mask < estimate  # these components are exact
    assert estimate > 150
    assert table.mean(MIXTURE).sar == LIMIT  # the mixture is nothing but sources


def test_json_and_the_terminal_tell_the_same(table):
    told = json.loads(table.to_json())
    assert told["grouping"].startswith("oracle")
    assert len(told["scores"]) == len(table.rows)
    assert told["scores"][1]["components"] == [1, 2]
    assert told["mean"][DCT]["sdr"] == pytest.approx(table.mean(DCT).sdr)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(table.table())
    text = console.export_text()
    assert f"{table.mean(DCT).sdr:.2f}" in text
    assert "oracle" in text


def printed(table, width=80):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(table.table())
    return console.export_text()


def test_scores_at_the_limits_are_words(rng):
    a, b = rng.standard_normal((2, 400))
    half = score_components([a], {"a": a, "b": b}, 16, baseline=False)
    assert half.mean(ESTIMATE).sdr == -LIMIT  # nothing is an estimate of b
    text = printed(half)
    assert "200.00" not in text
    assert "exact: no error at all" in text
    assert "–: nothing of the source" in text
    both = score_components([a, b + 0.1 * a], {"a": a, "b": b}, 16, baseline=False)
    worse = next(row for row in both.rows if (row.source, row.method) == ("b", ESTIMATE))
    assert both.mean(ESTIMATE).sdr == worse.scores.sdr < 30


def test_numbers_are_never_cut(rng):
    name = "a long name of an instrument"
    a, b = rng.standard_normal((2, 400))
    parts = [*(a * k for k in range(1, 15)), 1e-6 * b]
    table = score_components(parts, {name: a, "b": b}, 16)
    text = printed(table)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    values = [value for row in table.rows for value in row.scores if abs(value) < LIMIT]
    assert all(f"{value:.2f}" in text for value in values)
    assert all(method in text for method in table.methods)


def test_oracle_masks_add_up_in_any_transform(rng):
    sources = rng.standard_normal((3, 500, 2))
    sources[1, :200] = 0
    for Phi in (None, random_orthogonal(32, rng)):
        estimates = oracle_mask(sources, 32, Phi)
        assert np.allclose(estimates.sum(axis=0), sources.sum(axis=0), atol=1e-12)


def test_components_of_the_fixed_transform_add_up(rng):
    y = rng.standard_normal((400, 2))
    assert np.allclose(dct_nmf(y, 32, 3, 10.0, max_iter=5).sum(axis=0), y, atol=1e-12)


def test_silence_has_scores():
    nothing = {"a": np.zeros(100), "b": np.zeros(100)}
    table = score_components(np.zeros((2, 100)), nothing, 16)
    assert all(row.scores == (LIMIT,) * 5 for row in table.rows)
    json.loads(table.to_json())


def test_the_mixture_must_fit(short):
    with pytest.raises(ValueError, match="mixture has 5 samples"):
        score_components(list(short.values()), short, 256, mixture=np.ones(5))


@pytest.fixture
def files(tmp_path, rng):
    for name in ("a", "b"):
        soundfile.write(tmp_path / f"{name}.wav", 0.1 * rng.standard_normal((800, 2)), 8000)
    return tmp_path


def test_files_are_scored_by_name(files):
    paths = [files / "a.wav", files / "b.wav"]
    table = score_files(paths[::-1], paths, baseline=False)
    assert [row.source for row in table.rows if row.method == ESTIMATE] == ["a", "b"]
    assert table.mean(ESTIMATE).sdr == LIMIT
    assert table.options.M == 320
    assert table.as_dict()["settings"]["sample_rate"] == 8000


def test_the_mixture_can_be_a_file_and_names_may_repeat(files):
    paths = [files / "a.wav", files / "a.wav"]
    table = score_files(paths, paths, mixture=files / "b.wav", baseline=False)
    assert len({row.source for row in table.rows}) == 2


@pytest.mark.parametrize(
    ("samples", "rate", "told"),
    [
        (np.ones((800, 2)) / 2, 16_000, "at 16000 Hz, but"),
        (np.ones((799, 2)) / 2, 8000, "799 samples on 2 channels"),
        (np.ones(800) / 2, 8000, "800 samples on 1 channel at"),
    ],
)
def test_files_that_differ_are_refused_in_a_sentence(files, samples, rate, told):
    soundfile.write(files / "c.wav", samples, rate)
    with pytest.raises(ValueError, match=f"{told}.* same rate, length and channels"):
        score_files([files / "a.wav"], [files / "b.wav", files / "c.wav"])


def test_missing_and_broken_files_are_refused_in_a_sentence(files):
    (files / "no.wav").write_bytes(b"this is not sound")
    with pytest.raises(ValueError, match=r"no\.wav cannot be read as sound"):
        score_files([files / "no.wav"], [files / "a.wav"])
    with pytest.raises(FileNotFoundError, match=r"none\.wav does not exist"):
        score_files([files / "none.wav"], [files / "a.wav"])
    with pytest.raises(ValueError, match="no references are given"):
        score_files([files / "a.wav"], [])
