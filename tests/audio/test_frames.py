"""Signals to frames and back: whole, in files, and as they arrive."""

import itertools

import numpy as np
import pytest
import soundfile
from clusters import needs_dask
from hypothesis import given
from hypothesis import strategies as st
from sound_files import RATE, tones, write

import phinmf
from phinmf import frames_from_files, from_frames, stream_frames, to_frames
from phinmf.audio import files, frames


@given(n=st.integers(1, 200), half=st.integers(1, 20), channels=st.integers(0, 3))
def test_round_trip(n, half, channels):
    shape = (n, channels) if channels else (n,)
    y = np.random.default_rng(n).standard_normal(shape)
    before = y.copy()
    Y = to_frames(y, 2 * half)
    back = from_frames(Y, n)
    assert back.shape == y.shape
    assert np.abs(back - y).max() <= 1e-12 * np.abs(y).max()
    assert np.array_equal(y, before)
    assert Y.shape[-2:] == (2 * half, -(-n // half) + 1)
    assert np.isclose((Y**2).sum(), (y**2).sum(), rtol=1e-12)


@given(halves=st.integers(1, 9), half=st.integers(1, 20))
def test_frames_of_reversed_sound_are_reversed(halves, half):
    y = np.random.default_rng(half).standard_normal(halves * half)
    Y = to_frames(y, 2 * half)
    assert np.allclose(to_frames(y[::-1], 2 * half), Y[::-1, ::-1], rtol=0, atol=1e-12)


def test_frames_are_contiguous_and_keep_the_dtype(rng):
    assert to_frames(np.ones(1_191_735), 440).shape == (440, 5418)  # the paper's recording
    Y = to_frames(rng.standard_normal(100).astype(np.float32), 8)
    assert Y.dtype == np.float32
    assert Y.flags.f_contiguous
    assert from_frames(Y, 100).dtype == np.float32


NOISE = np.random.default_rng(0).standard_normal((100, 2))
COMPONENTS = np.stack([to_frames(NOISE, 8)] * 3)
#: What is refused, and what the message names.
REFUSED = [
    (lambda: to_frames(np.ones(100), 7), "M is 7.*use 8"),
    (lambda: to_frames(np.ones(10), 0), "M is 0"),
    (lambda: to_frames(np.array([1.0, np.nan]), 8), "1 NaN or infinite"),
    (lambda: to_frames(np.ones((9, 2, 1)), 8), r"\(9, 2, 1\), but \(n,\) or \(n, channels\)"),
    (lambda: to_frames(np.ones((0, 2)), 8), r"\(0, 2\), but .* n ≥ 1"),
    (lambda: from_frames(to_frames(np.ones(18), 8), 1000), "1000.*6 frames of 8 .* from 17 to 20"),
    (lambda: from_frames(to_frames(NOISE, 8).swapaxes(-1, -2), 100), r"pass .*Y\.swapaxes"),
    (lambda: from_frames(COMPONENTS, 100), r"\(3, 2, 8, 26\).* one component .*Result.to_sound"),
    (lambda: stream_frames([NOISE], 63), "M is 63, but frames that overlap by half"),
    (lambda: stream_frames([NOISE], 64, dtype=np.float16), "'float16'.*'float32', 'float64'"),
    (lambda: list(stream_frames([NOISE, NOISE * np.nan], 64)), "piece 2 of the sound has 200 NaN"),
    (lambda: list(stream_frames([NOISE[:, 0], NOISE], 64)), r"piece 2 .*\(100, 2\), but .*\(n,\)"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_no_signal_or_no_frames_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def joined(pieces):
    return np.concatenate(list(pieces), axis=-1)


@pytest.mark.parametrize("channels", [None, 1, 2])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 500])
@pytest.mark.parametrize("size", [1, 7, 32, 64, 1000])
def test_frames_of_pieces_are_those_of_the_whole(rng, channels, n, size):
    y = rng.standard_normal(n if channels is None else (n, channels))
    pieces = (y[i : i + size] for i in range(0, n, size))
    assert np.array_equal(joined(stream_frames(pieces, 64, dtype="float64")), to_frames(y, 64))


def test_frames_come_as_soon_as_their_samples_have_arrived(rng):
    y = rng.standard_normal(320).astype(np.float32)
    pieces = iter(y.reshape(10, 32))
    stream = stream_frames(pieces, 64)
    assert np.array_equal(next(stream), to_frames(y, 64)[:, :1])
    assert len(list(pieces)) == 9
    assert list(stream_frames([], 64)) == []
    endless = stream_frames(itertools.repeat(y), 64)
    assert sum(Y.shape[1] for Y in itertools.islice(endless, 100)) == 100 * 10


LENGTHS = [1, 15, 16, 17, 32, 250, 256]


def recordings(folder, channels, dtype):
    """Paths of files, and their samples."""
    paths = [folder / f"{n}.wav" for n in LENGTHS]
    for path, n in zip(paths, LENGTHS, strict=True):
        write(path, tones(n, channels, n), subtype="FLOAT")
    return paths, [soundfile.read(path)[0].astype(dtype) for path in paths]


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frames_of_files_are_those_of_their_samples(tmp_path, channels, dtype):
    """As they arrive, and every stretch of them alone."""
    paths, signals = recordings(tmp_path, channels, dtype)
    expected = joined(to_frames(y, 32) for y in signals)
    assert np.array_equal(joined(stream_frames(iter(paths), 32, dtype=dtype)), expected)
    last = to_frames(signals[-1], 32)
    assert np.array_equal(joined(stream_frames(paths[-1], 32, dtype=dtype)), last)
    for path, y in zip(paths, signals, strict=True):
        whole, recording = to_frames(y, 32).reshape(channels, 32, -1), files.excerpt(path)
        for a, b in itertools.combinations(range(whole.shape[2] + 1), 2):
            stretch = frames.read_frames(recording, 32, a, b, np.dtype(dtype).name)
            assert np.array_equal(stretch, whole[:, :, a:b])


@pytest.mark.full
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chunk", [1, 7, 100])  # frames
def test_chunks_of_frames_of_files(tmp_path, monkeypatch, channels, dtype, chunk):
    needs_dask()
    monkeypatch.setattr(frames, "CHUNK", chunk * channels * 32 * np.dtype(dtype).itemsize)
    paths, signals = recordings(tmp_path, channels, dtype)
    Y = frames_from_files(paths, 32, dtype=dtype)
    assert Y.dtype == dtype
    assert Y.numblocks[-2] == 1
    expected = joined(to_frames(y, 32) for y in signals)
    assert np.array_equal(Y.compute(scheduler="sync"), expected)
    alone = frames_from_files(paths[-1], 32, dtype=dtype)
    assert np.array_equal(alone.compute(scheduler="sync"), to_frames(signals[-1], 32))


@pytest.mark.full
def test_recordings_that_are_fitted_together(tmp_path):
    needs_dask()
    paths = [write(tmp_path / f"{i}.wav", tones(90_000, seed=i)) for i in range(2)]
    Y = frames_from_files(paths, 64).rechunk((64, 500))
    how = {"n_components": 3, "max_iter": 3, "tol": 0, "random_state": 0}
    expected = phinmf.tl_nmf(Y.compute(scheduler="sync"), **how)
    assert np.array_equal(phinmf.tl_nmf(Y, **how).Phi, expected.Phi)
    assert np.array_equal(phinmf.TLNMF(**how).fit(Y.T).transform_matrix_, expected.Phi)


def streamed(*how, **also):
    return list(stream_frames(*how, **also))


@pytest.mark.parametrize(
    "framed", [pytest.param(frames_from_files, marks=pytest.mark.full), streamed]
)
def test_files_that_do_not_fit_together_are_refused(tmp_path, framed):
    if framed is frames_from_files:
        needs_dask()
    good, fast = write(tmp_path / "good.wav"), write(tmp_path / "fast.wav", rate=9000)
    wide = write(tmp_path / "wide.wav", tones(100, 2))
    with pytest.raises(ValueError, match=f"fast.wav is .*9000 Hz.*good.wav is .*{RATE}.*convert"):
        framed([good, fast], 32)
    with pytest.raises(ValueError, match="wide.wav is .*stereo.*good.wav is .*mono.*convert"):
        framed([good, wide], 32)
    with pytest.raises(FileNotFoundError, match="nothing.wav does not exist"):
        framed([tmp_path / "nothing.wav"], 32)
    with pytest.raises(ValueError, match="dtype is 'int16'.*choose one of 'float32', 'float64'"):
        framed(good, 32, dtype="int16")
    if framed is frames_from_files:
        with pytest.raises(ValueError, match="paths is empty"):
            framed([], 32)


@pytest.mark.full
def test_a_file_that_changes_before_its_frames_are_read(tmp_path):
    needs_dask()
    path = write(tmp_path / "a.wav", tones(8000))
    Y = frames_from_files(path, 64)
    write(path, tones(4000))
    with pytest.raises(ValueError, match=r"a\.wav was changed"):
        Y.compute(scheduler="sync")
