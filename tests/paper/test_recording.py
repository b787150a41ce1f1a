"""The paper's recording: beside the authors' own trajectory, and in both precisions."""

import csv

import numpy as np
import pytest
import soundfile

import phinmf
from phinmf.linalg.manifold import orthogonality_error

pytestmark = pytest.mark.full


@pytest.fixture
def Y(data_folder):
    y, _ = soundfile.read(data_folder / "armstrong.wav")
    return phinmf.to_frames(y, 440)


def test_the_objective_follows_the_authors(Y, data_folder):
    with open(data_folder / "authors_armstrong.csv") as file:
        rows = list(csv.DictReader(file))
    authors = {int(row["iteration"]): float(row["objective_per_entry"]) for row in rows}
    how = {"sparsity": 150, "init": "random", "tol": 0, "max_iter": 30, **phinmf.PAPER}
    result = phinmf.tl_nmf(Y, 10, random_state=0, **how)
    objective = result.history.objective / Y.size
    for iteration in (10, 30):
        assert objective[iteration - 1] <= 1.03 * authors[iteration]


def test_single_precision_reaches_the_objective_of_double_precision(Y):
    how = {"n_components": 10, "sparsity": 150, "init": "random", "random_state": 0}
    double, single = (phinmf.tl_nmf(Y.astype(dtype), **how) for dtype in (np.float64, np.float32))
    assert orthogonality_error(single.Phi.astype(np.float64)) < 1e-6
    assert orthogonality_error(double.Phi) < 1e-12
    assert single.objective == pytest.approx(double.objective, rel=0.005)
    assert double.objective / Y.size < 9.0
