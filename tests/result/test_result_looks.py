"""Pictures and the summary of a result, whatever it has: factors, a history, many frames."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from problems import notes

import phinmf
from phinmf.divergences import Gaussian
from phinmf.result import History
from phinmf.result.plots import mean_columns, new_axes, pitch, plot_power

Y = notes(M=8, n=100)
SHORT = {"max_iter": 3, "tol": 0, "random_state": 0, "engine": "array"}


def alone(**how):
    how = {"max_iter": 3, "tol": 0, "engine": "array", **how}
    return phinmf.learn_transform(Y, np.ones_like(Y), **how)


RESULTS = {
    "tl_nmf": lambda: phinmf.tl_nmf(Y, 2, **SHORT),
    "one component": lambda: phinmf.tl_nmf(Y, 1, **SHORT),
    "one sample": lambda: phinmf.tl_nmf(Y[:1], 1, **SHORT),
    "one frame": lambda: phinmf.tl_nmf(Y[:, 2:3], 1, **SHORT),
    "two samples": lambda: phinmf.tl_nmf(Y[:2].astype(np.float32), 2, **SHORT),
    "few atoms": lambda: phinmf.tl_nmf(Y, 2, n_atoms=3, **SHORT),
    "no iterations": lambda: phinmf.tl_nmf(Y, 2, **SHORT | {"max_iter": 0}),
    "learn_transform": alone,
    "learn_transform, no iterations": lambda: alone(max_iter=0),
}
PANELS = {"learn_transform": 2, "learn_transform, no iterations": 2}


def assert_drawn(figure):
    """Matplotlib can draw it without a warning."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure).draw()


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_a_picture_and_a_summary(name):
    result = RESULTS[name]()
    figure = result.plot(sample_rate=8000)
    assert len(figure.axes) == PANELS.get(name, 4)
    assert_drawn(figure)
    labels = [text.get_text() for text in figure.axes[1].get_yticklabels()]
    assert len(labels) == min(6, len(result.Phi))
    assert all(re.fullmatch(r"(below )?[1-9]\d* Hz", label) for label in labels)
    html = result._repr_html_()
    ET.fromstring(html)  # every tag is closed
    assert f"M = {len(result.Phi)} samples" in html
    assert result.status.value in html
    assert "<script" not in html
    assert "nan" not in html


def test_given_axes_are_drawn_on():
    from matplotlib.figure import Figure

    result, figure = RESULTS["tl_nmf"](), Figure()
    axes = figure.subplots(2, 2)
    assert result.plot(axes=axes) is figure
    assert [ax.get_title(loc="left") for ax in axes.flat] == [
        "cost", "atoms", "patterns", "activations",
    ]  # fmt: skip
    assert axes[0, 1].get_yticklabels()[0].get_text().endswith(" periods")
    assert axes[1, 1].get_xlabel() == "frames"
    with pytest.raises(ValueError, match="axes has 3 axes, but 4 are needed, for cost, atoms"):
        result.plot(axes=axes.flat[:3])
    for rate in (0, -1, "x", np.nan):
        with pytest.raises(ValueError, match="sample_rate is .*, but a finite number > 0"):
            result.plot(sample_rate=rate)


def test_strongest_atoms_come_first_with_their_frequencies():
    M, rate = 64, 6400
    Phi = phinmf.linalg.manifold.dct(M)
    W = np.zeros((M, 2))
    W[20, 0], W[10, 1] = 1, 1  # atoms k of the DCT have k/2 periods
    H = np.array([[1.0, 2.0], [3.0, 4.0]])
    result = replace(RESULTS["tl_nmf"](), Phi=Phi, W=W, H=H, n_atoms=M)
    labels = [text.get_text() for text in result.plot(sample_rate=rate).axes[1].get_yticklabels()]
    assert [round(int(text.split()[0]), -2) for text in labels[:2]] == [500, 1000]
    assert re.search(r"10 \(5.\d periods, 70 %\), 20 \(10.\d periods, 30 %\)", result._repr_html_())
    assert pitch(Phi[20], rate) == labels[1]


def test_atoms_of_less_than_one_period_have_no_frequency():
    Phi = phinmf.linalg.manifold.dct(64)
    assert pitch(Phi[0], 6400) == pitch(Phi[1], 6400) == "below 100 Hz"
    assert pitch(Phi[0], 16) == "below 0.25 Hz"
    assert pitch(Phi[0], None) == "0.0 periods"


def test_the_cost_is_drawn_per_entry():
    result = RESULTS["tl_nmf"]()
    ax = result.plot().axes[0]
    (line,) = ax.lines
    assert np.allclose(line.get_ydata(), result.history.best_so_far / Y.size)
    assert ax.get_ylabel() == "best objective so far, per entry"
    unknown = RESULTS["learn_transform, no iterations"]()
    assert unknown.plot().axes[0].get_ylabel() == "best objective so far"


def test_many_frames_are_drawn_in_few_columns(rng):
    H = rng.random((2, 100_000))
    result = replace(RESULTS["tl_nmf"](), H=H)
    figure = result.plot()
    (image,) = figure.axes[3].images
    assert image.get_array().shape[1] <= figure.bbox.width
    assert image.get_extent()[1] == 100_000
    assert np.isclose(mean_columns(H, 700).mean(), H.mean(), rtol=1e-3)
    assert np.array_equal(mean_columns(H[:, :7], 9), H[:, :7])


@pytest.mark.full
def test_tensors_are_drawn():
    torch = pytest.importorskip("torch")
    result = phinmf.tl_nmf(torch.from_numpy(Y), 2, **SHORT)
    assert_drawn(result.plot())
    ET.fromstring(result._repr_html_())


class Hostile(Gaussian):
    def __repr__(self):
        return '<script>alert("x")</script>'


def test_the_summary_escapes_texts_and_survives_odd_histories():
    result = phinmf.tl_nmf(Y, 2, divergence=Hostile(), **SHORT)
    html = result._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    history = History(np.nan)
    history.rows = [row._replace(target_objective=np.inf) for row in result.history]
    ET.fromstring(replace(result, history=history)._repr_html_())


def test_the_summary_says_what_a_fit_costs_per_entry():
    result = phinmf.tl_nmf(Y, 2, **SHORT)
    assert f"{result.objective / Y.size:.6g}" in result._repr_html_()
    transform = alone()
    assert f"{transform.objective / Y.size:.6g}" in transform._repr_html_()


def test_a_transform_that_was_stopped_on_a_sample_has_no_cost_per_entry(rng):
    """The number of frames is not in the result, and that of the last step is smaller."""
    frames = rng.standard_normal((32, 8192))
    how = {"callback": lambda state: True, "engine": "array", "n_threads": 1}
    stopped = phinmf.learn_transform(frames, np.ones_like(frames), **how)
    assert stopped.history[-1].frames < frames.shape[1]
    assert "unknown" in stopped._repr_html_()
    assert stopped.plot() is not None


@pytest.mark.parametrize("K", [1, 2, 3, 12])
def test_components_have_whole_numbers(K, rng):
    (ax,) = new_axes(1)
    plot_power(ax, rng.random((K, 40)))
    ax.figure.draw_without_rendering()
    ticks = [tick for tick in ax.get_yticks() if 0.5 <= tick <= K + 0.5]
    assert ticks
    assert all(tick == round(tick) for tick in ticks)


def test_a_column_of_a_history_is_an_attribute():
    history = History(1.0)
    with pytest.raises(TypeError, match=r"a column is an attribute: use history\.objective$"):
        history["objective"]
    with pytest.raises(TypeError, match="use one of objective, divergence"):
        history["cost"]
