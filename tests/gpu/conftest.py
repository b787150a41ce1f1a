import pytest


@pytest.fixture(autouse=True, scope="session")
def cuda():
    """These tests are run to be run: without a device they fail."""
    torch = pytest.importorskip("torch")
    assert torch.cuda.is_available(), "no CUDA device: run these tests on a machine that has one"
