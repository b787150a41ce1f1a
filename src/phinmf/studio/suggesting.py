"""Which components a listener might want to put together."""

from __future__ import annotations

from phinmf._types import Array


def suggestions(S: Array) -> list[list[int]]:
    """Return components that come and go together, from their similarity (K, K)."""
    return []
