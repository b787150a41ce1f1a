import numpy as np
import pytest

from phinmf.linalg.manifold import random_orthogonal
from phinmf.result import masks
from phinmf.result.masks import component_frames


@pytest.mark.parametrize("shape", [(6, 9), (2, 6, 9)])
@pytest.mark.parametrize("floor", [0.0, 1e-3])
def test_components_add_up_and_follow_the_model(rng, shape, floor):
    Y = rng.standard_normal(shape)
    Phi, W, H = random_orthogonal(6, rng), rng.random((6, 3)), rng.random((3, 9))
    parts = list(component_frames(Y, Phi, W, H, floor))
    assert np.allclose(sum(parts), Y, atol=1e-13)
    share = (np.outer(W[:, 1], H[1]) + floor / 3) / (W @ H + floor)
    assert np.allclose(Phi @ parts[1], share * (Phi @ Y))


@pytest.mark.parametrize("equal", [2, 5, 8])
@pytest.mark.parametrize("channels", [(), (2,)])
def test_atoms_that_share_a_mask_are_not_multiplied(rng, equal, channels, monkeypatch):
    Y, Phi = rng.standard_normal((*channels, 8, 9)), random_orthogonal(8, rng)
    W, H = rng.random((8, 3)), rng.random((3, 9))
    W[rng.choice(8, equal, replace=False)] = rng.random(3)
    other, shared = masks.rows_apart(W)
    assert (len(other), len(shared)) == (8 - equal, 1)
    few = list(component_frames(Y, Phi, W, H, 1e-3))
    monkeypatch.setattr(masks, "rows_apart", lambda W: (np.arange(8), np.arange(0)))
    assert np.allclose(few, list(component_frames(Y, Phi, W, H, 1e-3)), atol=1e-14)


def test_silence_stays_silent(rng):
    Y = np.zeros((4, 3))
    parts = list(component_frames(Y, np.eye(4), np.ones((4, 2)), np.zeros((2, 3)), 0.0))
    assert all(np.array_equal(part, Y) for part in parts)
