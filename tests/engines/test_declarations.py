"""What an engine declares that it can do is what it does."""

import numpy as np
import pytest
from clusters import engines_here, needs_dask
from problems import notes
from tensor_problems import host, tensor

from phinmf import tl_nmf
from phinmf.engines import ENGINES, Engine
from phinmf.solvers import SOLVERS

HOW = {"n_components": 2, "max_iter": 1, "tol": 0, "random_state": 0}
FLAGS = ("tensors", "dask_arrays", "compiled_only", "pair_losses")


@pytest.mark.parametrize("name", ENGINES)
def test_the_class_declares_every_flag(name):
    assert issubclass(ENGINES[name], Engine)
    assert all(isinstance(getattr(ENGINES[name], flag), bool) for flag in FLAGS)


@pytest.mark.full
@pytest.mark.parametrize("name", engines_here())
def test_dask_arrays(name):
    needs_dask()
    import dask
    import dask.array as da

    Y = notes()
    with dask.config.set(scheduler="sync"):
        if ENGINES[name].dask_arrays:
            expected = tl_nmf(Y, engine=name, **HOW)
            found = tl_nmf(da.from_array(Y, chunks=(-1, 20)), engine=name, **HOW)
            assert np.array_equal(found.Phi, expected.Phi)
        else:
            with pytest.raises(ValueError, match=f"{name!r}, which does not hold dask arrays"):
                tl_nmf(da.from_array(Y), engine=name, **HOW)


@pytest.mark.full
@pytest.mark.parametrize("name", engines_here())
def test_tensors(name):
    Y = tensor(notes())
    if ENGINES[name].tensors:
        assert np.isfinite(host(tl_nmf(Y, engine=name, **HOW).Phi)).all()
    else:
        with pytest.raises(ValueError, match=f"{name!r}, which computes with NumPy"):
            tl_nmf(Y, engine=name, **HOW)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_of_compiled_kernels_supports_compiled_divergences_only(name, monkeypatch):
    known, unknown = object(), object()
    monkeypatch.setattr("phinmf.engines.base.compiled_family", lambda d: 0 if d is known else None)
    assert ENGINES[name].supports(known)
    assert ENGINES[name].supports(unknown) != ENGINES[name].compiled_only


@pytest.mark.parametrize("name", [n for n, kind in SOLVERS.items() if kind.needs_pair_losses])
def test_a_solver_that_needs_losses_of_pairs_gets_an_engine_that_has_them(name):
    Y, how = notes(), HOW | {"solver": name}
    assert np.array_equal(tl_nmf(Y, **how).Phi, tl_nmf(Y, engine="array", **how).Phi)
    for engine in [n for n, kind in engines_here().items() if not kind.pair_losses]:
        with pytest.raises(ValueError, match="use engine='array'"):
            tl_nmf(Y, engine=engine, **how)
