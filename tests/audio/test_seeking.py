"""A stretch of a file is the same samples as when the whole file is read."""

import numpy as np
import pytest
import soundfile

from phinmf.audio import files

STARTS = (1, 13_337, 17_000, 140_540, 199_000)


@pytest.mark.parametrize("ending", ["ogg", "mp3", "flac", "wav"])
@pytest.mark.parametrize("rate", [8000, 44_100])
def test_a_stretch_is_exact(tmp_path, ending, rate):
    path = tmp_path / f"noise.{ending}"
    soundfile.write(path, 0.1 * np.random.default_rng(0).standard_normal((200_000, 2)), rate)
    sound = files.probe(path)
    whole = files.read(sound)
    for start in STARTS:
        assert files.read(sound, start, 900) == pytest.approx(whole[start:][:900], abs=1e-6)


def test_a_stretch_beyond_the_end_ends_there(tmp_path):
    path = tmp_path / "short.wav"
    soundfile.write(path, np.zeros(1000), 8000)
    excerpt = files.excerpt(path)
    for seconds in (1.0, 1e308):
        stretch = excerpt.stretch(0.1, seconds)
        assert (stretch.first, stretch.length) == (800, 200)
