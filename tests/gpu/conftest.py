import pytest


@pytest.fixture(autouse=True, scope="session")
def cuda():
    """Fail without a GPU: these tests are not run by default."""
    torch = pytest.importorskip("torch")
    assert torch.cuda.is_available(), "no CUDA device: run these tests on a machine that has one"
