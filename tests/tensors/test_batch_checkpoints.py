"""Batches of tensors write checkpoints and resume from them; forged checkpoints are refused."""

import shutil

import numpy as np
import pytest
from forging import assert_one_sentence, changed_arrays, write
from problems import notes
from tensor_problems import tensor

from phinmf import TLNMF, Anneal, Status, storage, tl_nmf

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

N_ITER = 12
KEPT = 5  #: checkpoints are written at every fifth outer iteration
HOW = {"n_components": 3, "max_iter": N_ITER, "tol": 0, "random_state": 5, "init": "random"}
#: Rounding is not amplified here, so that batches of different sizes agree.
HIGH_FLOOR = {"floor": 1e-2, "anneal": False}
CASES = {
    "all frames": (notes(n=6000), {}),
    "high floor": (notes(n=6000), HIGH_FLOOR),
    "float32": (notes(n=6000).astype(np.float32), {}),
    "sample in single precision": (notes(n=40_000), {"anneal": Anneal(all_frames=1e-5)}),
    "until all frames are used": (notes(n=40_000), {"anneal": Anneal(length=8)}),
    "channels": (np.stack([notes(n=6000), notes(n=6000, seed=1)]), {}),
    "a fixed component": (notes(n=6000), {"W": np.ones((32, 1)), "fixed": "W"}),
    "weights": (notes(n=6000), {"sample_weight": np.arange(notes(n=6000).shape[1]) % 3}),
}


class Stop(Exception):
    """Ends a fit without a result."""


def stop_at(iteration):
    def callback(state):
        if state.iteration == iteration:
            raise Stop

    return callback


def iterations(path):
    """Return how many outer iterations a checkpoint has made."""
    return len(storage.read(path, "checkpoint").header["history"]["rows"])


def without_seconds(history):
    return [row._replace(seconds=0.0) for row in history]


def assert_same_bits(found, expected):
    for name in ("Phi", "W", "H"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert without_seconds(found.history) == without_seconds(expected.history)
    assert found.history.start == expected.history.start
    assert found.objective == expected.objective
    assert found.status is expected.status


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stopped_at", [7, 11])
def test_a_resumed_fit_has_the_same_bits(tmp_path, case, stopped_at):
    path, (Y, how) = tmp_path / "run.npz", CASES[case]
    Y, how = tensor(Y), HOW | how
    straight = tl_nmf(Y, **how)
    files = {"checkpoint": path, "checkpoint_every": 0}
    stopped = tl_nmf(Y, callback=lambda state: state.iteration == stopped_at, **files, **how)
    assert stopped.status is Status.CALLBACK
    assert stopped.n_iter == stopped_at
    assert iterations(path) == stopped_at // KEPT * KEPT
    assert_same_bits(tl_nmf(Y, resume=path, **how), straight)
    assert_same_bits(tl_nmf(Y, resume=True, **files, **how), straight)
    assert iterations(path) == N_ITER // KEPT * KEPT


def test_an_interrupted_fit_is_resumed(tmp_path):
    path, Y = tmp_path / "run.npz", tensor(notes(n=6000))
    with pytest.raises(Stop):
        tl_nmf(Y, checkpoint=path, checkpoint_every=0, callback=stop_at(7), **HOW)
    assert_same_bits(tl_nmf(Y, resume=path, **HOW), tl_nmf(Y, **HOW))


def test_writing_checkpoints_changes_no_bit(tmp_path):
    Y = tensor(notes(n=6000))
    kept = tl_nmf(Y, checkpoint=tmp_path / "run.npz", checkpoint_every=0, **HOW)
    assert_same_bits(kept, tl_nmf(Y, **HOW))


def test_the_previous_checkpoint_is_used_if_the_last_one_is_damaged(tmp_path):
    path, Y = tmp_path / "run.npz", tensor(notes(n=6000))
    tl_nmf(Y, checkpoint=path, checkpoint_every=0, **HOW)
    path.write_bytes(path.read_bytes()[:-50])
    assert iterations(storage.previous(path)) == KEPT
    assert_same_bits(tl_nmf(Y, resume=path, **HOW), tl_nmf(Y, **HOW))


def model_of(path, **how):
    files = {"checkpoint": path, "checkpoint_every": 0}
    return TLNMF(**HOW | HIGH_FLOOR | {"n_init": 3} | files | how)


def assert_same_objectives(model, expected):
    np.testing.assert_allclose(model.objectives_, expected.objectives_, rtol=1e-9)
    assert model.n_iter_ == expected.n_iter_ == N_ITER


@pytest.fixture(scope="module")
def X():
    return tensor(notes(n=6000).T.copy())


@pytest.fixture(scope="module")
def straight(X):
    """The restarts without interruption."""
    return model_of(None).fit(X)


def test_every_restart_of_a_batch_has_a_file(tmp_path, X, straight):
    path = tmp_path / "run"
    with pytest.raises(Stop):
        model_of(path, callback=stop_at(7)).fit(X)
    files = [tmp_path / f"run.{number}" for number in range(3)]
    assert {*tmp_path.iterdir()} == {*files}
    assert [iterations(file) for file in files] == [KEPT] * 3
    resumed = model_of(path, resume=True).fit(X)
    assert_same_objectives(resumed, straight)
    np.testing.assert_array_equal(resumed.objectives_, straight.objectives_)  # of the same batch
    assert [iterations(file) for file in files] == [10] * 3


def test_a_restart_that_ended_earlier_continues_from_its_own_file(tmp_path, X, straight):
    """Two restarts continue after 10 iterations, in one batch, and one after 5, in another."""
    path, seen = tmp_path / "run", []

    def callback(state):
        seen.append(state.iteration)
        if state.iteration == 11:
            raise Stop
        second = seen.count(state.iteration) == 2  # restarts are called in their order
        return state.iteration == 6 and second

    with pytest.raises(Stop):
        model_of(path, callback=callback).fit(X)
    assert [iterations(f"{path}.{number}") for number in range(3)] == [10, 5, 10]
    told = []
    resumed = model_of(path, resume=True, callback=lambda s: told.append(s.iteration)).fit(X)
    assert_same_objectives(resumed, straight)
    assert sorted(told) == sorted([11, 12] * 2 + list(range(6, 13)))


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_restart_without_a_file_begins_again(tmp_path, X, straight, missing):
    path = tmp_path / "run"
    with pytest.raises(Stop):
        model_of(path, callback=stop_at(7)).fit(X)
    (tmp_path / f"run.{missing}").unlink()
    resumed = model_of(path, resume=True).fit(X)
    assert_same_objectives(resumed, straight)
    for file in (tmp_path / f"run.{missing}", storage.previous(tmp_path / f"run.{missing}")):
        file.unlink()
    with pytest.raises(FileNotFoundError, match=f"run.{missing}' does not exist"):
        model_of(None, resume=path).fit(X)


@pytest.mark.parametrize("older", [0, 2])
def test_a_restart_with_an_older_file_continues_from_there(tmp_path, X, straight, older):
    path = tmp_path / "run"
    model_of(path).fit(X)
    file = tmp_path / f"run.{older}"
    shutil.copy(storage.previous(file), file)
    expected = [5 if number == older else 10 for number in range(3)]
    assert [iterations(f"{path}.{number}") for number in range(3)] == expected
    assert_same_objectives(model_of(path, resume=True).fit(X), straight)


def test_an_interrupt_ends_the_restarts_of_other_batches_too(tmp_path, X):
    """Restarts that continue from different iterations are different batches, one by one."""
    path = tmp_path / "run"
    model_of(path).fit(X)
    shutil.copy(storage.previous(tmp_path / "run.2"), tmp_path / "run.2")
    seen = []

    def callback(state):
        seen.append(state.iteration)
        raise KeyboardInterrupt

    model = model_of(path, resume=True, callback=callback).fit(X)
    assert seen == [11]
    assert model.stop_reason_ == Status.INTERRUPTED.value
    assert len(model.objectives_) == 2


def test_files_of_exchanged_restarts_are_refused(tmp_path, X):
    path = tmp_path / "run"
    with pytest.raises(Stop):
        model_of(path, callback=stop_at(7)).fit(X)
    shutil.copy(f"{path}.0", f"{path}.1")
    with pytest.raises(ValueError, match="run.1 belongs to another run: its random_state") as error:
        model_of(path, resume=True).fit(X)
    assert_one_sentence(error.value, f"{path}.1")


@pytest.mark.parametrize("begun", ["auto", "array"])
def test_a_batch_and_the_array_engine_refuse_each_other_s_checkpoints(tmp_path, begun):
    path, Y = tmp_path / "run.npz", tensor(notes(n=6000))
    with pytest.raises(Stop):
        tl_nmf(Y, checkpoint=path, checkpoint_every=0, callback=stop_at(7), engine=begun, **HOW)
    before = path.read_bytes()
    engines = ["'a batch of tensors'", "'one restart'"]
    its, here = engines if begun == "auto" else engines[::-1]
    other = {"auto": "array", "array": "auto"}[begun]
    for files in ({"resume": path}, {"checkpoint": path, "resume": True}):
        with pytest.raises(ValueError, match=f"its engine is {its}, here it is {here}") as error:
            tl_nmf(Y, engine=other, **files, **HOW)
        assert_one_sentence(error.value, path)
    assert path.read_bytes() == before
    if begun == "auto":
        with pytest.raises(ValueError, match=f"its engine is {its}, here it is {here}"):
            tl_nmf(notes(n=6000), resume=path, **HOW)  # on arrays there are no batches


FORGED = {"n_components": 2, "max_iter": 8, "tol": 0, "random_state": 5}
FORGED |= {"anneal": Anneal(length=30, all_frames=1e-5)}  # a sample of the frames at the checkpoint


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Frames, a checkpoint of a batch, and the result that it leads to."""
    path, Y = tmp_path_factory.mktemp("batch") / "run.npz", tensor(notes(M=8, n=1500))
    with pytest.raises(Stop):
        tl_nmf(Y, checkpoint=path, checkpoint_every=0, callback=stop_at(7), **FORGED)
    stored = storage.read(path, "checkpoint")
    assert "sample_frames" in stored.arrays
    assert {n for n in stored.arrays if n.startswith("memory_")} == {
        "memory_S", "memory_Y", "memory_oldest", "memory_inverse"
    }  # fmt: skip
    return Y, stored, tl_nmf(Y, resume=path, **FORGED)


def changed(array, value, place=(0,)):
    array = array.copy()
    array[place * array.ndim] = value
    return array


MEMORIES = {
    "fewer pairs": lambda m: {"S": m["S"][:-1], "Y": m["Y"][:-1]},
    "other atoms": lambda m: {"S": m["S"][:, :-1]},
    "a metric of other atoms": lambda m: {"inverse": m["inverse"][:-1]},
    "several oldest": lambda m: {"oldest": np.zeros(2, np.int64)},
    "NaN in S": lambda m: {"S": changed(m["S"], np.nan)},
    "NaN in Y": lambda m: {"Y": changed(m["Y"], np.nan)},
    "infinity in Y": lambda m: {"Y": changed(m["Y"], np.inf)},
    "NaN in the metric": lambda m: {"inverse": changed(m["inverse"], np.nan)},
    "a negative metric": lambda m: {"inverse": changed(m["inverse"], -1e-3)},
    "oldest before the first": lambda m: {"oldest": np.array(-1)},
    "oldest after the last": lambda m: {"oldest": np.array(len(m["S"]))},
    "oldest that is no integer": lambda m: {"oldest": np.array(0.0)},
    "steps that are too long": lambda m: {"S": changed(m["S"], 1e3)},
    "negative curvature": lambda m: {"Y": -m["Y"]},
    "text": lambda m: {"Y": np.full(m["Y"].shape, "x")},
    "changes of the gradient whose squares overflow": lambda m: {"Y": changed(m["Y"], 1e300)},
    "something more": lambda m: {"more": np.zeros(3)},
}


def attempt(path, Y, header, arrays):
    """Return the result, or None if the file is refused in one sentence."""
    write(path, header, arrays)
    try:
        return tl_nmf(Y, resume=path, **FORGED)
    except ValueError as error:
        assert_one_sentence(error, path)
        return None


@pytest.mark.parametrize("what", MEMORIES)
def test_a_forged_memory_is_refused(tmp_path, small, what):
    Y, stored, _ = small
    memory = {name: stored.arrays[f"memory_{name}"] for name in ("S", "Y", "oldest", "inverse")}
    forged = {f"memory_{name}": array for name, array in MEMORIES[what](memory).items()}
    path = tmp_path / "forged.npz"
    write(path, stored.header, stored.arrays | forged)
    with pytest.raises(ValueError, match="is not a usable checkpoint: its memory is not") as error:
        tl_nmf(Y, resume=path, **FORGED)
    assert_one_sentence(error.value, path)


@pytest.mark.parametrize("name", ["S", "Y", "oldest", "inverse"])
def test_a_memory_that_misses_an_array_is_refused(tmp_path, small, name):
    Y, stored, _ = small
    rest = {n: array for n, array in stored.arrays.items() if n != f"memory_{name}"}
    assert attempt(tmp_path / "forged.npz", Y, stored.header, rest) is None


#: Changes of an array that cannot be told from what a run may have held.
PLAUSIBLE = {f"{which}_Phi {how}" for which in ("start", "last") for how in ("negative", "turned")}
PLAUSIBLE |= {f"{which}_{factor} 1e+300" for which in ("start", "last") for factor in "WH"}
PLAUSIBLE |= {"basis negative", "basis turned"}
PLAUSIBLE |= {"memory_inverse 1e+300", "memory_S -0.001", "memory_Y -0.001"}


def test_every_array_is_checked(tmp_path, small):
    Y, stored, good = small
    for what, arrays in changed_arrays(stored.arrays):
        found = attempt(tmp_path / "forged.npz", Y, stored.header, arrays)
        if found is not None and not np.array_equal(found.Phi, good.Phi):
            assert what in PLAUSIBLE
            assert np.isfinite(found.objective)
