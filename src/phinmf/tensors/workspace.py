"""Batches that are kept for the next fit of the same layout, with the work recorded on them."""

from __future__ import annotations

import threading
from collections import OrderedDict

import torch

from phinmf.tensors.batch import Batch
from phinmf.tensors.layout import Layout

KEEP = 2**30  #: maximum bytes of device memory that are kept
_kept: OrderedDict[Layout, Batch] = OrderedDict()
_lock = threading.Lock()


def take(layout: Layout) -> Batch:
    """Return a batch that only the caller uses until `give`; its contents are undefined."""
    with _lock:
        batch = _kept.pop(layout, None)
    return Batch(layout) if batch is None else batch


def give(batch: Batch) -> None:
    """Keep a batch if its work is recorded; beyond `KEEP` bytes, drop the oldest ones."""
    if not batch.replay.enabled:
        return
    with _lock:
        _kept[batch.layout] = batch
        while sum(kept.nbytes for kept in _kept.values()) > KEEP:
            _kept.popitem(last=False)


def kept() -> list[Batch]:
    """Return the batches that are kept."""
    return list(_kept.values())


def clear() -> None:
    """Free the memory of all batches that are kept."""
    with _lock:
        _kept.clear()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
