"""Frames in blocks that threads compute in turn: the fast engine of the CPU."""
