"""What `device` means, and one sentence for each thing that can be wrong with it."""

import importlib

import numpy as np
import pytest
from problems import notes
from tensor_problems import tensor, torch

from phinmf import TLNMF, Method, learn_transform, tl_nmf
from phinmf.engines.array import ArrayEngine
from phinmf.fit import devices

pytestmark = pytest.mark.full

Y = notes(M=16, n=800)
HOW = {"max_iter": 3, "tol": 0, "random_state": 0}


def of_two(device, **how):
    """A fit of each door."""
    return [
        lambda: tl_nmf(Y, 2, device=device, **how),
        lambda: learn_transform(Y, Y**2 + 1, device=device, **how),
        lambda: TLNMF(2, device=device, **how).fit(Y.T),
    ]


def raises_everywhere(kind, match, device):
    for fit in of_two(device, **HOW):
        with pytest.raises(kind, match=match) as caught:
            fit()
        assert "\n" not in str(caught.value)


def test_no_pytorch(monkeypatch):
    found = importlib.import_module

    def without_pytorch(name, *package):
        if name.startswith("torch"):
            raise ImportError(name)
        return found(name, *package)

    monkeypatch.setattr(importlib, "import_module", without_pytorch)
    raises_everywhere(ImportError, r'device is \'cuda\'.*pip install "phinmf\[gpu\]"', "cuda")
    for fit in of_two("cpu", **HOW):  # where arrays are: nothing is needed
        fit()


@pytest.mark.parametrize("device", ["cuda:99", "abacus", 1.5, "meta"])
def test_devices_that_cannot_compute(device):
    tensor(0)
    raises_everywhere(ValueError, f"device is {device!r}, where PyTorch cannot compute", device)


def test_tensors_on_different_devices():
    away = {"device": "meta"}
    here, W = tensor(Y), np.ones((16, 2))
    with pytest.raises(ValueError, match=r"W is on meta but Y is on cpu.*W\.to\('cpu'\)"):
        tl_nmf(here, 2, W=tensor(W).to(**away))
    with pytest.raises(ValueError, match="sample_weight is on meta but Y is on cpu"):
        tl_nmf(Y, 2, sample_weight=tensor(Y[0]).to(**away))
    with pytest.raises(ValueError, match="V_hat is on meta but Y is on cpu"):
        learn_transform(here, (here**2).to(**away))
    with pytest.raises(ValueError, match="components is on meta but X is on cpu"):
        TLNMF(2, components=tensor(W.T).to(**away)).fit(here.T)
    with pytest.raises(ValueError, match="Y is on the device 'meta', but numbers are needed"):
        tl_nmf(here.to(**away), 2)
    with pytest.raises(ValueError, match="Y is sparse, but numbers are needed"):
        tl_nmf(here.to_sparse(), 2)


def test_an_engine_that_knows_no_tensors():
    for fit in (
        lambda: tl_nmf(tensor(Y), 2, engine="compiled"),
        lambda: learn_transform(tensor(Y), Y**2, engine="compiled"),
        lambda: TLNMF(2, engine="compiled").fit(tensor(Y.T)),
        lambda: tl_nmf(tensor(Y), 2, engine="dask"),
    ):
        with pytest.raises(ValueError, match="engine is '.*', which computes with NumPy"):
            fit()


def test_too_little_memory(monkeypatch):
    frames = tensor(np.random.default_rng(0).standard_normal((64, 2**15)))

    def rotate(self, Phi):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate ...")

    monkeypatch.setattr(ArrayEngine, "rotate", rotate)
    words = (
        r"cpu has too little memory for . of shape \(\d+, \d+\): learn fewer atoms \(n_atoms\),"
        r" pass float32 rather than float64, or compute on the CPU \(device='cpu'\)"
    )
    for fit in (
        lambda: tl_nmf(frames, 2),
        lambda: learn_transform(frames, frames**2),
        lambda: TLNMF(2).fit(frames.T),
    ):
        with pytest.raises(MemoryError, match=words):
            fit()


@pytest.fixture
def another_device(monkeypatch):
    """A device that is called "cuda" and is the processor; what is on it is counted."""
    tensor(0)
    asked = []

    def found(device):
        asked.append(device)
        return torch.device("cpu")

    monkeypatch.setattr(devices, "torch_device", found)
    return asked


def test_arrays_are_computed_there_and_come_back(another_device):
    seen = []
    how = {**HOW, "method": Method(anneal=False), "floor": 1e-2}
    r = tl_nmf(Y, 2, device="cuda", callback=lambda at: seen.append((at.Phi, at.W)), **how)
    assert another_device == ["cuda"]
    on_tensors = tl_nmf(tensor(Y), 2, **how)
    for x, y in ((r.Phi, on_tensors.Phi), (r.W, on_tensors.W), (r.H, on_tensors.H)):
        assert isinstance(x, np.ndarray)
        assert np.array_equal(x, y)
    assert all(isinstance(x, np.ndarray) for pair in seen for x in pair)
    alone = learn_transform(Y, Y**2 + 1, device="cuda", **how)
    assert isinstance(alone.Phi, np.ndarray)
    assert alone.objective == learn_transform(tensor(Y), Y**2 + 1, **how).objective


def test_the_estimator_computes_there_and_comes_back(another_device):
    seen = []
    how = {**HOW, "method": Method(anneal=False), "floor": 1e-2}
    model = TLNMF(2, device="cuda", n_init=2, callback=lambda at: seen.append(at.Phi), **how)
    found = model.fit_transform(Y.T)
    here = TLNMF(2, n_init=2, **how).fit(tensor(Y.T))
    learned = (found, model.components_, model.transform_matrix_, model.atom_energies_)
    assert all(isinstance(x, np.ndarray) for x in (*learned, *seen, model.transform(Y.T)))
    assert len(seen) == 6
    assert model.objective_ == here.objective_
    assert np.array_equal(model.components_, here.components_)
    assert np.array_equal(model.transform(Y.T), found)
    assert model.score(Y.T) == here.score(tensor(Y.T))
    assert another_device


def test_arrays_that_pytorch_does_not_take_as_they_are(another_device):
    backwards, fixed, strange = Y[::-1, ::-1], Y.copy(), Y.astype(">f8")
    fixed.flags.writeable = False
    for given in (backwards, fixed, strange, np.asfortranarray(Y), Y.tolist()):
        r = tl_nmf(given, 2, device="cuda", **HOW)
        plain = tl_nmf(tensor(np.array(given, float)), 2, **HOW)
        assert np.array_equal(r.Phi, plain.Phi)
