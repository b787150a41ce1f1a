"""`verbose`: progress on standard error, and otherwise not a word."""

import numpy as np
import pytest
from sound_files import tones

import phinmf

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
Y = phinmf.to_frames(tones(2000)[:, 0], 32)
SHORT = {"max_iter": 4, "tol": 0}
SEEDED = SHORT | {"random_state": 0}
CALLS = {
    "tl_nmf": lambda **how: phinmf.tl_nmf(Y, 2, **SEEDED, **how),
    "learn_transform": lambda **how: phinmf.learn_transform(Y, np.ones(Y.shape), **SHORT, **how),
    "TLNMF": lambda **how: phinmf.TLNMF(2, **SEEDED, **how).fit(Y.T),
    "partial_fit": lambda **how: phinmf.TLNMF(2, block_size=32, **SEEDED, **how).partial_fit(Y.T),
}


@pytest.mark.parametrize("name", ["tl_nmf", "learn_transform", "TLNMF"])
def test_each_iteration_is_a_line(name, capfd):
    CALLS[name]()
    assert capfd.readouterr() == ("", "")
    CALLS[name](verbose=True)
    out, err = capfd.readouterr()
    assert out == ""
    *lines, last = err.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"{name}: iteration {n}" for n in range(1, 5)]
    assert last.startswith(f"{name}: stopped: max_iter")
    best = [float(line.split("best objective ")[1].split(",")[0]) for line in lines]
    assert best == sorted(best, reverse=True)


def test_restarts_and_steps_are_told_apart(capfd):
    CALLS["TLNMF"](verbose=1, n_init=2)
    err = capfd.readouterr().err
    assert all(f"TLNMF, restart {n}: iteration 2" in err for n in (1, 2))
    model = CALLS["partial_fit"](verbose=True)
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        f"TLNMF: step {n}" for n in range(model.n_steps_ - len(lines) + 1, model.n_steps_ + 1)
    ]
