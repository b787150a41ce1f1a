"""What an engine declares that it can do is what it does."""

import numpy as np
import pytest
from clusters import engines_here
from problems import notes
from tensor_problems import host, tensor

from phinmf import tl_nmf
from phinmf.engines import ENGINES, Engine

HOW = {"n_components": 2, "max_iter": 1, "tol": 0, "random_state": 0}
FLAGS = ("tensors", "dask_arrays", "compiled_only")


@pytest.mark.parametrize("name", ENGINES)
def test_the_class_declares_every_flag(name):
    assert issubclass(ENGINES[name], Engine)
    assert all(isinstance(getattr(ENGINES[name], flag), bool) for flag in FLAGS)


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
    monkeypatch.setattr("phinmf.engines.base.is_compiled", lambda divergence: divergence is known)
    assert ENGINES[name].supports(known)
    assert ENGINES[name].supports(unknown) != ENGINES[name].compiled_only
