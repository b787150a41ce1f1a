import numpy as np
import pytest

from phinmf.linalg.manifold import random_orthogonal
from phinmf.unmixing.masks import component_frames


@pytest.mark.parametrize("shape", [(6, 9), (2, 6, 9)])
@pytest.mark.parametrize("floor", [0.0, 1e-3])
def test_components_add_up_and_follow_the_model(rng, shape, floor):
    Y = rng.standard_normal(shape)
    Phi, W, H = random_orthogonal(6, rng), rng.random((6, 3)), rng.random((3, 9))
    parts = list(component_frames(Y, Phi, W, H, floor))
    assert np.allclose(sum(parts), Y, atol=1e-13)
    share = (np.outer(W[:, 1], H[1]) + floor / 3) / (W @ H + floor)
    assert np.allclose(Phi @ parts[1], share * (Phi @ Y))


def test_silence_stays_silent(rng):
    Y = np.zeros((4, 3))
    parts = list(component_frames(Y, np.eye(4), np.ones((4, 2)), np.zeros((2, 3)), 0.0))
    assert all(np.array_equal(part, Y) for part in parts)
