import pytest


@pytest.fixture(autouse=True, scope="session")
def cuda():
    """Fail without a device: these tests run only when they are asked for."""
    torch = pytest.importorskip("torch")
    assert torch.cuda.is_available(), "no CUDA device: run these tests on a machine that has one"
