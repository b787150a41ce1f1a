"""Algorithm 1 for a batch of restarts on tensors of PyTorch; fast on a GPU."""
