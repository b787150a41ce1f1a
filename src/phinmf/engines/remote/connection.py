"""Connecting to a Dask cluster, whose workers must have the same version of phinmf."""

from __future__ import annotations

import pydoc
import threading
from typing import Any

import phinmf
from phinmf.arrays import lazy
from phinmf.arrays.cluster_watch import Watch

CONNECT = 10.0  #: maximum number of seconds to wait for a scheduler


def connect(address: str) -> Any:
    """Return a client of the cluster whose scheduler has this address.

    It is made in another thread, because its timeout has no effect if a program listens at the
    address but never answers.
    """
    make = lazy.distributed().Client
    made: list[Any] = []

    def attempt() -> None:
        try:
            made.append(make(address, timeout=CONNECT))
        except Exception as error:
            made.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(1.2 * CONNECT)
    if not made or isinstance(made[0], (TimeoutError, OSError, ValueError)):
        raise ConnectionError(
            f"no Dask scheduler answers at {address} within {CONNECT:g} s: start one with dask"
            " scheduler, and pass the address that it prints, such as tcp://10.0.0.1:8786"
        ) from (made[0] if made else None)
    if isinstance(made[0], Exception):
        raise made[0]
    return made[0]


def check_workers(watch: Watch) -> None:
    """Raise ImportError if a worker does not have the same version of phinmf."""
    for address, there in watch.ask(pydoc.locate, "phinmf.__version__").items():
        if there != phinmf.__version__:
            what = f"phinmf {there}" if isinstance(there, str) else "no phinmf"
            raise ImportError(
                f"worker {address} has {what}, but phinmf {phinmf.__version__} is needed, the"
                f' version here: run pip install "phinmf[dask]=={phinmf.__version__}" there'
            )
