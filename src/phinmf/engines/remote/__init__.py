"""Frames on the workers of a Dask cluster, or on disk."""
