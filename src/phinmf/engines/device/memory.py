"""How much memory of a device frames may use."""

from __future__ import annotations

import importlib
import os
import re

from phinmf._types import Device

VARIABLE = "PHINMF_GPU_MEMORY"  #: of the environment: the limit, such as 20GB
SHARE = 0.8  #: of the memory that is free, if there is no limit
UNITS = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4}


def limit(device: Device, users: int = 1) -> float:
    """Return the bytes that frames of this process may use on a device of PyTorch.

    They are what the environment variable allows, or a share of what is free, divided by the
    number of processes that use the device; infinity where PyTorch cannot say it.

    Raises
    ------
    ValueError
        If the variable is not a positive amount of memory.
    """
    given = os.environ.get(VARIABLE)
    if given is not None:
        return parsed(given) / users
    free = free_memory(device)
    return float("inf") if free is None else SHARE * free / users


def parsed(text: str) -> float:
    """Return the bytes that a text such as 20GB or 500MiB stands for."""
    found = re.fullmatch(r"\s*(\d+\.?\d*)\s*([kMGT]?)(i?)B?\s*", text)
    size = 0.0
    if found is not None:
        number, unit, binary = found.groups()
        size = float(number) * (1024 if binary else 1000) ** UNITS[unit]
    if not size > 0:
        raise ValueError(f"{VARIABLE} is {text!r}, but some memory is needed, such as 20GB")
    return size


def free_memory(device: Device) -> int | None:
    """Bytes that are free on a device, where PyTorch can say it."""
    if device is None:
        return None
    torch = importlib.import_module("torch")
    device = torch.device(device)
    if device.type != "cuda":
        return None
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + unused)
