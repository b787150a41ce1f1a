"""Runs that stop and go on, and files that are not what they should be."""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from problems import notes

from phinmf import TLNMF, Anneal, Checkpoint, Method, storage, tl_nmf
from phinmf.divergences import Gaussian, ItakuraSaito
from phinmf.fit.stored_run import held_like
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


@pytest.mark.parametrize("solver", [*SOLVERS, None])
@pytest.mark.parametrize("until", [7, 23])
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, solver, until):
    path = tmp_path / "run.npz"
    how = {"solver": solver, "max_iter": 12 if solver == "jacobi" else 30}
    until = min(until, how["max_iter"] - 1)
    straight = run(path, **how)
    run(path, until, **how)
    resumed = run(path, checkpoint=Checkpoint(path, resume=True), **how)
    for name in ("Phi", "W", "H"):
        assert np.array_equal(getattr(resumed, name), getattr(straight, name))
    assert resumed.objective == straight.objective
    assert np.array_equal(resumed.history.objective, straight.history.objective)
    assert resumed.n_iter == straight.n_iter


def test_what_else_a_checkpoint_must_remember(tmp_path):
    path = tmp_path / "run.npz"
    Y = notes(n=6000)
    how = {"sample_weight": np.arange(Y.shape[1]) % 3, "W": np.ones((32, 1)), "fixed": "W"}
    straight = run(path, **how)
    run(path, 9, **how)
    resumed = run(path, checkpoint=Checkpoint(path, resume=True), **how)
    assert np.array_equal(resumed.H, straight.H)


def test_the_start_is_held_as_in_the_run_that_was_not_interrupted(rng):
    """A start whose rows are equal holds one of them; products with it are rounded accordingly."""
    known = np.broadcast_to(rng.random(2000), (5, 2000))
    read = held_like(known.copy(), known)
    assert read.strides == known.strides
    assert np.array_equal(read, known)
    other = rng.random((5, 2000))
    assert held_like(other, known) is other
    assert held_like(other, other.copy()) is other


def test_a_checkpoint_cut_short_is_noticed_and_the_one_before_is_used(tmp_path, rng):
    path, cut = tmp_path / "run.npz", tmp_path / "cut.npz"
    straight = run(path)
    run(path, 17)
    whole = path.read_bytes()
    shutil.copy(storage.previous(path), storage.previous(cut))
    for length in [0, 1, 50, len(whole) - 1, *rng.integers(len(whole), size=8)]:
        cut.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="damaged"):
            storage.read(cut, "checkpoint")
        assert np.array_equal(run(path, checkpoint=Checkpoint(cut, resume=True)).Phi, straight.Phi)
    storage.previous(cut).unlink()
    with pytest.raises(ValueError, match="damaged or not a phinmf file"):
        run(path, checkpoint=Checkpoint(cut, resume=True))


def test_a_flipped_byte_is_noticed(tmp_path, rng):
    path = tmp_path / "model.npz"
    TLNMF(3, max_iter=5, tol=0).fit(notes().T).save(path)
    good = path.read_bytes()
    before = TLNMF.load(path)
    for place in rng.integers(len(good), size=60):
        bad = bytearray(good)
        bad[place] ^= 0x55
        path.write_bytes(bad)
        try:
            model = TLNMF.load(path)
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017
        else:  # a byte that nobody reads, such as a date in the archive
            assert np.array_equal(model.components_, before.components_)
            assert np.array_equal(model.transform_matrix_, before.transform_matrix_)


def test_another_problem_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    run(path, 9)
    with pytest.raises(ValueError, match=r"its sparsity is 10.0, here it is 3.0"):
        run(path, checkpoint=Checkpoint(path, resume=True), sparsity=3)
    with pytest.raises(
        ValueError, match="another run: its frames are others than those given here; r"
    ):
        tl_nmf(notes(n=6000, seed=1), 3, checkpoint=Checkpoint(path, resume=True))
    with pytest.raises(ValueError, match="its init is 'dct', here it is an array"):
        run(path, checkpoint=Checkpoint(path, resume=True), init=np.eye(32))
    with pytest.raises(ValueError, match="its solver"):
        run(
            path,
            checkpoint=Checkpoint(path, resume=True),
            solver="quasi-newton",
            method=Method(anneal=True),
        )


def test_fewer_iterations_than_were_made_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    run(path, 12)
    with pytest.raises(ValueError, match=r"max_iter is 2, but .* has made 10 .* at least 10$"):
        run(path, checkpoint=Checkpoint(path, resume=True), max_iter=2)
    assert run(path, checkpoint=Checkpoint(path, resume=True), max_iter=10).n_iter == 10


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


@pytest.mark.full
def test_a_killed_write_leaves_nothing_behind(tmp_path, rng):
    """And a file of the user's, whatever its name, stays as it is."""
    path = tmp_path / "run.npz"
    code = f"""
import numpy as np
from phinmf import storage
print(flush=True)
while True:
    storage.write({str(path)!r}, "checkpoint", {{}}, {{"a": np.zeros(300_000)}}, keep_previous=True)
"""
    own = tmp_path / "run.npz.tmp"
    own.write_text("mine")
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0.02, 0.1))
            process.kill()
        files = {p.name for p in tmp_path.iterdir()}
        assert files <= {"run.npz", "run.npz.previous", "run.npz.tmp"}
        newest = path if path.exists() else storage.previous(path)
        assert storage.read(newest, "checkpoint").arrays["a"].shape == (300_000,)
    assert own.read_text() == "mine"


def test_two_processes_that_write_the_same_file(tmp_path):
    def write(i):
        for _ in range(30):
            storage.write(path, "model", {"i": i}, {"a": np.full(1000, i)}, keep_previous=i < 2)
            stored = storage.read(path, "model")
            assert (stored.arrays["a"] == stored.header["i"]).all()

    path = tmp_path / "model.npz"
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(write, i) for i in (2, 3, 4, 5)]:
            done.result()
    assert [p.name for p in tmp_path.iterdir()] == ["model.npz"]


@pytest.mark.parametrize("nameless", [True, False])
def test_where_files_without_a_name_are_not_known(tmp_path, monkeypatch, nameless):
    if not nameless:
        monkeypatch.setattr(storage, "nameless", lambda folder: None)
    path = tmp_path / "model.npz"
    for i in range(3):
        storage.write(path, "model", {"i": i}, {}, keep_previous=i == 2)
        assert storage.read(path, "model").header["i"] == i
    assert storage.read(storage.previous(path), "model").header["i"] == 1
    with pytest.raises(ValueError, match="pickle"):
        storage.write(path, "model", {}, {"a": np.array([{}])})
    with pytest.raises(FileNotFoundError):
        storage.write(tmp_path / "no" / "model.npz", "model", {}, {})
    assert {p.name for p in tmp_path.iterdir()} == {"model.npz", "model.npz.previous"}
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
    assert np.array_equal(
        run(path, checkpoint=Checkpoint(path, resume=True), solver=kind(factor=np.float64(2))).Phi,
        straight.Phi,
    )
    with pytest.raises(ValueError, match=r"its solver is .*factor=2\.0.*, here .*factor=3\.0"):
        run(path, checkpoint=Checkpoint(path, resume=True), solver=kind(factor=3.0))


@pytest.mark.parametrize("value", [lambda x: x, object(), np.zeros(3)])
@pytest.mark.parametrize("kind", [Described, Undescribed])
def test_what_a_checkpoint_cannot_compare_is_refused_before_the_run(tmp_path, kind, value):
    solver = kind(factor=value)
    for how in (
        {"checkpoint": tmp_path / "run.npz"},
        {"checkpoint": Checkpoint(tmp_path / "run.npz", resume=True)},
    ):
        with pytest.raises(ValueError, match="^solver is .*, whose attributes are not all numbers"):
            run(None, solver=solver, **how)
    assert not list(tmp_path.iterdir())
    run(None, solver=solver, max_iter=2)  # without one it is fine


def test_a_schedule_of_the_users_own_is_compared_by_its_attributes(tmp_path):
    path = tmp_path / "run.npz"
    mine = type("Mine", (Anneal,), {"__repr__": object.__repr__})
    run(path, 7, method=Method(anneal=mine(length=5)))
    run(path, checkpoint=Checkpoint(path, resume=True), method=Method(anneal=mine(length=5)))
    with pytest.raises(ValueError, match="its anneal is 'Mine.*length=5.*, here .*length=6"):
        run(path, checkpoint=Checkpoint(path, resume=True), method=Method(anneal=mine(length=6)))


def own_divergence(**formulas):
    return type("Own", (Gaussian,), formulas)()


def test_a_divergence_of_the_users_own_is_compared_by_all_its_formulas(tmp_path):
    path = tmp_path / "run.npz"
    straight = run(path, divergence=own_divergence())
    run(path, 7, divergence=own_divergence())
    resumed = run(path, checkpoint=Checkpoint(path, resume=True), divergence=own_divergence())
    assert np.array_equal(resumed.Phi, straight.Phi)
    for formula in ("slope", "curvature", "bound"):
        other = own_divergence(**{formula: getattr(ItakuraSaito, formula)})
        with pytest.raises(ValueError, match="belongs to another run: its divergence is"):
            run(path, checkpoint=Checkpoint(path, resume=True), divergence=other)
