"""The scores of the benchmarks."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from _source_scores import LIMIT, Scores, grouped, oracle_grouping, oracle_mask, score


def tones(n=500):
    """Signals by formula, so that the golden numbers do not hang on a random generator."""
    t = np.arange(float(n))
    references = np.stack(
        [
            np.sin(0.05 * t) + 0.2 * np.sin(0.11 * t),
            np.sin(0.07 * t + 1) + 0.3 * np.sin(0.05 * t),
            np.sin(0.001 * t**2),
        ]
    )
    noise = np.stack([np.sin(0.0031 * t**2), np.sin(0.0037 * t**2), np.sin(0.0041 * t**2)])
    mixing = np.array([[1, 0.2, -0.1], [0, 0.5, 0.05], [0, 0, 1.5]])
    return references, mixing @ references + 0.1 * noise


# mir_eval 0.8.2: _bss_source_crit(*_bss_decomp_mtifilt(references, estimate, j, flen=1)), which is
# bss_eval_sources with filters of one tap; fast_bss_eval 0.1.4 (filter_length=1) has the same.
GOLDEN = [
    (12.640002659, 13.410372362, 20.7240012),
    (13.32112617, 20.157467219, 14.371109722),
    (23.307443872, 48.720336989, 23.320008232),
]


@pytest.mark.parametrize("source", range(3))
def test_golden_numbers_of_mir_eval(source):
    references, estimates = tones()
    result = score(estimates[source], references, source)
    assert result[:3] == pytest.approx(GOLDEN[source], abs=1e-6)
    assert result.si_sdr == pytest.approx(result.sdr, abs=1e-9)  # one channel
    alike = np.stack([references, references], axis=2)
    both = score(np.column_stack([estimates[source]] * 2), alike, source)
    assert both == pytest.approx(result, abs=1e-9)


def test_silence_is_defined():
    (a, b, _), _ = tones()
    nothing = np.zeros_like(a)
    assert score(nothing, [a, b], 0) == Scores(*[-LIMIT] * 5)
    assert score(nothing, [nothing, b], 0) == Scores(*[LIMIT] * 5)
    assert np.isfinite(score(b, [nothing, nothing], 0)).all()
    assert score(a, [a, a, b], 0).sdr == LIMIT  # dependent references


@pytest.mark.parametrize("channels", [(), (2,)])
@pytest.mark.parametrize(("K", "J"), [(6, 3), (24, 4)])
def test_the_true_grouping_is_found_and_a_silent_source_is_given_nothing(rng, K, J, channels):
    """Of components that are parts of one source with a little of the others."""
    truth, parts = np.arange(K) % J, rng.standard_normal((K, 300, *channels))
    parts *= rng.uniform(0.2, 2, (K, *[1] * (parts.ndim - 1)))
    sources = np.zeros((2 * J, 300, *channels))  # every other one is silent
    sources[::2] = grouped(parts, truth, J).reshape(J, 300, *channels)
    parts += 0.02 * rng.standard_normal(parts.shape)
    assert np.array_equal(oracle_grouping(parts, sources), 2 * truth)


def test_oracle_masks_add_up(rng):
    sources = rng.standard_normal((3, 500, 2))
    sources[1, :200] = 0
    assert np.allclose(oracle_mask(sources, 32).sum(axis=0), sources.sum(axis=0), atol=1e-12)
