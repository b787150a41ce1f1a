"""Shards as tensors of PyTorch, on a GPU or another device: resident there, or streaming to it."""
