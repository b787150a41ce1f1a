"""Shards that compute with tensors."""

import numpy as np
from tensor_problems import needs_torch

from phinmf.arrays.threads import Workers
from phinmf.divergences import ItakuraSaito
from phinmf.engines.compiled.shard import Shard
from phinmf.engines.tensor_shard import TensorShard


def test_the_number_of_threads_of_pytorch_changes_no_bits_and_is_restored():
    """It differs between workers: one that takes over frames has to continue with the same bits."""
    needs_torch()
    import torch

    M, N, K = 40, 6000, 3
    rng = np.random.default_rng(0)
    H, W, Y = rng.random((N, K)), rng.random((M, K)), rng.standard_normal((2, N, M))
    shard = TensorShard("cpu:0", Shard(np.arange(N) % 3.0, ItakuraSaito(), Workers(1)))
    before = torch.get_num_threads()
    results = []
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            with shard.computing():
                X = shard.placed(Y)
                results.append(shard.converged_activations(X, H, W, 0.0, 1e-2, 1e-6, 20))
            assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*results)
