"""What `Problem.solve` does around a run: files, interrupts, threads, callbacks."""

import numpy as np
import pytest
from problems import notes
from tensor_problems import tensor

from phinmf import TLNMF, Checkpoint, Status, tl_nmf
from phinmf.algorithm.options import Options
from phinmf.algorithm.run import Run
from phinmf.fit.problem import problem_of

Y = notes(M=16, n=2000)


@pytest.mark.parametrize("give", [np.asarray, tensor])
def test_a_run_without_a_seed_is_resumed_again_and_again(tmp_path, give):
    path = tmp_path / "run.npz"
    how = {"checkpoint": Checkpoint(path, every=0, resume=True), "tol": 0}
    for max_iter in (10, 20, 30):
        r = tl_nmf(give(Y), 3, max_iter=max_iter, **how)
        assert len(r.history) == max_iter
        assert r.objective <= r.history.start


def test_an_interrupt_in_the_last_steps_keeps_the_result(monkeypatch):
    evaluate, calls = Run.evaluate, []

    def interrupted(self, *args):
        calls.append(0)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return evaluate(self, *args)

    monkeypatch.setattr(Run, "evaluate", interrupted)
    r = tl_nmf(Y, 3, random_state=0, max_iter=8, tol=0)
    assert r.status is Status.INTERRUPTED
    monkeypatch.undo()
    assert r.objective == tl_nmf(Y, 3, random_state=0, max_iter=8, tol=0).objective


def test_an_interrupt_before_a_later_restart_begins_keeps_the_earlier_ones(monkeypatch):
    begin, calls = Run.__init__, []

    def interrupted(self, *args):
        calls.append(0)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return begin(self, *args)

    monkeypatch.setattr(Run, "__init__", interrupted)
    model = TLNMF(3, n_init=4, random_state=0, max_iter=3, tol=0).fit(Y.T)
    assert len(model.objectives_) == 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_restart_is_announced_before_its_first_iteration(jobs):
    seen = []
    problem = problem_of(Y[None], 3, Options(max_iter=2, tol=0))
    problem.solve(
        [0, 1],
        [lambda state, i=i: seen.append(("iteration", i)) for i in range(2)],
        jobs,
        began=lambda i: seen.append(("began", i)),
        ended=lambda i, result: seen.append(("ended", i)),
    )
    for i in range(2):
        own = [what for what, number in seen if number == i]
        assert own == ["began", "iteration", "iteration", "ended"]
