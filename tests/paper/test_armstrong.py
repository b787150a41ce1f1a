"""The paper's recording, with the paper's setting, beside the authors' own trajectory."""

import csv

import numpy as np
import pytest
import soundfile

import phinmf

pytestmark = pytest.mark.full


@pytest.mark.full
def test_the_objective_follows_the_authors_and_ends_lower(data_folder):
    with open(data_folder / "authors_armstrong.csv") as file:
        rows = list(csv.DictReader(file))
    authors = {int(row["iteration"]): float(row["objective_per_entry"]) for row in rows}
    y, _ = soundfile.read(data_folder / "armstrong.wav")
    Y = phinmf.to_frames(y, 440)
    how = {"sparsity": 150, "init": "random", "tol": 0, "max_iter": 300, **phinmf.PAPER}
    results = [phinmf.tl_nmf(Y, 10, random_state=seed, **how) for seed in range(3)]
    median = np.median([result.history.objective / Y.size for result in results], axis=0)
    for iteration in (10, 50, 100, 300):
        beside = authors.get(iteration, min(authors.values()))
        print(f"outer iteration {iteration}: {median[iteration - 1]:.3f} (authors {beside:.3f})")
    for iteration in (10, 50, 100):
        assert median[iteration - 1] <= 1.03 * authors[iteration]
    assert median[299] < 10.8
