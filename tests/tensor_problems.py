"""Tensors of PyTorch for the tests, and what to do where it is not installed."""

import numpy as np
import pytest

try:
    import torch
except ImportError:
    torch = None
else:
    torch.set_num_threads(1)  # problems are small, and its threads wait by spinning


def needs_torch():
    """Skip the test without PyTorch."""
    pytest.importorskip("torch")


def tensor(x):
    """The same numbers as a tensor in memory of its own; the test is skipped without PyTorch."""
    needs_torch()
    return torch.tensor(x)


#: What makes an array of each kind that is installed.
KINDS = (np.asarray, tensor) if torch else (np.asarray,)


def host(x):
    """The same numbers as an array of NumPy."""
    return x.numpy() if torch is not None and isinstance(x, torch.Tensor) else x
