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


def test_no_cuda(monkeypatch):
    tensor(0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    raises_everywhere(ValueError, "device is 'cuda', but PyTorch finds no CUDA device", "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    raises_everywhere(ValueError, "'cuda:7', but there are 2 CUDA.*'cuda:0' to 'cuda:1'", "cuda:7")


def test_devices_that_are_none():
    tensor(0)
    raises_everywhere(ValueError, "device is 'abacus', which PyTorch does not know: use", "abacus")
    raises_everywhere(ValueError, "device is 1.5, which PyTorch does not know", 1.5)
    raises_everywhere(ValueError, "device is 'meta', which cannot compute", "meta")


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


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (lambda: tensor(np.ones(5)), "Y has 1 dimensions"),
        (lambda: tensor(np.ones((3, 0))), r"Y has shape \(3, 0\), but at least one"),
        (lambda: tensor(np.where(Y[0, 1] == Y, np.nan, Y)), "Y has 1 NaN or infinite values"),
        (lambda: tensor(Y + 0j), r"Y is complex, as an STFT is.*phinmf\.to_frames"),
        (lambda: tensor(np.zeros((4, 6))), "Y is all zero"),
        (lambda: tensor(np.full((4, 6), 1e300)), r"root mean square 1e\+300.*float64"),
        (lambda: tensor(np.full((4, 6), 1e30, np.float32)), r"root mean square 1e\+30.*float32"),
    ],
)
def test_bad_frames(frames, message):
    with pytest.raises(ValueError, match=message):
        tl_nmf(frames(), 2)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"W": -np.ones((16, 2))}, "W has 32 negative values, the least -1"),
        ({"W": np.ones((16, 3))}, r"W has shape \(16, 3\), but \(16, 2\) is needed"),
        ({"H": np.ones((2, 3))}, r"H has shape \(2, 3\)"),
        ({"H": np.full((2, Y.shape[1]), np.nan)}, "H has .* NaN"),
        ({"init": np.eye(3)}, r"init has shape \(3, 3\)"),
        ({"init": 2 * np.eye(16)}, "init is not orthogonal"),
        ({"sample_weight": np.ones(3)}, r"sample_weight has shape \(3,\)"),
        ({"sample_weight": -np.ones(Y.shape[1])}, "sample_weight has a value of -1"),
        ({"sample_weight": np.zeros(Y.shape[1])}, "every frame has a weight of zero"),
    ],
)
def test_bad_tensors(how, message):
    with pytest.raises(ValueError, match=message):
        tl_nmf(tensor(Y), 2, **{name: tensor(x) for name, x in how.items()})


def test_bad_tensors_for_the_estimator():
    model = TLNMF(2, **HOW).fit(tensor(Y.T))
    with pytest.raises(ValueError, match=r"X has shape \(16,\), but frames of shape"):
        TLNMF(2).fit(tensor(Y[:, 0]))
    with pytest.raises(ValueError, match="X has 5 features, but TLNMF is expecting 16 features"):
        model.transform(tensor(Y.T[:, :5]))
    with pytest.raises(ValueError, match="X has 3 columns, but activations of 2 components"):
        model.inverse_transform(tensor(np.ones((4, 3))))
    with pytest.raises(ValueError, match="X has 1 NaN"):
        model.score(tensor(np.where(Y[0, 1] == Y, np.nan, Y).T))


def test_too_little_memory(monkeypatch):
    given = tensor(np.random.default_rng(0).standard_normal((64, 2**15)))

    def rotate(self, Phi):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate ...")

    monkeypatch.setattr(ArrayEngine, "rotate", rotate)
    monkeypatch.setattr(devices, "free_memory", lambda device: 2**27)
    words = (
        r"cpu has too little memory: . of shape \(\d+, \d+\) needs about 0.17 GiB, and 0.12 GiB are"
        r" free now; learn fewer atoms \(n_atoms\), pass float32 rather than float64, or compute"
        r" on the CPU \(device='cpu'\)"
    )
    for fit in (
        lambda: tl_nmf(given, 2),
        lambda: learn_transform(given, given**2),
        lambda: TLNMF(2).fit(given.T),
    ):
        with pytest.raises(MemoryError, match=words):
            fit()


def test_other_errors_of_pytorch_are_not_said_to_be_of_memory(monkeypatch):
    given = tensor(Y)

    def rotate(self, Phi):
        raise RuntimeError("something else")

    monkeypatch.setattr(ArrayEngine, "rotate", rotate)
    with pytest.raises(RuntimeError, match="something else"):
        tl_nmf(given, 2)


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


def test_a_tensor_may_be_computed_with_elsewhere():
    r = tl_nmf(tensor(Y), 2, device="cpu", **HOW)
    assert isinstance(r.Phi, torch.Tensor)
    assert np.array_equal(r.Phi, tl_nmf(tensor(Y), 2, device=torch.device("cpu"), **HOW).Phi)
