import numpy as np

from phinmf.audio.example import example


def test_stems_add_up_to_ten_seconds():
    sound = example()
    assert len(sound.mixture) == 10 * sound.sample_rate
    assert len(sound.stems) >= 3
    assert np.array_equal(sound.mixture, np.sum(list(sound.stems.values()), axis=0))
    assert 0.5 < np.abs(sound.mixture).max() < 1
    assert all(np.sqrt((stem**2).mean()) > 0.01 for stem in sound.stems.values())
    assert np.array_equal(sound.mixture, example().mixture)
