import numpy as np
import pytest

from phinmf.scores import grouping
from phinmf.scores.grouping import grouped, oracle_grouping
from phinmf.scores.measures import score


def parts_of_sources(rng, K, J, leak, channels=()):
    """Sources, and components that are parts of one source with a little of the others."""
    truth = np.arange(K) % J
    parts = rng.standard_normal((K, 300, *channels)) * rng.uniform(0.2, 2, K).reshape(
        -1, *[1] * (1 + len(channels))
    )
    sources = grouped(parts, truth, J).reshape(J, 300, *channels)
    return parts + leak * rng.standard_normal(parts.shape), sources, truth


@pytest.mark.parametrize("channels", [(), (2,)])
@pytest.mark.parametrize(("K", "J"), [(6, 3), (24, 4)])
def test_the_true_grouping_is_found(rng, K, J, channels):
    parts, sources, truth = parts_of_sources(rng, K, J, 0.02, channels)
    assert np.array_equal(oracle_grouping(parts, sources), truth)


def test_the_search_is_nearly_exhaustive(rng, monkeypatch):
    """On components that fit no grouping well, too."""
    lost = []
    for _ in range(20):
        parts, sources, _ = parts_of_sources(rng, 7, 3, 0.8)
        means = []
        for most in (2**16, 0):
            monkeypatch.setattr(grouping, "EXHAUSTIVE", most)
            sums = grouped(parts, oracle_grouping(parts, sources), 3)[:, :, 0]
            means.append(np.mean([score(sums[j], sources, j).sdr for j in range(3)]))
        assert means[0] >= means[1] - 1e-9
        lost.append(means[0] - means[1])
    assert np.median(lost) < 0.05
    assert max(lost) < 1.5


def test_a_silent_source_is_given_nothing(rng):
    parts, sources, truth = parts_of_sources(rng, 6, 2, 0.1)
    with_silence = [sources[0], np.zeros(300), sources[1]]
    assert np.array_equal(oracle_grouping(parts, with_silence), 2 * truth)
    assert np.array_equal(oracle_grouping(parts, np.zeros((2, 300))), np.zeros(6))


def test_silent_components_and_one_source_are_no_trouble(rng):
    parts, sources, _ = parts_of_sources(rng, 4, 2, 0.1)
    parts[1] = 0
    assert set(oracle_grouping(parts, sources)) <= {0, 1}
    assert np.array_equal(oracle_grouping(parts, sources[:1]), np.zeros(4))
    assert oracle_grouping(parts[:1], sources).shape == (1,)


def test_lengths_must_agree(rng):
    with pytest.raises(ValueError, match="same length and channels"):
        oracle_grouping(np.ones((3, 5)), np.ones((2, 6)))
