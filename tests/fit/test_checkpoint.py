"""Runs that stop and go on, and files that are not what they should be."""

import shutil
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from forging import refusal
from problems import notes

from phinmf import TLNMF, Anneal, Checkpoint, Method, storage, tl_nmf
from phinmf.divergences import Gaussian, ItakuraSaito
from phinmf.solvers import SOLVERS, QuasiNewton


class Stop(Exception):
    pass


def stop_at(iteration):
    def callback(state):
        if state.iteration == iteration:
            raise Stop

    return callback


def run(path, until=None, **how):
    how = {"n_components": 3, "max_iter": 30, "tol": 0, "random_state": 5, **how}
    if until is None:
        return tl_nmf(notes(n=6000), **how)
    with pytest.raises(Stop):
        tl_nmf(notes(n=6000), checkpoint=Checkpoint(path, every=0), callback=stop_at(until), **how)
    return None


def resumed(path, **how):
    return run(None, checkpoint=Checkpoint(path, resume=True), **how)


@pytest.mark.parametrize("solver", [*SOLVERS, None])
@pytest.mark.parametrize("until", [7, 23])
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, solver, until):
    path = tmp_path / "run.npz"
    how = {"solver": solver, "max_iter": 12 if solver == "jacobi" else 30}
    until = min(until, how["max_iter"] - 1)
    straight = run(path, **how)
    run(path, until, **how)
    again = resumed(path, **how)
    for name in ("Phi", "W", "H"):
        assert np.array_equal(getattr(again, name), getattr(straight, name))
    assert again.objective == straight.objective
    assert np.array_equal(again.history.objective, straight.history.objective)
    assert again.n_iter == straight.n_iter


def test_what_else_a_checkpoint_must_remember(tmp_path):
    path = tmp_path / "run.npz"
    Y = notes(n=6000)
    how = {"sample_weight": np.arange(Y.shape[1]) % 3, "W": np.ones((32, 1)), "fixed": "W"}
    straight = run(path, **how)
    run(path, 9, **how)
    again = resumed(path, **how)
    assert np.array_equal(again.H, straight.H)


def test_a_damaged_or_missing_checkpoint_is_replaced_by_the_one_before(tmp_path):
    path, damaged = tmp_path / "run.npz", tmp_path / "damaged.npz"
    straight = run(path)
    run(path, 17)
    shutil.copy(storage.previous(path), storage.previous(damaged))
    for content in (b"", path.read_bytes()[:-1], None):
        damaged.unlink(missing_ok=True)
        if content is not None:
            damaged.write_bytes(content)
        assert np.array_equal(resumed(damaged).Phi, straight.Phi)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sparsity": 3}, "sparsity is 10.0, here it is 3.0"),
        (
            {"solver": "quasi-newton", "method": Method(anneal=True)},
            "solver is .LBFGS.*, here it is .QuasiNewton",
        ),
        ({"random_state": 6}, "random_state is 5, here it is 6"),
        ({"random_state": None}, "random_state is 5, here it is None"),
        ({"random_state": np.random.default_rng(5)}, "random_state is 5, here .* 'Generator "),
        ({"init": "random"}, "init is 'dct', here it is 'random'"),
        ({"init": np.eye(32)}, "init is 'dct', here it is an array"),
        ({"W": np.ones((32, 3))}, "W is None, here it is an array"),
        ({"H": np.ones((3, notes(n=6000).shape[1]))}, "H is None, here it is an array"),
        ({"divergence": "gaussian"}, "divergence is 'itakura-saito', here it is 'gaussian'"),
        ({"n_atoms": 9}, "n_atoms is None, here it is 9"),
    ],
)
def test_another_problem_is_refused(checkpoint, change, message):
    with pytest.raises(ValueError, match=f"belongs to another run, whose {message}") as error:
        resumed(checkpoint, **change)
    refusal(error.value, checkpoint)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "run.npz"
    run(path, 9)
    return path


def test_other_frames_are_refused(checkpoint):
    with pytest.raises(ValueError, match="a run with another array of frames; resume with the sa"):
        tl_nmf(
            notes(n=6000, seed=1), 3, random_state=5, checkpoint=Checkpoint(checkpoint, resume=True)
        )


@pytest.mark.parametrize(
    "state",
    [
        lambda: None,
        lambda: np.int64(7),
        lambda: np.random.default_rng(3),
        lambda: np.random.RandomState(3),
        lambda: np.random.SeedSequence(3),
    ],
)
def test_the_same_call_resumes_whatever_its_random_state(tmp_path, state):
    path = tmp_path / "run.npz"
    run(path, 9, random_state=state())
    before = storage.read(path, "checkpoint").header["history"]["rows"]
    after = resumed(path, random_state=state())
    assert after.n_iter == 30
    assert [row[0] for row in before] == after.history.objective[: len(before)].tolist()


def test_fewer_iterations_than_were_made_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    run(path, 12)
    with pytest.raises(ValueError, match=r"max_iter is 2, but .* has made 10 .* at least 10$"):
        resumed(path, max_iter=2)
    assert resumed(path, max_iter=10).n_iter == 10


def test_resume_true_starts_afresh_where_there_is_nothing(tmp_path):
    path = tmp_path / "run.npz"
    first = run(path, checkpoint=Checkpoint(path, every=0, resume=True))
    assert path.exists()
    assert storage.previous(path).exists()
    assert not list(tmp_path.glob("*.tmp"))
    again = run(path, checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(first.Phi, again.Phi)


def test_restarts_have_checkpoints_of_their_own(tmp_path):
    how = {"n_components": 2, "n_init": 2, "max_iter": 10, "tol": 0, "random_state": 0}
    how |= {"checkpoint": Checkpoint(tmp_path / "c", every=0, resume=True)}
    first = TLNMF(**how).fit(notes().T)
    assert {p.name for p in tmp_path.iterdir()} >= {"c.0", "c.1"}
    again = TLNMF(**how).fit(notes().T)
    assert np.array_equal(first.components_, again.components_)


def test_checkpoints_wait_for_their_time(tmp_path):
    run(tmp_path / "never.npz", checkpoint=Checkpoint(tmp_path / "never.npz", every=1e6))
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_checkpoint_is_not_replaced(tmp_path):
    path = tmp_path / "thesis.tex"
    for place in (path, storage.previous(path)):
        place.write_text("years of work")
        for resume in (False, True):
            with pytest.raises(ValueError, match=f"{place.name} (exists and|is damaged or) "):
                run(path, checkpoint=Checkpoint(path, every=0, resume=resume))
        assert place.read_text() == "years of work"
        place.unlink()
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match="folder exists and is not a checkpoint"):
        run(path, checkpoint=tmp_path / "folder")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="link is a link to a file that does not exist"):
        run(path, checkpoint=Checkpoint(link, every=0))
    assert link.is_symlink()
    run(path, checkpoint=Checkpoint(path, every=0))
    path.write_bytes(path.read_bytes()[:-50])  # damaged, but the one before is ours
    run(path, checkpoint=Checkpoint(path, every=0, resume=True))
    storage.read(path, "checkpoint")


def test_a_sample_that_is_drawn_again_is_the_same_after_resuming(tmp_path):
    """A sample is drawn afresh when the precision changes: in double precision below 1e-9."""
    path, Y = tmp_path / "run.npz", notes(n=80_000)
    how = {"n_components": 3, "floor": 1e-12, "tol": 0, "max_iter": 24, "random_state": 0}
    how["method"] = Method(anneal=Anneal(length=22, shape=1, knee=1e-12, all_frames=1e-13))
    straight = tl_nmf(Y, **how)
    assert straight.history.frames[18] < Y.shape[1]
    assert straight.history.floor[9] > 1e-9 > straight.history.floor[18]
    with pytest.raises(Stop):
        tl_nmf(Y, checkpoint=Checkpoint(path, every=0), callback=stop_at(11), **how)
    assert np.array_equal(
        tl_nmf(Y, checkpoint=Checkpoint(path, resume=True), **how).Phi, straight.Phi
    )


@dataclass(frozen=True)
class Described(QuasiNewton):
    factor: Any = 1.0


class Undescribed(QuasiNewton):
    """A solver with a parameter that its ``__repr__``, that of its base class, does not show."""

    def __init__(self, factor=1.0):
        super().__init__()
        object.__setattr__(self, "factor", factor)


@pytest.mark.parametrize("kind", [Described, Undescribed])
def test_a_solver_of_the_users_own_is_compared_by_its_attributes(tmp_path, kind):
    path = tmp_path / "run.npz"
    straight = run(path, solver=kind(factor=2.0))
    run(path, 7, solver=kind(factor=2.0))
    assert np.array_equal(resumed(path, solver=kind(factor=np.float64(2))).Phi, straight.Phi)
    with pytest.raises(ValueError, match=r"whose solver is .*factor=2\.0.*, here .*factor=3\.0"):
        resumed(path, solver=kind(factor=3.0))


@pytest.mark.parametrize("value", [lambda x: x, object(), np.zeros(3)])
@pytest.mark.parametrize("kind", [Described, Undescribed])
def test_what_a_checkpoint_cannot_compare_is_refused_before_the_run(tmp_path, kind, value):
    solver = kind(factor=value)
    for checkpoint in (tmp_path / "run.npz", Checkpoint(tmp_path / "run.npz", resume=True)):
        with pytest.raises(ValueError, match="^solver is .*, whose attributes are not all numbers"):
            run(None, solver=solver, checkpoint=checkpoint)
    assert not list(tmp_path.iterdir())
    run(None, solver=solver, max_iter=2)  # without one it is fine


def test_a_schedule_of_the_users_own_is_compared_by_its_attributes(tmp_path):
    path = tmp_path / "run.npz"
    mine = type("Mine", (Anneal,), {"__repr__": object.__repr__})
    run(path, 7, method=Method(anneal=mine(length=5)))
    resumed(path, method=Method(anneal=mine(length=5)))
    with pytest.raises(ValueError, match="whose anneal is 'Mine.*length=5.*, here .*length=6"):
        resumed(path, method=Method(anneal=mine(length=6)))


def own_divergence(**formulas):
    return type("Own", (Gaussian,), formulas)()


def test_a_divergence_of_the_users_own_is_compared_by_all_its_formulas(tmp_path):
    path = tmp_path / "run.npz"
    straight = run(path, divergence=own_divergence())
    run(path, 7, divergence=own_divergence())
    again = resumed(path, divergence=own_divergence())
    assert np.array_equal(again.Phi, straight.Phi)
    for formula in ("slope", "curvature", "bound"):
        other = own_divergence(**{formula: getattr(ItakuraSaito, formula)})
        with pytest.raises(ValueError, match="belongs to another run, whose divergence is"):
            resumed(path, divergence=other)
