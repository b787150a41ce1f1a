"""Checkpoints that somebody has changed: refused in a sentence, or without effect."""

import copy
import json

import numpy as np
import pytest
from problems import notes

from phinmf import Anneal, storage, tl_nmf
from phinmf.divergences import itakura_saito

Y = notes(M=8, n=1500)
HOW = {"n_components": 2, "max_iter": 22, "tol": 0, "random_state": 5}
HOW |= {"anneal": Anneal(length=30, all_frames=1e-5)}  # a sample of the frames at the checkpoint


class Stop(Exception):
    pass


def stop(state):
    if state.iteration == 11:
        raise Stop


def checkpoint_of(path, **how):
    with pytest.raises(Stop):
        tl_nmf(Y, checkpoint=path, checkpoint_every=0, callback=stop, **HOW | how)
    return storage.read(path, "checkpoint")


@pytest.fixture(scope="module", params=["lbfgs", "jacobi", "projected-gradient", None])
def kept(request, tmp_path_factory):
    """A checkpoint, what it was made with, and where it leads."""
    how = HOW | {"solver": request.param}
    stored = checkpoint_of(tmp_path_factory.mktemp("kept") / "run", **how)
    assert "sample_frames" in stored.arrays
    good = attempt(tmp_path_factory.mktemp("good") / "run.npz", stored.header, stored.arrays, how)
    return stored, how, good


def arrays_of(stored):
    """Every array changed in every way, one at a time."""
    for name, a in stored.arrays.items():
        yield f"{name} missing", {k: v for k, v in stored.arrays.items() if k != name}
        changed = {
            "shorter": a[:-1] if a.ndim else a[None],
            "longer": np.concatenate([a, a]) if a.ndim else np.stack([a, a]),
            "empty": np.zeros(0, a.dtype),
            "narrower": a[..., :-1] if a.ndim else np.zeros((0,), a.dtype),
            "another axis": a[None],
            "turned": a.T[..., ::-1] if a.ndim == 2 else a[..., None],
            "text": np.full(a.shape, "x"),
            "bool": np.ones(a.shape, bool),
            "half": np.ones(a.shape, np.float16),
            "swapped bytes": a.astype(a.dtype.newbyteorder()),
            "unsigned": np.ones(a.shape, np.uint64),
            "int8": np.ones(a.shape, np.int8),
        }
        if a.dtype.kind == "f":
            for value in (np.nan, np.inf, -np.inf, -1e-3, 1e300):
                changed[str(value)] = spoiled(a, value)
            changed["negative"] = -a
        else:
            for value in (-1, 2**62, -(2**62), 10**6):
                changed[str(value)] = spoiled(a, value)
            changed["backwards"] = a[::-1] if a.ndim else a - 10**9
            changed["equal"] = np.zeros_like(a) if a.ndim else -a - 1
        for how, array in changed.items():
            yield f"{name} {how}", stored.arrays | {name: np.array(array)}
    yield "nothing", {}
    for name in ("last_X", "memory_x", "start_", "memory_s9", "sample_more"):
        yield f"{name} too much", stored.arrays | {name: np.zeros(3)}


def spoiled(a, value):
    b = a.copy()
    with np.errstate(over="ignore"):
        b[(-1,) * b.ndim] = value
    return b


JUNK = [None, True, -1, 0, 3.5, 1e400, 10**400, "x", "", [], [[]], {}, {"a": 1}, [None] * 11]


def headers_of(header):
    """Every field of the header replaced by junk, one at a time."""
    fields = [(name,) for name in header] + [("problem", name) for name in header["problem"]]
    fields += [("history", "start"), ("history", "rows"), ("history", "rows", 0)]
    fields += [("history", "rows", -1, i) for i in range(len(header["history"]["rows"][0]))]
    for place in fields:
        for junk in (*JUNK, "missing"):
            changed = copy.deepcopy(header)
            inside = changed
            for step in place[:-1]:
                inside = inside[step]
            if junk == "missing":
                del inside[place[-1]]
            else:
                inside[place[-1]] = junk
            yield f"{place} {junk!r:.20}", changed


def attempt(path, header, arrays, how):
    """None if a file is refused in a sentence, else the result."""
    np.savez(path, header=np.array(json.dumps(header)), **arrays)
    try:
        return tl_nmf(Y, resume=path, **how | {"max_iter": 13})
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert str(path) in str(error)  # noqa: PT017
        assert len(str(error)) < 400  # noqa: PT017
        return None


def same(one, other):
    return all(np.array_equal(getattr(one, a), getattr(other, a)) for a in ("Phi", "W", "H"))


#: Changes of an array that cannot be told from what a run may have held.
PLAUSIBLE = {f"{which}_Phi {how}" for which in ("start", "last") for how in ("negative", "turned")}
PLAUSIBLE |= {f"{which}_{factor} 1e+300" for which in ("start", "last") for factor in "WH"}
PLAUSIBLE |= {"memory_value missing", "memory_value inf", "memory_value 1e+300"}
PLAUSIBLE |= {f"memory_{name} {how}" for name in ("value", "age") for how in (2**62, 10**6, "int8")}
PLAUSIBLE |= {"memory_curvature 1e+300", "memory_value half"}
PLAUSIBLE |= {f"memory_{part}{i} -0.001" for part in "sy" for i in range(5)}


def test_every_array_is_checked(kept, tmp_path):
    stored, how, good = kept
    for what, arrays in arrays_of(stored):
        found = attempt(tmp_path / "forged.npz", stored.header, arrays, how)
        if found is not None and not same(found, good):
            assert what in PLAUSIBLE
            assert np.isfinite(found.objective)


@pytest.mark.parametrize("kept", ["lbfgs"], indirect=True)  # the header knows no solver
def test_every_field_of_the_header_is_checked(kept, tmp_path):
    stored, how, good = kept
    for what, header in headers_of(stored.header):
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
        ({"init": np.eye(8)}, "its init is 'dct', here it is 'array "),
        ({"W": np.ones((8, 2))}, "its W is None, here it is 'array "),
        ({"H": np.ones((2, Y.shape[1]))}, "its H is None, here it is 'array "),
        ({"divergence": "gaussian"}, "its divergence is 'itakura-saito', here it is 'gaussian'"),
    ],
)
def test_what_decides_the_start_must_agree(tmp_path, change, message):
    path = tmp_path / "run"
    checkpoint_of(path)
    with pytest.raises(ValueError, match=message):
        tl_nmf(Y, resume=path, **HOW | change)


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
    after = tl_nmf(Y, resume=path, **HOW | {"random_state": state()})
    assert len(after.history) == HOW["max_iter"]
    rows = before.header["history"]["rows"]
    assert [row[0] for row in rows] == after.history.objective[: len(rows)].tolist()


def test_a_divergence_given_as_an_object_is_known_again(tmp_path):
    path = tmp_path / "run"
    checkpoint_of(path)
    tl_nmf(Y, resume=path, **HOW | {"divergence": itakura_saito})
