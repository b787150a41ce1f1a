"""Frames of sound that arrives piece by piece are those of the whole."""

import itertools

import numpy as np
import pytest
import soundfile

from phinmf import frames_from_files, stream_frames, to_frames


def joined(frames):
    return np.concatenate(list(frames), axis=-1)


@pytest.mark.parametrize("channels", [None, 1, 2])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 500])
@pytest.mark.parametrize("size", [1, 7, 32, 64, 1000])
def test_pieces_of_any_size(rng, channels, n, size):
    y = rng.standard_normal(n if channels is None else (n, channels))
    pieces = (y[i : i + size] for i in range(0, n, size))
    np.testing.assert_array_equal(
        joined(stream_frames(pieces, 64, dtype="float64")), to_frames(y, 64)
    )


def test_frames_come_as_soon_as_their_samples_are_there(rng):
    y = rng.standard_normal(320).astype(np.float32)
    given = []

    def microphone():
        for piece in y.reshape(10, 32):
            given.append(len(piece))
            yield piece

    frames = stream_frames(microphone(), 64)
    np.testing.assert_array_equal(next(frames), to_frames(y, 64)[:, :1])
    assert len(given) == 1
    assert next(frames).dtype == np.float32


@pytest.mark.full
@pytest.mark.parametrize("channels", [1, 2])
def test_files_one_after_the_other(rng, tmp_path, channels):
    paths = []
    for number, n in enumerate((900, 70_000)):
        paths.append(tmp_path / f"{number}.wav")
        soundfile.write(paths[-1], rng.uniform(-0.9, 0.9, (n, channels)), 8000)
    expected = np.asarray(frames_from_files(paths, 64))
    np.testing.assert_array_equal(joined(stream_frames(paths, 64)), expected)
    np.testing.assert_array_equal(joined(stream_frames(iter(paths), 64)), expected)
    alone = np.asarray(frames_from_files(paths[0], 64))
    np.testing.assert_array_equal(joined(stream_frames(paths[0], 64)), alone)


def test_a_stream_without_an_end(rng):
    y = rng.standard_normal(1000)
    frames = stream_frames(itertools.repeat(y), 64)
    assert sum(Y.shape[1] for Y in itertools.islice(frames, 100)) == 100_000 // 32


def test_errors_are_one_sentence(rng, tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(100), 8000)
    soundfile.write(tmp_path / "b.wav", np.zeros(100), 16_000)
    y = rng.standard_normal(100)
    with pytest.raises(ValueError, match=r"^M is 63, but frames that overlap by half"):
        stream_frames([y], 63)
    with pytest.raises(ValueError, match="'float16'"):
        stream_frames([y], 64, dtype=np.float16)
    with pytest.raises(ValueError, match="piece 2 of the sound has 1 NaN or infinite values"):
        list(stream_frames([y, np.array([np.nan])], 64))
    with pytest.raises(ValueError, match=r"piece 2 of the sound has shape \(5, 2\), but .*\(n,\)"):
        list(stream_frames([y, np.ones((5, 2))], 64))
    with pytest.raises(ValueError, match="16000 Hz"):
        list(stream_frames([tmp_path / "a.wav", tmp_path / "b.wav"], 64))
    assert list(stream_frames([], 64)) == []
