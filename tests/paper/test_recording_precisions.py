"""The paper's recording in both precisions, with the defaults."""

import numpy as np
import pytest
import soundfile

import phinmf
from phinmf.linalg.manifold import orthogonality_error

pytestmark = pytest.mark.full


def test_single_precision_reaches_the_objective_of_double_precision(data_folder):
    y, _ = soundfile.read(data_folder / "armstrong.wav")
    Y = phinmf.to_frames(y, 440)
    how = {"n_components": 10, "sparsity": 150, "init": "random", "random_state": 0}
    double = phinmf.tl_nmf(Y, **how)
    single = phinmf.tl_nmf(Y.astype(np.float32), **how)
    assert orthogonality_error(single.Phi.astype(np.float64)) < 1e-6
    assert orthogonality_error(double.Phi) < 1e-12
    assert single.objective == pytest.approx(double.objective, rel=0.005)
    assert double.objective / Y.size < 9.0
