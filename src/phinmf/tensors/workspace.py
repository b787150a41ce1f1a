"""Batches that are kept from one fit to the next, with all that was recorded on their memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import torch

from phinmf.tensors.batch import Batch

KEEP = 2**30  #: bytes of device memory that may be kept
_kept: OrderedDict[Any, Batch] = OrderedDict()
_lock = threading.Lock()


def take(shape: tuple[int, ...], dtype: Any, device: Any, *how: Any) -> Batch:
    """A batch of this shape, all one's own until it is given back; its contents are undefined."""
    key = (shape, dtype, device, *how)
    with _lock:
        batch = _kept.pop(key, None)
    if batch is None:
        batch = Batch(shape, dtype, device, *how)  # type: ignore[arg-type]
        batch.key = key
    return batch


def give(batch: Batch) -> None:
    """Give a batch back; it is kept if it is small and recorded on."""
    if not batch.replay.enabled:
        return
    with _lock:
        _kept[batch.key] = batch
        while sum(kept.nbytes for kept in _kept.values()) > KEEP:
            _kept.popitem(last=False)


def kept() -> list[Batch]:
    """What is kept for the next fit."""
    return list(_kept.values())


def clear() -> None:
    """Give back the memory that is kept for the next fit."""
    with _lock:
        _kept.clear()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
