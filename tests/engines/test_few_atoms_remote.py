"""Few atoms in blocks, on disk: the same bits."""

import numpy as np
import pytest
from clusters import needs_dask
from few_atoms import check_few, same_bits, sound

from phinmf import tl_nmf
from phinmf.engines.compiled.stretch import Stretch, frames_in_blocks
from phinmf.engines.compiled.summation import blocks_of

needs_dask()
import dask
import dask.array as da

from phinmf.engines.remote import disk

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("always_coarse")]

HOW = {"n_components": 2, "max_iter": 8, "tol": 0, "random_state": 0}
FRAMES = {
    "one channel": sound(M=40, n=100_000),
    "two": sound(M=40, n=100_000, C=2, dtype="float32"),
}
CASES = [("one channel", 9), ("one channel", 0.99), ("one channel", None), ("two", 9)]


def weights_of(Y):
    return np.arange(Y.shape[2]) % 5


@pytest.fixture(scope="module")
def expected():
    found = {}
    for name, n_atoms in CASES:
        Y = FRAMES[name]
        how = HOW | {"n_atoms": n_atoms, "sample_weight": weights_of(Y)}
        found[name, n_atoms] = tl_nmf(Y, engine="compiled", n_threads=1, **how)
    return found


def lazily(Y, chunk=700):
    return da.from_array(Y, chunks=(-1, -1, chunk))


@pytest.mark.parametrize("case", CASES)
def test_dask_without_a_client(case, expected):
    Y, P = FRAMES[case[0]], expected[case].n_atoms
    r = tl_nmf(lazily(Y), n_atoms=case[1], sample_weight=weights_of(Y), **HOW)
    assert same_bits(r, expected[case])
    if P < 40:
        check_few(r, Y, P, {}, weights_of(Y))


@pytest.mark.parametrize("case", CASES)
def test_on_disk(case, expected, monkeypatch, tmp_path):
    """A tiny memory: shards take turns, and nothing is left in the folder."""
    made = []
    begin = disk.DiskShards.__init__

    def noted(self, *args):
        begin(self, *args)
        made.append((len(self.shards), self.shards[0].shape))

    monkeypatch.setattr(disk.DiskShards, "__init__", noted)
    Y = FRAMES[case[0]]
    settings = {"phinmf.memory": "2MB", "temporary-directory": str(tmp_path)}
    with dask.config.set(settings):
        r = tl_nmf(lazily(Y), n_atoms=case[1], sample_weight=weights_of(Y), **HOW)
    assert max(n for n, _ in made) > 1
    assert {shape[2] for _, shape in made} >= {r.n_atoms}
    assert same_bits(r, expected[case])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("case", CASES)
def test_threads(case, expected, n_threads):
    Y = FRAMES[case[0]]
    how = HOW | {"n_atoms": case[1], "sample_weight": weights_of(Y)}
    assert same_bits(tl_nmf(Y, engine="compiled", n_threads=n_threads, **how), expected[case])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("C", [1, 2])
def test_what_a_stretch_holds(dtype, C, rng):
    """The products with its atoms, block by block, in the precision of the frames."""
    Y = rng.standard_normal((C, 3000, 12)).astype(dtype)
    atoms = rng.standard_normal((5, 12))
    whole = slice(0, len(blocks_of(3000)))

    def stretch(blocks, atoms):
        n = frames_in_blocks(3000, blocks)
        return Stretch(3000, blocks, None, np.ones(n.stop - n.start), True, None, atoms)

    assert stretch(whole, None).held(Y) is Y
    Z = stretch(whole, atoms).held(Y)
    assert Z.dtype == dtype
    assert Z.shape == (C, 3000, 5)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(Z, Y @ atoms.T.astype(dtype), atol=tolerance)
    if whole.stop > 1:
        first = slice(0, 1)
        frames = frames_in_blocks(3000, first)
        assert np.array_equal(stretch(first, atoms).held(Y[:, frames]), Z[:, frames])
