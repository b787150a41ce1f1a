"""Frames in blocks that threads take in turn: the fast engine of the CPU."""
