"""Runs that stop and go on, and files that are not what they should be."""

import numpy as np
import pytest
from clusters import same
from forging import forged, refusal
from formulas import check_fit
from problems import notes, sound
from tensor_problems import tensor

from phinmf import TLNMF, Anneal, Checkpoint, Method, storage, tl_nmf
from phinmf.divergences import Gaussian, ItakuraSaito
from phinmf.solvers import SOLVERS, QuasiNewton

Y = notes(n=6000)
FEW = sound(M=24, n=6000)
HOW = {"n_components": 3, "max_iter": 30, "tol": 0, "random_state": 5}
#: Runs on `FEW` that go through stages of few atoms.
STAGES = HOW | {"n_components": 2, "max_iter": 24, "method": Method(anneal=Anneal(length=20))}


class Stop(Exception):
    pass


def stopped(path, frames, until, **how):
    """Return the checkpoint of a run that stops at an iteration."""

    def stop(state):
        if state.iteration == until:
            raise Stop

    with pytest.raises(Stop):
        tl_nmf(frames, checkpoint=Checkpoint(path, every=0), callback=stop, **how)
    return storage.read(path, "checkpoint")


def resumed(path, frames=Y, **how):
    return tl_nmf(frames, checkpoint=Checkpoint(path, resume=True), **how)


def check_resumed(path, frames, until, **how):
    """Assert that a run that stops and goes on ends with the same bits; return the checkpoint."""
    straight = tl_nmf(frames, **how)
    checkpoint = stopped(path, frames, min(until, straight.n_iter - 1), **how)
    again = resumed(path, frames, **how)
    same(again, straight)
    assert np.array_equal(again.history.atoms, straight.history.atoms)
    return checkpoint


@pytest.mark.parametrize(
    "how",
    [
        *({"solver": solver} for solver in ("lbfgs", "quasi-newton", "projected-gradient", None)),
        {"solver": "jacobi", "max_iter": 12},
        {"pairs": True, "init": "dft"},
        {"sample_weight": np.arange(Y.shape[1]) % 3, "W": np.ones((32, 1)), "fixed": "W"},
    ],
    ids=str,
)
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, how):
    for until in (7, 23):
        check_resumed(tmp_path / "run.npz", Y, until, **HOW | how)


def test_a_sample_that_is_drawn_again_is_the_same_after_resuming(tmp_path):
    """A sample is drawn afresh when the precision changes: in double precision below 1e-9."""
    frames, how = notes(n=80_000), HOW | {"floor": 1e-12, "max_iter": 24, "random_state": 0}
    how["method"] = Method(anneal=Anneal(length=22, shape=1, knee=1e-12, all_frames=1e-13))
    check_resumed(tmp_path / "run.npz", frames, 11, **how)


H = np.random.default_rng(0).random((2, FEW.shape[2]))
SHORT = {"max_iter": 12, "method": Method(anneal=Anneal(length=10))}


@pytest.mark.usefixtures("always_coarse")
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"n_atoms": 9},
        *(SHORT | {"solver": solver, "engine": "array", "n_atoms": 9} for solver in SOLVERS),
        {"method": Method(anneal=Anneal(length=20), n_iter_nmf=0)},
        {"H": H, "fixed": "H", "n_atoms": 9},
    ],
    ids=str,
)
def test_every_stage_of_few_atoms_resumes(tmp_path, how):
    """What W says about its columns is kept when atoms are added."""
    for until, dtype in ((6, "float32"), (21, "float64")):
        check_resumed(tmp_path / "run.npz", FEW.astype(dtype), until, **STAGES | how)


@pytest.mark.usefixtures("always_coarse")
@pytest.mark.full
def test_every_stage_on_tensors_resumes(tmp_path):
    for n_atoms in (None, 9):
        check_resumed(tmp_path / "run.npz", tensor(FEW[0]), 11, **STAGES | {"n_atoms": n_atoms})


@pytest.mark.usefixtures("always_coarse")
@pytest.mark.parametrize("give", [np.asarray, tensor])
@pytest.mark.parametrize("n_atoms", [None, 9])
def test_a_longer_schedule_may_go_back_to_fewer_atoms(tmp_path, n_atoms, give):
    how = {"checkpoint": Checkpoint(tmp_path / "run.npz", every=0, resume=True)}
    how |= {"n_atoms": n_atoms, "method": Method(anneal=Anneal(length=60))}
    falls = False
    for max_iter in (6, 17, 30):
        r = tl_nmf(give(FEW[0]), **STAGES | how | {"max_iter": max_iter})
        assert len(r.history) == max_iter
        check_fit(FEW[0], r, {})
        falls |= bool((np.diff(r.history.atoms) < 0).any())
    assert falls


@pytest.mark.parametrize("kind", ["default_rng", "RandomState", "SeedSequence", None])
def test_the_same_call_resumes_whatever_its_random_state(tmp_path, kind):
    def state():
        return kind and getattr(np.random, kind)(3)

    path = tmp_path / "run.npz"
    stored = stopped(path, Y, 9, **HOW | {"random_state": state()})
    before = [row[0] for row in stored.header["history"]["rows"]]
    after = resumed(path, **HOW | {"random_state": state()})
    assert after.n_iter == 30
    assert before == after.history.objective[: len(before)].tolist()


# what is compared


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "run.npz"
    stopped(path, Y, 9, **HOW)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sparsity": 3}, "sparsity is 10.0, here it is 3.0"),
        ({"random_state": np.random.default_rng(5)}, "random_state is 5, here it is Generator "),
        ({"init": np.eye(32)}, "init is DCT.*, here it is ArrayInit.Phi=array"),
        ({"H": np.ones((3, Y.shape[1]))}, "H is None, here it is array"),
        ({"n_atoms": 9}, "n_atoms is None, here it is 9"),
        ({"pairs": True, "init": "dct"}, "pairs is False, here it is True"),
        ({"frames": notes(n=6000, seed=1)}, "frames is array .*, here it is array"),
    ],
)
def test_another_problem_is_refused(checkpoint, change, message):
    with pytest.raises(ValueError, match=f"belongs to another run, whose {message}") as error:
        resumed(checkpoint, **HOW | change)
    refusal(error.value, checkpoint)


class Scaled(QuasiNewton):
    """A solver with a parameter that its ``__repr__``, that of its base class, does not show."""

    def __init__(self, factor=1.0):
        super().__init__()
        object.__setattr__(self, "factor", factor)


class Mine(Anneal):
    """A schedule of the user's own."""

    __repr__ = object.__repr__


def own_divergence(**formulas):
    return type("Own", (Gaussian,), formulas)()


@pytest.mark.parametrize(
    ("how", "other", "message"),
    [
        ({"solver": Scaled(2.0)}, {"solver": Scaled(np.float64(3))}, "solver .*factor=2.*factor=3"),
        (
            {"method": Method(anneal=Mine(length=5))},
            {"method": Method(anneal=Mine(length=6))},
            "anneal is Mine.*length=5.*, here .*length=6",
        ),
        (
            {"divergence": own_divergence()},
            {"divergence": own_divergence(bound=ItakuraSaito.bound)},
            "divergence is Own",
        ),
    ],
)
def test_objects_of_the_users_own_are_compared_by_what_they_hold(tmp_path, how, other, message):
    path = tmp_path / "run.npz"
    check_resumed(path, Y, 7, **HOW | how)
    with pytest.raises(ValueError, match=f"belongs to another run, whose {message}"):
        resumed(path, **HOW | other)


@pytest.mark.parametrize("value", [lambda x: x, object()])
def test_what_a_checkpoint_cannot_compare_is_refused_before_the_run(tmp_path, value):
    how = HOW | {"solver": Scaled(factor=value), "max_iter": 2}
    with pytest.raises(ValueError, match="^solver has an attribute that is no number"):
        tl_nmf(Y, checkpoint=tmp_path / "run.npz", **how)
    assert not list(tmp_path.iterdir())
    tl_nmf(Y, **how)  # without one it is fine


# files


def test_fewer_iterations_than_were_made_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    stopped(path, Y, 12, **HOW)
    with pytest.raises(ValueError, match=r"max_iter is 2, but .* has made 10 .* at least 10$"):
        resumed(path, **HOW | {"max_iter": 2})
    assert resumed(path, **HOW | {"max_iter": 10}).n_iter == 10


def test_where_there_is_no_file_yet_and_when_the_next_is_due(tmp_path):
    """Restarts have files of their own."""
    tl_nmf(Y, checkpoint=Checkpoint(tmp_path / "never.npz", every=1e6), **HOW)
    assert not list(tmp_path.iterdir())
    how = HOW | {"n_init": 2, "max_iter": 10}
    how |= {"checkpoint": Checkpoint(tmp_path / "c", every=0, resume=True)}
    first = TLNMF(**how).fit(Y.T)
    assert {p.name for p in tmp_path.iterdir()} == {"c.0", "c.1"}
    assert np.array_equal(first.components_, TLNMF(**how).fit(Y.T).components_)


@pytest.mark.usefixtures("always_coarse")
@pytest.mark.parametrize(
    "arrays",
    [
        {"n_atoms": np.array(24)},
        {"n_atoms": None},
        {"n_atoms": None, "basis": None},
        {"basis": None},
        {"basis": 1.5 * np.eye(24)},
        {"basis": np.eye(9)},
    ],
)
def test_parts_that_do_not_belong_together_are_refused(tmp_path, arrays):
    path, how = tmp_path / "run.npz", STAGES | {"n_atoms": 9, "method": Method(anneal=False)}
    assert stopped(path, FEW, 8, **how).arrays["n_atoms"] == 9
    forged(path, "checkpoint", arrays=arrays)
    with pytest.raises(ValueError, match="is not a usable checkpoint: ") as error:
        resumed(path, FEW, **how)
    refusal(error.value, path)
