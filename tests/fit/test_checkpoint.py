"""Runs that stop and go on, and files that are not what they should be."""

import shutil

import numpy as np
import pytest
from forging import refusal
from problems import notes

from phinmf import TLNMF, Anneal, Checkpoint, Method, storage, tl_nmf
from phinmf.divergences import Gaussian, ItakuraSaito
from phinmf.solvers import QuasiNewton


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


@pytest.mark.parametrize(
    "how",
    [
        *({"solver": solver} for solver in ("lbfgs", "quasi-newton", "projected-gradient", None)),
        {"solver": "jacobi", "max_iter": 12},
        {
            "sample_weight": np.arange(notes(n=6000).shape[1]) % 3,
            "W": np.ones((32, 1)),
            "fixed": "W",
        },
    ],
    ids=str,
)
@pytest.mark.parametrize("until", [7, 23])
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, how, until):
    path = tmp_path / "run.npz"
    straight = run(path, **how)
    run(path, min(until, straight.n_iter - 1), **how)
    again = resumed(path, **how)
    for name in ("Phi", "W", "H"):
        assert np.array_equal(getattr(again, name), getattr(straight, name))
    assert again.objective == straight.objective
    assert np.array_equal(again.history.objective, straight.history.objective)


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


def test_no_other_file_is_replaced_as_the_one_before(tmp_path):
    path = tmp_path / "run.npz"
    thesis = storage.previous(path)
    thesis.write_text("years of work")
    with pytest.raises(ValueError, match=f"{thesis.name} exists and is not a checkpoint"):
        run(path, checkpoint=path)
    assert thesis.read_text() == "years of work"


def test_a_damaged_checkpoint_is_replaced_if_there_is_one_before(tmp_path):
    path = tmp_path / "run.npz"
    run(path, checkpoint=Checkpoint(path, every=0))
    path.write_bytes(path.read_bytes()[:-50])
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


class Scaled(QuasiNewton):
    """A solver with a parameter that its ``__repr__``, that of its base class, does not show."""

    def __init__(self, factor=1.0):
        super().__init__()
        object.__setattr__(self, "factor", factor)


def test_a_solver_of_the_users_own_is_compared_by_its_attributes(tmp_path):
    path = tmp_path / "run.npz"
    straight = run(path, solver=Scaled(factor=2.0))
    run(path, 7, solver=Scaled(factor=2.0))
    assert np.array_equal(resumed(path, solver=Scaled(factor=np.float64(2))).Phi, straight.Phi)
    with pytest.raises(ValueError, match=r"whose solver is .*factor=2\.0.*, here .*factor=3\.0"):
        resumed(path, solver=Scaled(factor=3.0))


@pytest.mark.parametrize("value", [lambda x: x, object(), np.zeros(3)])
def test_what_a_checkpoint_cannot_compare_is_refused_before_the_run(tmp_path, value):
    solver = Scaled(factor=value)
    with pytest.raises(ValueError, match="^solver is .*, whose attributes are not all numbers"):
        run(None, solver=solver, checkpoint=tmp_path / "run.npz")
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
