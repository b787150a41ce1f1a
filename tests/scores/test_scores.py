import numpy as np
import pytest

from phinmf.scores.measures import LIMIT, Scores, decibels, score


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
    found = score(estimates[source], references, source)
    assert found[:3] == pytest.approx(GOLDEN[source], abs=1e-6)
    assert found.si_sdr == pytest.approx(found.sdr, abs=1e-9)  # one channel


def orthonormal(n=600, count=4):
    """Columns of a DCT: signals with known inner products."""
    t = np.arange(n) + 0.5
    return np.stack([np.cos(np.pi * (3 + 2 * k) * t / n) for k in range(count)]) * (2 / n) ** 0.5


@pytest.mark.parametrize("gain", [1.0, -0.5, 1e-6])
def test_known_answers_of_orthogonal_sources(gain):
    a, b, noise, _ = orthonormal()
    found = score(gain * (a + 0.1 * b + 0.01 * noise), [a, b], 0)
    assert found.sdr == pytest.approx(-10 * np.log10(0.1**2 + 0.01**2), abs=1e-9)
    assert found.sir == pytest.approx(20, abs=1e-9)
    assert found.sar == pytest.approx(10 * np.log10((1 + 0.1**2) / 0.01**2), abs=1e-9)
    assert found.si_sdr == pytest.approx(found.sdr, abs=1e-9)
    error = (gain - 1) ** 2 + gain**2 * (0.1**2 + 0.01**2)
    assert found.snr == pytest.approx(-10 * np.log10(error), abs=1e-9)


def test_a_gain_for_each_channel_is_forgiven_by_sdr_only():
    a, b, noise, _ = orthonormal()
    reference, other = np.column_stack([a, a]), np.column_stack([b, b])
    found = score(np.column_stack([a, 0.5 * a]), [reference, other], 0)
    assert found.sdr == found.sir == found.sar == LIMIT
    gain = 0.75  # the best single one
    error = (1 - gain) ** 2 + (0.5 - gain) ** 2
    assert found.si_sdr == pytest.approx(10 * np.log10(2 * gain**2 / error), abs=1e-9)
    assert found.snr == pytest.approx(10 * np.log10(2 / 0.25), abs=1e-9)
    noisy = reference + 0.1 * np.column_stack([b, 2 * b]) + 0.1 * np.column_stack([noise, a])
    found = score(noisy, [reference, other], 0)
    assert found.sir == pytest.approx(10 * np.log10((1 + 1.1**2) / 0.05), abs=1e-9)


def test_channels_that_are_alike_score_as_one(rng):
    references, estimates = tones()
    alike = [np.column_stack([r, r]) for r in references]
    one = score(estimates[0], references, 0)
    two = score(np.column_stack([estimates[0]] * 2), alike, 0)
    assert two == pytest.approx(one, abs=1e-9)


def test_silence_is_defined():
    a, b, *_ = orthonormal()
    nothing = np.zeros_like(a)
    assert score(nothing, [a, b], 0) == Scores(*[-LIMIT] * 5)
    assert score(nothing, [nothing, b], 0) == Scores(*[LIMIT] * 5)
    assert score(b, [nothing, b], 0)[:2] == (-LIMIT, -LIMIT)
    assert np.isfinite(score(b, [nothing, b], 0)).all()
    assert np.isfinite(score(b, [nothing, nothing], 0)).all()
    assert score(a, [a, a, b], 0).sdr == LIMIT  # dependent references
    assert (decibels(0, 0), decibels(1, 0), decibels(0, 1)) == (-LIMIT, LIMIT, -LIMIT)


def test_extreme_levels_change_nothing():
    references, estimates = tones()
    usual = score(estimates[0], references, 0)
    for level in (1e-120, 1e120):
        assert score(estimates[0] * level, references * level, 0) == pytest.approx(usual, abs=1e-6)


@pytest.mark.parametrize(
    ("estimate", "references", "source", "sentence"),
    [
        (np.ones(4), [], 0, "references is empty"),
        (np.ones(4), [np.ones(4), np.ones(5)], 0, "signals of one length"),
        (np.ones(4), [np.ones(5)], 0, "same length and channels"),
        (np.ones((4, 2)), [np.ones(4)], 0, "same length and channels"),
        (np.ones(0), [np.ones(0)], 0, "n ≥ 1 is needed"),
        (np.ones(4), [np.ones(4)], 1, "from 0 to 0 for 1 reference"),
        (np.full(4, np.nan), [np.ones(4)], 0, "NaN"),
    ],
)
def test_bad_input_is_one_sentence(estimate, references, source, sentence):
    with pytest.raises(ValueError, match=sentence):
        score(estimate, references, source)
