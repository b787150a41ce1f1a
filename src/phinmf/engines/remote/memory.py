"""How much memory a fit in this process may use."""

from __future__ import annotations

from pathlib import Path

from phinmf.arrays import lazy

UNKNOWN = 2**33  #: bytes that are assumed where the system does not tell
LEAST = 2**26  #: bytes that are always used


def budget() -> float:
    """Return the bytes that ``phinmf.memory`` of dask's configuration allows, or half of the rest.

    Raises
    ------
    ValueError
        If the setting is not a positive amount of memory.
    """
    dask = lazy.dask()
    given = dask.config.get("phinmf.memory", available() // 2)
    try:
        found = dask.utils.parse_bytes(given)
    except (AttributeError, TypeError, ValueError):
        found = 0
    if not found > 0:
        raise ValueError(f"phinmf.memory is {given!r}, but some memory is needed, such as 2GB")
    return float(found)


def available() -> int:
    """Return the bytes of memory that other programs leave, within the limit of a container."""
    found = [UNKNOWN]
    try:
        fields = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
        found = [1024 * int(f[1]) for f in fields if f[0] == "MemAvailable:"] or found
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            found.append(int(limit) - int((group / "memory.current").read_text()))
    except (OSError, ValueError, IndexError):  # another system, or no such limit
        pass
    return max(min(found), LEAST)
