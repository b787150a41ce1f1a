"""The fit of frames that a model has not seen, and the number of components that predicts best."""

import numpy as np
import pytest
from clusters import needs_dask
from problems import LogShare, known_components, notes
from scipy.stats import t as student
from tensor_problems import tensor

from phinmf import TLNMF, learn_transform, tl_nmf
from phinmf.analysis import held_out, rank_path, split_frames
from phinmf.analysis.evaluation import learned_by
from phinmf.divergences import DIVERGENCES
from phinmf.fit import prediction

HOW = {"n_components": 3, "max_iter": 8, "tol": 0, "random_state": 0}
Y = notes(n=3000)
LEARN, OUT = split_frames(Y.shape[1])
SEEN, UNSEEN = Y[:, LEARN], Y[:, OUT]
ALONE = learn_transform(Y, Y**2, max_iter=1, tol=0)


@pytest.fixture(scope="module")
def result():
    return tl_nmf(SEEN, **HOW)


def test_the_likelihood_is_students():
    x, v_hat = np.array([0.0, 0.3, -2.0, 50.0]), np.array([1.0, 0.1, 3.0, 1e-3])
    expected = -student(df=4, scale=np.sqrt(v_hat)).logpdf(x)
    assert np.allclose(prediction.negative_log_likelihood(x**2, v_hat), expected, rtol=1e-12)


def test_the_nll_from_its_definition(result):
    """With scipy's density, a search for the factor of each frame, and a fine grid of noises."""
    found = held_out(result, UNSEEN)
    X = result.Phi @ UNSEEN
    heard = UNSEEN.any(axis=0)
    power = (UNSEEN[:, heard] ** 2).mean()
    parts = np.array_split(np.random.default_rng(0).permutation(len(X)), 4)
    learned, noises = learned_by(result), np.geomspace(1e-8, 10, 181)
    total = np.zeros(len(noises))
    for part in parts:
        others = np.setdiff1d(np.arange(len(X)), part)
        H = prediction.activations(X[None, others] / result.scale, result.W[others], learned)
        v, WH = X**2 / power, result.W @ H * result.scale**2 / power
        for i, eps in enumerate(noises):
            g = np.ones(X.shape[1])
            for _ in range(30):
                v_hat = g * WH[others] + eps
                share = WH[others] / v_hat
                g *= (v[others] / v_hat * share).sum(axis=0) / share.sum(axis=0)
            width = np.sqrt(g * WH[part] + eps)
            x = X[part] / np.sqrt(power)
            total[i] -= student(df=4, scale=width).logpdf(x)[:, heard].sum()
    assert found.nll == pytest.approx(total.min() / heard.sum() / len(X), abs=5e-3)


def test_between_the_levels_of_noise_the_minimum_is_that_of_a_parabola():
    levels = np.arange(len(prediction.NOISE))
    found = prediction.lowest(7 + 0.2 * (levels - 3.3) ** 2)
    noise = np.interp(3.3, levels, np.log(prediction.NOISE))
    assert found == pytest.approx((7, np.exp(noise)), rel=1e-9)


def test_the_divergence_and_the_objective_are_those_of_the_encoded_frames(result):
    model = TLNMF(**HOW).fit(SEEN.T)
    found = held_out(model, UNSEEN)
    v = (model.transform_matrix_ @ UNSEEN) ** 2 / model.scale_**2
    H = model.transform(UNSEEN.T).T / model.scale_**2
    value = DIVERGENCES["itakura-saito"].value(v, model.components_.T @ H + 1e-8, 1e-8)
    assert found.divergence == pytest.approx(value.mean(), rel=1e-6)
    penalty = 10.0 * H.sum() / v.size  # the default sparsity
    assert found.objective == pytest.approx(value.mean() + penalty, rel=1e-6)
    of_result = held_out(result, UNSEEN)
    assert (found.nll, found.divergence) == (of_result.nll, of_result.divergence)
    assert found.objective == pytest.approx(of_result.objective, rel=1e-12)
    assert model.score(UNSEEN.T) == -found.nll


def test_the_level_of_the_frames_does_not_matter(result):
    """Neither that of all frames, nor that of the frames of the fit alone."""
    nll = held_out(result, UNSEEN).nll
    louder = tl_nmf(8 * SEEN, **HOW)
    assert held_out(louder, 8 * UNSEEN).nll == nll
    unpenalised = {**HOW, "sparsity": 0.0, "floor": 1e-6}
    loss = held_out(tl_nmf(SEEN, **unpenalised), UNSEEN).nll
    assert held_out(tl_nmf(2 * SEEN, **unpenalised), UNSEEN).nll == pytest.approx(loss, abs=0.01)


def test_what_does_not_matter_for_unseen_frames(result):
    """Weights or repetitions, silence, order, and equal channels."""
    plain = held_out(result, UNSEEN)
    n = np.arange(UNSEEN.shape[1]) % 3
    weighted = held_out(result, UNSEEN, sample_weight=n)
    repeated = held_out(result, np.repeat(UNSEEN, n, axis=1))
    assert weighted.nll == pytest.approx(repeated.nll, rel=1e-9)
    assert weighted.noise == pytest.approx(repeated.noise, rel=1e-6)
    assert weighted.divergence == pytest.approx(repeated.divergence, rel=1e-6)
    with_silence = np.concatenate([UNSEEN, np.zeros((len(Y), 50))], axis=1)
    for frames in (with_silence, UNSEEN[:, ::-1], np.stack([UNSEEN, UNSEEN])):
        assert held_out(result, frames).nll == pytest.approx(plain.nll, rel=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dask_arrays_give_the_same_bits_and_tensors_the_same_number(dtype):
    needs_dask()
    import dask.array as da

    frames = known_components(20, 3000, 2, seed=0).astype(dtype)
    r = tl_nmf(frames[:, :1000], **HOW)
    lazy = da.from_array(frames, chunks=(-1, 777))
    assert held_out(r, lazy).nll == held_out(r, frames).nll
    own = tl_nmf(frames[:, :200], divergence=LogShare(0.5), **HOW)
    predicted = [prediction.predict(Z, learned_by(own), np.random.default_rng(0))
                 for Z in (frames[None], lazy[None])]  # fmt: skip
    assert predicted[0] == predicted[1]
    assert held_out(r, tensor(frames)).nll == pytest.approx(held_out(r, frames).nll, rel=1e-4)


@pytest.mark.parametrize("factor", [1e-120, 1e-30, 1e30])
def test_frames_of_another_level_are_predicted_or_refused(result, factor):
    assert np.isfinite(held_out(result, factor * UNSEEN).nll)
    with pytest.raises(ValueError, match="scale them as the frames of the fit were"):
        held_out(result, 1e100 * UNSEEN)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: held_out(r, Y[:5]), "Y has frames of 5 samples, but the model of 32"),
        (lambda r: held_out(ALONE, Y), "no components to predict with: pass one of tl_nmf"),
        (lambda r: held_out(3, Y), "a result of tl_nmf or a TLNMF is needed"),
        (lambda r: split_frames(100, share=0.001), "one frame to learn from and one frame to hold"),
        (lambda r: split_frames(100, gap=100), "one frame to learn from and one frame to hold"),
        (lambda r: split_frames(100, 0), "share is 0, but a finite number > 0"),
        (lambda r: rank_path(Y, [1], share=1.0), "one frame to hold out"),
        (lambda r: rank_path(Y, []), "at least one rank"),
    ],
)
def test_what_cannot_be_evaluated(result, call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(result)


def test_the_frames_that_are_held_out_come_in_stretches(rng):
    learn, out = split_frames(1000, 0.2, random_state=rng)
    mask = np.zeros(1000, bool)
    mask[out] = True
    assert mask.sum() == len(out) == 200
    assert np.abs(np.diff(mask.astype(int))).sum() <= 2 * (200 // 16 + 1)
    assert len(split_frames(7, 0.3, random_state=rng)[1]) == 2
    assert np.abs(learn[:, None] - out).min() == 2
    assert len(learn) >= 800 - 2 * (200 // 16 + 1)
    learn, out = split_frames(100, 0.5, gap=0, stretch=1)
    assert sorted([*learn, *out]) == list(range(100))
    assert np.array_equal(split_frames(100, 0.5, gap=0, stretch=1)[1], out)


@pytest.mark.full
def test_the_rank_of_synthetic_frames_is_found():
    Y = known_components(100, 1200, 4, seed=0)
    how = {"divergence": "gaussian", "sparsity": 0, "max_iter": 60, "tol": 0}
    path = rank_path(Y, [2, 4, 6], random_state=0, **how)
    assert path.best == 4
    assert path.held_out[1] < min(path.held_out[0], path.held_out[2]) - 0.1
    again = rank_path(Y, [2, 4, 6], random_state=0, **how)
    assert np.array_equal(path.held_out, again.held_out)
