"""What `device` means, and one sentence for each thing that can be wrong with it."""

import sys

import numpy as np
import pytest
from clusters import same
from problems import notes
from tensor_problems import tensor, torch

from phinmf import TLNMF, Method, learn_transform, tl_nmf
from phinmf.engines.array import ArrayEngine
from phinmf.fit import devices

pytestmark = pytest.mark.full

Y = notes(M=16, n=800)
HOW = {"max_iter": 3, "tol": 0, "random_state": 0}
#: The same fit of each public function.
FITS = {
    "tl_nmf": lambda Y, **how: tl_nmf(Y, 2, **HOW | how),
    "learn_transform": lambda Y, **how: learn_transform(Y, Y**2 + 1, **HOW | how),
    "TLNMF": lambda Y, **how: TLNMF(2, **HOW | how).fit(Y.T),
}
EVERYWHERE = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)


@EVERYWHERE
def test_no_pytorch(monkeypatch, fit):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'device is \'cuda\'.*pip install "phinmf\[gpu\]"$'):
        fit(Y, device="cuda")
    fit(Y, device="cpu")  # where arrays are: nothing is needed


@EVERYWHERE
def test_devices_and_engines_that_cannot_compute(fit):
    tensor(0)
    for device in ("cuda:99", "abacus", 1.5, "meta"):
        with pytest.raises(ValueError, match=f"device is {device!r}, where PyTorch cannot "):
            fit(Y, device=device)
    for engine in ("compiled", "dask"):
        with pytest.raises(ValueError, match="engine is '.*', which computes with NumPy"):
            fit(tensor(Y), engine=engine)


@EVERYWHERE
def test_too_little_memory(monkeypatch, fit):
    def rotate(self, Phi):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate ...")

    monkeypatch.setattr(ArrayEngine, "rotate", rotate)
    with pytest.raises(MemoryError, match=r"cpu has too little memory.*n_atoms.*float32.*device"):
        fit(tensor(Y))


def away(x):
    """The same numbers where nothing can be computed."""
    return tensor(x).to(device="meta")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda Y: tl_nmf(Y, 2, W=away(np.ones((16, 2)))), r"W is on meta but Y .*W\.to\('cpu'"),
        (lambda Y: tl_nmf(Y, 2, sample_weight=away(np.ones(101))), "sample_weight is on meta"),
        (lambda Y: learn_transform(Y, away(np.ones((16, 101)))), "V_hat is on meta but Y is on"),
        (lambda Y: TLNMF(2, components=away(np.ones((2, 16)))).fit(Y.T), "components is on meta"),
        (lambda Y: tl_nmf(Y.to(device="meta"), 2), "Y is on the device 'meta', but numbers"),
        (lambda Y: tl_nmf(Y.to_sparse(), 2), "Y is sparse, but numbers are needed"),
    ],
)
def test_tensors_elsewhere(call, message):
    with pytest.raises(ValueError, match=message):
        call(tensor(Y))


@pytest.fixture
def another_device(monkeypatch):
    """A device that is called "cuda" and is the processor; what is on it is counted."""
    tensor(0)
    names = []
    monkeypatch.setattr(
        devices, "torch_device", lambda name: names.append(name) or torch.device("cpu")
    )
    return names


ONCE = HOW | {"method": Method(anneal=False), "floor": 1e-2}


def numpy_only(*arrays):
    return all(isinstance(x, np.ndarray) for x in arrays)


def test_arrays_are_computed_there_and_come_back(another_device):
    states = []
    r = tl_nmf(Y, 2, device="cuda", callback=states.append, **ONCE)
    assert another_device == ["cuda"]
    same(r, tl_nmf(tensor(Y), 2, **ONCE))
    assert numpy_only(r.Phi, r.W, r.H, *(s.Phi for s in states), *(s.W for s in states))
    model = TLNMF(2, device="cuda", n_init=2, **ONCE)
    H = model.fit_transform(Y.T)
    assert numpy_only(H, model.components_, model.transform_matrix_, model.atom_energies_)
    assert np.array_equal(model.transform(Y.T), H)
    assert model.objective_ == TLNMF(2, n_init=2, **ONCE).fit(tensor(Y.T)).objective_
    alone = learn_transform(Y, Y**2 + 1, device="cuda", **ONCE)
    assert numpy_only(alone.Phi)
    assert alone.objective == learn_transform(tensor(Y), Y**2 + 1, **ONCE).objective


def test_arrays_that_pytorch_does_not_take_as_they_are(another_device):
    backwards, fixed, strange = Y[::-1, ::-1], Y.copy(), Y.astype(">f8")
    fixed.flags.writeable = False
    for given in (backwards, fixed, strange, np.asfortranarray(Y), Y.tolist()):
        r = tl_nmf(given, 2, device="cuda", **HOW)
        plain = tl_nmf(tensor(np.array(given, float)), 2, **HOW)
        assert np.array_equal(r.Phi, plain.Phi)
