"""Names, objects and arrays that say where Φ starts."""

import numpy as np
import pytest
from problems import notes
from tensor_problems import KINDS, host

from phinmf import TLNMF, tl_nmf
from phinmf.inits import (
    DCT,
    KLT,
    ArrayInit,
    Frames,
    JointDiagonalisation,
    RandomOrthogonal,
    init_of,
)
from phinmf.linalg.manifold import dct, random_orthogonal

FRAMES = Frames(np.ones((1, 8, 3)))


def test_names_objects_and_arrays(rng):
    inits = [DCT(), RandomOrthogonal(), KLT(), JointDiagonalisation()]
    assert [init_of(name) for name in ("dct", "random", "klt", "jd")] == inits
    assert init_of(KLT()) == KLT()
    assert repr(KLT()) == "KLT()"
    Phi = random_orthogonal(8, rng)
    for given in (Phi.tolist(), *(give(Phi) for give in KINDS)):
        found = init_of(given).start(FRAMES, rng, np.float32)
        assert np.array_equal(host(found), Phi.astype(np.float32))
    given = ArrayInit(Phi).start(FRAMES, rng, np.float64)
    given[0] = 0
    assert Phi[0].any()


def test_dct_and_random_are_as_ever(rng):
    assert np.array_equal(DCT().start(FRAMES, rng, np.float32), dct(8, np.float32))
    drawn = RandomOrthogonal().start(FRAMES, np.random.default_rng(4), np.float64)
    assert np.array_equal(drawn, random_orthogonal(8, np.random.default_rng(4)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "init is None, which is not known: choose one of 'dct', 'random', 'klt', 'jd'"),
        (
            "fourier",
            "init is 'fourier', which is not known: choose one of 'dct', 'random', 'klt', 'jd'",
        ),
        (np.eye(3), r"init has shape \(3, 3\), but a transform of frames of length 8 has shape"),
        (np.ones((3, 8)), r"init has shape \(3, 8\), but .* length M has shape \(M, M\)"),
        (np.ones(8), r"init has shape \(8,\), but .* length M has shape \(M, M\)"),
        (2 * np.eye(8), r"init is not orthogonal: \|ΦΦᵀ - I\| reaches 3, but at most 1e-4"),
        (np.full((8, 8), np.nan), "init has 64 NaN"),
    ],
)
def test_what_cannot_be_a_start_is_refused(given, message, rng):
    with pytest.raises(ValueError, match=message):
        init_of(given).start(FRAMES, rng, np.float64)
    with pytest.raises(ValueError, match=message):
        tl_nmf(notes(8, 400), 2, init=given)


def test_a_checkpoint_knows_an_init_again(tmp_path):
    Y, path = notes(8, 400), tmp_path / "run"
    how = {"n_components": 2, "tol": 0, "random_state": 0, "checkpoint_every": 0}
    for init in ("klt", KLT()):
        first = tl_nmf(Y, init=init, max_iter=10, checkpoint=path, **how)
        again = tl_nmf(Y, init=init, max_iter=10, resume=path, **how)
        assert np.array_equal(first.Phi, again.Phi)
    with pytest.raises(ValueError, match="its init is 'klt', here it is 'dct'"):
        tl_nmf(Y, init="dct", max_iter=10, resume=path, **how)


def test_a_model_file_keeps_the_name(tmp_path):
    model = TLNMF(2, init="klt", max_iter=2, tol=0, random_state=0).fit(notes(8, 400).T)
    model.save(tmp_path / "m.npz")
    assert TLNMF.load(tmp_path / "m.npz").init == "klt"
