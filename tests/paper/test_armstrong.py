"""The paper's recording, with the paper's setting, beside the authors' own trajectory."""

import csv

import pytest
import soundfile

import phinmf

pytestmark = pytest.mark.full


def test_the_objective_follows_the_authors(data_folder):
    with open(data_folder / "authors_armstrong.csv") as file:
        rows = list(csv.DictReader(file))
    authors = {int(row["iteration"]): float(row["objective_per_entry"]) for row in rows}
    y, _ = soundfile.read(data_folder / "armstrong.wav")
    Y = phinmf.to_frames(y, 440)
    how = {"sparsity": 150, "init": "random", "tol": 0, "max_iter": 30, **phinmf.PAPER}
    result = phinmf.tl_nmf(Y, 10, random_state=0, **how)
    objective = result.history.objective / Y.size
    for iteration in (10, 30):
        assert objective[iteration - 1] <= 1.03 * authors[iteration]
