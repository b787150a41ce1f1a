"""Every kind of result: saved and loaded with the same bits, drawn, and shown as a table."""

import os
import re
import xml.etree.ElementTree as ET
from dataclasses import fields, replace

import numpy as np
import pytest
from forging import refusal
from matplotlib.backends.backend_agg import FigureCanvasAgg
from problems import notes

import phinmf
from phinmf import Result
from phinmf.divergences import DIVERGENCES, Beta, Gaussian, Penalty

Y = notes(M=8, n=100)
SHORT = {"max_iter": 3, "tol": 0, "random_state": 0, "engine": "array"}  # nothing is compiled


def fitted(frames=Y, K=2, **how):
    return phinmf.tl_nmf(frames, K, **SHORT | how)


def alone(max_iter):
    return phinmf.learn_transform(Y, np.ones_like(Y), max_iter=max_iter, tol=0, engine="array")


RESULTS = {
    "tl_nmf": fitted,
    "one component": lambda: fitted(K=1),
    "twelve components": lambda: replace(fitted(), W=np.ones((8, 12)), H=np.ones((12, Y.shape[1]))),
    "one sample": lambda: fitted(Y[:1], 1),
    "one frame": lambda: fitted(Y[:, 2:3], 1),
    "two samples in single precision": lambda: fitted(Y[:2].astype(np.float32)),
    "channels": lambda: fitted(np.stack([Y, Y[::-1]])),
    "fixed transform": lambda: fitted(solver=None, divergence="euclidean"),
    "few atoms": lambda: fitted(n_atoms=3),
    "pairs": lambda: fitted(pairs=True),
    "smooth": lambda: fitted(smoothness=0.5, divergence=Beta(0.5)),
    "left out": lambda: fitted(sample_weight=np.arange(Y.shape[1]) >= 3),
    "no iterations": lambda: fitted(max_iter=0),
    "many frames": lambda: replace(fitted(), H=np.ones((2, 100_000))),
    "learn_transform": lambda: alone(3),
    "learn_transform, no iterations": lambda: alone(0),
}
EVERY = pytest.mark.parametrize("name", RESULTS)


def assert_same(a, b):
    """Every field is equal, bit by bit."""
    for field in fields(a):
        one, other = getattr(a, field.name), getattr(b, field.name)
        assert type(one) is type(other), field.name
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)
        elif field.name == "history":
            assert repr((one.start, one.rows)) == repr((other.start, other.rows))
        else:
            assert one == other, field.name


@EVERY
def test_a_loaded_result_has_the_same_bits(tmp_path, name):
    result, path = RESULTS[name](), tmp_path / "r.npz"
    result.save(path)
    again = Result.load(path)
    assert_same(again, result)
    again.save(path)  # the file is replaced
    assert_same(Result.load(path), result)
    assert os.listdir(tmp_path) == ["r.npz"]


class OwnDivergence(Gaussian):
    """A divergence of the user."""


class Other(OwnDivergence):
    def bound(self, v, v_hat, eps):
        return 2 * super().bound(v, v_hat, eps)


def test_a_divergence_of_the_users_own_is_passed_again_and_compared(tmp_path, monkeypatch):
    path, own = tmp_path / "r.npz", OwnDivergence()
    fitted(divergence=own, sparsity=2.0, smoothness=0.5).save(path)
    with pytest.raises(ValueError, match="its divergence .* pass it as divergence=") as error:
        Result.load(path)
    refusal(error.value, path)
    for other in (Other(), Gaussian()):
        with pytest.raises(ValueError, match="its divergence is .*, not .*: pass the"):
            Result.load(path, divergence=other)
    terms = Result.load(path, divergence=own).terms
    assert terms.divergence is own
    assert terms.penalty == Penalty(2.0, 0.5)
    monkeypatch.setitem(DIVERGENCES, "own", own)
    assert Result.load(path, divergence=own).terms.divergence is own


@EVERY
def test_every_result_has_a_picture_and_a_table(name):
    result = RESULTS[name]()
    figure = result.plot(sample_rate=8000)
    FigureCanvasAgg(figure).draw()
    assert len(figure.axes) == (4 if result.W is not None else 2)
    labels = [text.get_text() for text in figure.axes[1].get_yticklabels()]
    assert len(labels) == min(6, len(result.Phi if result.W is None else result.W))
    assert all(re.fullmatch(r"(below )?[1-9]\d* Hz", label) for label in labels)
    for ax in figure.axes[2:]:  # a row for each component
        ticks = [tick for tick in ax.get_yticks() if 0.5 <= tick <= result.W.shape[1] + 0.5]
        assert ticks
        assert all(tick == round(tick) for tick in ticks)
    html = result._repr_html_()
    ET.fromstring(html)  # every tag is closed
    assert f"M = {len(result.Phi)} samples" in html
    assert f"{result.objective:.6g}" in html
    assert result.status.value in html
    assert "nan" not in html


def test_units_are_named():
    result = fitted()
    axes = result.plot().axes
    (line,) = axes[0].lines
    assert np.allclose(line.get_ydata(), result.history.best_so_far / Y.size)
    assert axes[1].get_yticklabels()[0].get_text().endswith(" periods")
    assert axes[3].get_xlabel() == "frames"
    with pytest.raises(ValueError, match="sample_rate is .*, but a finite number > 0"):
        result.plot(sample_rate=0)


class Hostile(Gaussian):
    def __repr__(self):
        return '<script>alert("x")</script>'


def test_the_table_escapes_texts():
    html = fitted(divergence=Hostile())._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script" not in html
