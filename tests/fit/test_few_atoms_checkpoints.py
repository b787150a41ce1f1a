"""Checkpoints of runs that learn few atoms, or begin with few."""

import itertools

import numpy as np
import pytest
from few_atoms import same_bits, sound
from forging import forged, refusal
from fuzz.formulas import check_fit
from tensor_problems import tensor

from phinmf import Anneal, Checkpoint, Method, storage, tl_nmf
from phinmf.solvers import SOLVERS

pytestmark = pytest.mark.usefixtures("always_coarse")

Y = sound(M=24, n=6000)
HOW = {
    "n_components": 2,
    "max_iter": 24,
    "tol": 0,
    "random_state": 5,
    "method": Method(anneal=Anneal(length=20)),
}
GIVE = pytest.mark.parametrize("give", [np.asarray, tensor])


class Stop(Exception):
    pass


def stopped(path, frames, until, **how):
    """The checkpoint that a run leaves which stops at an iteration."""

    def stop(state):
        if state.iteration == until:
            raise Stop

    with pytest.raises(Stop):
        tl_nmf(frames, checkpoint=Checkpoint(path, every=0), callback=stop, **HOW | how)
    return storage.read(path, "checkpoint")


@GIVE
@pytest.mark.parametrize("until", [6, 11, 21])
@pytest.mark.parametrize("n_atoms", [None, 9, 0.999])
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, until, n_atoms, give):
    """In a stage of few atoms, of more of them, and of all that are learned."""
    frames, path = give(Y[0]), tmp_path / "run.npz"
    straight = tl_nmf(frames, n_atoms=n_atoms, **HOW)
    stored = stopped(path, frames, until, n_atoms=n_atoms)
    P = int(stored.arrays.get("n_atoms", 24))
    assert stored.arrays["Phi"].shape == (P, P)
    assert straight.history.atoms[len(stored.header["history"]["rows"]) - 1] == P
    assert ("basis" in stored.arrays) == (P < 24)
    resumed = tl_nmf(frames, n_atoms=n_atoms, checkpoint=Checkpoint(path, resume=True), **HOW)
    assert same_bits(resumed, straight)
    assert np.array_equal(resumed.history.objective, straight.history.objective)
    assert np.array_equal(resumed.history.atoms, straight.history.atoms)


def test_the_checkpoints_above_are_in_different_stages():
    atoms = tl_nmf(Y[0], **HOW).history.atoms
    assert len({atoms[t] for t in (4, 9, 14, 19)}) > 2


@pytest.mark.parametrize(
    ("solver", "engine"),
    [*itertools.product(SOLVERS, ["array"]), ("lbfgs", "compiled"), ("quasi-newton", "compiled")],
)
def test_every_solver_and_engine_resumes(tmp_path, solver, engine):
    path = tmp_path / "run.npz"
    how = {"solver": solver, "engine": engine, "n_atoms": 9, "max_iter": 12}
    how |= {"method": Method(anneal=Anneal(length=10))}
    straight = tl_nmf(Y, **HOW | how)
    stopped(path, Y, 8, **how)
    assert same_bits(tl_nmf(Y, checkpoint=Checkpoint(path, resume=True), **HOW | how), straight)


@GIVE
@pytest.mark.parametrize("n_atoms", [None, 9])
def test_a_longer_schedule_may_go_back_to_fewer_atoms(tmp_path, n_atoms, give):
    path = tmp_path / "run.npz"
    how = {"checkpoint": Checkpoint(path, every=0, resume=True), "n_atoms": n_atoms}
    how |= {"method": Method(anneal=Anneal(length=60))}
    falls = False
    for max_iter in (6, 17, 30):
        r = tl_nmf(give(Y[0]), **HOW | how | {"max_iter": max_iter})
        assert len(r.history) == max_iter
        check_fit(Y[0], r, {})
        falls |= bool((np.diff(r.history.atoms) < 0).any())
    assert falls


@pytest.mark.full
def test_a_run_continues_on_tensors_and_on_arrays(tmp_path):
    """These change the number of atoms at other times."""
    for number, (one, other) in enumerate(((np.asarray, tensor), (tensor, np.asarray))):
        path = tmp_path / f"{number}.npz"
        for until in (6, 11, 17):
            stopped(path, one(Y[0]), until, engine="array")
            r = tl_nmf(other(Y[0]), checkpoint=Checkpoint(path, resume=True), engine="array", **HOW)
            assert len(r.history) == HOW["max_iter"]
            check_fit(Y[0], r, {})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_without_nmf_steps_and_with_a_fixed_H(tmp_path, dtype):
    """What W says about its columns is kept when atoms are added."""
    frames, path = Y[0].astype(dtype), tmp_path / "run.npz"
    without_steps = {"method": Method(anneal=Anneal(length=20), n_iter_nmf=0)}
    for how in (without_steps, {"H": tl_nmf(frames, **HOW).H, "fixed": "H", "n_atoms": 9}):
        how = HOW | how
        straight = tl_nmf(frames, **how)
        stopped(path, frames, 8, **how)
        again = tl_nmf(frames, checkpoint=Checkpoint(path, resume=True), **how)
        assert same_bits(again, straight)


@pytest.mark.parametrize(
    "arrays",
    [
        {"n_atoms": np.array(8)},
        {"n_atoms": np.array(24)},
        {"n_atoms": None},
        {"n_atoms": None, "basis": None},
        {"basis": None},
        {"basis": 1.5 * np.eye(24)},
        {"basis": np.eye(9)},
    ],
)
def test_parts_that_do_not_belong_together_are_refused(tmp_path, arrays):
    path = tmp_path / "run.npz"
    how = {"n_atoms": 9, "method": Method(anneal=False)}
    assert stopped(path, Y, 8, **how).arrays["n_atoms"] == 9
    forged(path, "checkpoint", arrays=arrays)
    storage.previous(path).unlink(missing_ok=True)
    with pytest.raises(ValueError, match="is not a usable checkpoint: ") as error:
        tl_nmf(Y, checkpoint=Checkpoint(path, resume=True), **HOW | how)
    refusal(error.value, path)


def test_few_atoms_in_a_run_that_never_learns_few_are_refused(tmp_path):
    """A file of a consistent stage that this run does not have."""
    path = tmp_path / "few.npz"
    stopped(path, Y, 8)
    whole = {"method": Method(anneal=Anneal(length=20, coarse=0))}
    all_atoms = stopped(tmp_path / "all.npz", Y, 8, **whole)
    forged(path, "checkpoint", {"problem": all_atoms.header["problem"]})
    with pytest.raises(ValueError, match="not those of a stage of this run") as error:
        tl_nmf(Y, checkpoint=Checkpoint(path, resume=True), **HOW | whole)
    refusal(error.value, path)
