"""Checkpoints that somebody has changed: refused in a sentence, or without effect."""

import numpy as np
import pytest
from forging import assert_one_sentence, changed_arrays, changed_headers, write
from problems import notes

from phinmf import Anneal, Checkpoint, Method, storage, tl_nmf
from phinmf.divergences import ItakuraSaito

Y = notes(M=8, n=1500)
HOW = {"n_components": 2, "max_iter": 22, "tol": 0, "random_state": 5}
HOW |= {
    "method": Method(anneal=Anneal(length=30, all_frames=1e-5))
}  # a sample of the frames at the checkpoint


class Stop(Exception):
    pass


def stop(state):
    if state.iteration == 11:
        raise Stop


def checkpoint_of(path, **how):
    with pytest.raises(Stop):
        tl_nmf(Y, checkpoint=Checkpoint(path, every=0), callback=stop, **HOW | how)
    return storage.read(path, "checkpoint")


@pytest.fixture(scope="module", params=["lbfgs", "jacobi", "projected-gradient", None])
def kept(request, tmp_path_factory):
    """A checkpoint, what it was made with, and where it leads."""
    how = HOW | {"solver": request.param}
    stored = checkpoint_of(tmp_path_factory.mktemp("kept") / "run", **how)
    assert "sample_frames" in stored.arrays
    good = attempt(tmp_path_factory.mktemp("good") / "run.npz", stored.header, stored.arrays, how)
    return stored, how, good


def attempt(path, header, arrays, how):
    """None if a file is refused in a sentence, else the result."""
    write(path, header, arrays)
    try:
        return tl_nmf(Y, checkpoint=Checkpoint(path, resume=True), **how | {"max_iter": 13})
    except ValueError as error:
        assert_one_sentence(error, path)
        return None


def same(one, other):
    return all(np.array_equal(getattr(one, a), getattr(other, a)) for a in ("Phi", "W", "H"))


#: Changes of an array that cannot be told from what a run may have held.
PLAUSIBLE = {f"{which}_Phi {how}" for which in ("start", "last") for how in ("negative", "turned")}
PLAUSIBLE |= {"basis negative", "basis turned"}
PLAUSIBLE |= {f"{which}_{factor} 1e+300" for which in ("start", "last") for factor in "WH"}
PLAUSIBLE |= {"memory_value missing", "memory_value inf", "memory_value 1e+300"}
PLAUSIBLE |= {f"memory_value {how}" for how in (2**62, 10**6, "int8")}
PLAUSIBLE |= {"memory_value half"}
#: Of the memory of L-BFGS shapes, types and finiteness are checked: no step raises the loss.
MEMORY = ("memory_age", "memory_curvature", "memory_s", "memory_y", "memory_rho")


@pytest.mark.full
def test_every_array_is_checked(kept, tmp_path):
    stored, how, good = kept
    for what, arrays in changed_arrays(stored.arrays):
        found = attempt(tmp_path / "forged.npz", stored.header, arrays, how)
        if found is not None and not same(found, good):
            assert what in PLAUSIBLE or what.startswith(MEMORY)
            assert np.isfinite(found.objective)


@pytest.mark.full
@pytest.mark.parametrize("kept", ["lbfgs"], indirect=True)  # the header knows no solver
def test_every_field_of_the_header_is_checked(kept, tmp_path):
    stored, how, good = kept
    old = stored.header
    fields = [(name,) for name in old] + [("problem", name) for name in old["problem"]]
    fields += [("history", "start"), ("history", "rows"), ("history", "rows", 0)]
    fields += [("history", "rows", -1, i) for i in range(len(old["history"]["rows"][0]))]
    for what, header in changed_headers(old, fields):
        found = attempt(tmp_path / "forged.npz", header, stored.arrays, how)
        if found is not None and not same(found, good):
            plausible = {f"('history', 'start') {number}" for number in (-1, 0, 3.5)}
            assert what in plausible | {"('history', 'rows', 0) 'missing'"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"random_state": 6}, "its random_state is 5, here it is 6"),
        ({"random_state": None}, "its random_state is 5, here it is None"),
        ({"random_state": np.random.default_rng(5)}, "its random_state is 5, here .* 'Generator "),
        ({"init": "random"}, "its init is 'dct', here it is 'random'"),
        ({"init": np.eye(8)}, "its init is 'dct', here it is an array"),
        ({"W": np.ones((8, 2))}, "its W is None, here it is an array"),
        ({"H": np.ones((2, Y.shape[1]))}, "its H is None, here it is an array"),
        ({"divergence": "gaussian"}, "its divergence is 'itakura-saito', here it is 'gaussian'"),
    ],
)
def test_what_decides_the_start_must_agree(tmp_path, change, message):
    path = tmp_path / "run"
    checkpoint_of(path)
    with pytest.raises(ValueError, match=message):
        tl_nmf(Y, checkpoint=Checkpoint(path, resume=True), **HOW | change)


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
    path = tmp_path / "run"
    before = checkpoint_of(path, random_state=state())
    after = tl_nmf(Y, checkpoint=Checkpoint(path, resume=True), **HOW | {"random_state": state()})
    assert len(after.history) == HOW["max_iter"]
    rows = before.header["history"]["rows"]
    assert [row[0] for row in rows] == after.history.objective[: len(rows)].tolist()


def test_a_divergence_given_as_an_object_is_known_again(tmp_path):
    path = tmp_path / "run"
    checkpoint_of(path)
    tl_nmf(Y, checkpoint=Checkpoint(path, resume=True), **HOW | {"divergence": ItakuraSaito()})


def test_a_start_that_costs_something_else_is_refused(kept, tmp_path):
    stored, how, _ = kept
    louder = {"start_H": 100 * stored.arrays["start_H"]}
    assert attempt(tmp_path / "H.npz", stored.header, stored.arrays | louder, how) is None
    history = stored.header["history"] | {"start": 1e9}
    changed = stored.header | {"history": history}
    assert attempt(tmp_path / "start.npz", changed, stored.arrays, how) is None
