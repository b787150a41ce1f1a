"""`verbose`: progress on standard error, and otherwise not a word."""

import numpy as np
import pytest
from sound_files import RATE, tones

import phinmf

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
Y = phinmf.to_frames(tones(2000)[:, 0], 32)
CALLS = {
    "tl_nmf": lambda **how: phinmf.tl_nmf(Y, 2, max_iter=4, tol=0, random_state=0, **how),
    "learn_transform": lambda **how: phinmf.learn_transform(
        Y, np.ones(Y.shape[-2:]), max_iter=4, tol=0, **how
    ),
    "TLNMF": lambda **how: phinmf.TLNMF(2, max_iter=4, tol=0, random_state=0, **how).fit(Y.T),
    "unmix": lambda **how: phinmf.unmix(tones(2000), RATE, 2, window=32, seed=0, **how),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_printed_unless_asked_for(name, capfd):
    CALLS[name]()
    said = capfd.readouterr()
    assert said.out == said.err == ""


@pytest.mark.parametrize("name", ["tl_nmf", "learn_transform", "TLNMF"])
def test_each_iteration_is_a_line(name, capfd):
    seen = []
    CALLS[name](verbose=True, callback=seen.append)
    said = capfd.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert [line.split(",")[0] for line in lines[:-1]] == [
        f"{name}: iteration {n}" for n in range(1, 5)
    ]
    assert "best objective" in lines[0]
    assert lines[-1].startswith(f"{name}: stopped: max_iter")
    assert len(seen) == 4
    best = [float(line.split("best objective ")[1].split(",")[0]) for line in lines[:-1]]
    assert best == sorted(best, reverse=True)


def test_restarts_are_told_apart(capfd):
    phinmf.TLNMF(2, n_init=2, max_iter=2, tol=0, random_state=0, verbose=1).fit(Y.T)
    said = capfd.readouterr().err
    for n in (1, 2):
        assert f"TLNMF, restart {n}: iteration 2" in said


def test_a_callback_still_stops_the_run():
    assert CALLS["tl_nmf"](verbose=True, callback=lambda state: state.iteration == 2).n_iter == 2


def test_unmix_says_what_it_does(capfd):
    quiet = CALLS["unmix"]()
    loud = CALLS["unmix"](verbose=True)
    lines = capfd.readouterr().err.splitlines()
    assert np.array_equal(quiet.components, loud.components)
    assert lines[0].startswith("unmix: learning")
    assert any("separating" in line for line in lines)
    phinmf.unmix(tones(500), RATE, model=loud.model, verbose=True)
    assert "learning" not in capfd.readouterr().err


def test_each_step_of_partial_fit_is_a_line(capfd):
    how = {"block_size": 32, "max_iter": 2, "tol": 0, "random_state": 0, "verbose": True}
    model = phinmf.TLNMF(2, **how).partial_fit(Y.T)
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        f"TLNMF: step {n}" for n in range(model.n_steps_ - len(lines) + 1, model.n_steps_ + 1)
    ]
    phinmf.TLNMF(2, **how | {"verbose": False}).partial_fit(Y.T)
    assert capfd.readouterr().err == ""
