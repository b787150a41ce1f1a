"""How functions are compiled by Numba.

A kernel is made for one family of divergences by a function `…_for(family)`: the kernel refers to
the number of the family, which Numba takes as a constant, so that the loops over entries do not
branch. Only the families that are used are compiled. (A kernel must not refer to another function
that was made in this way: Numba would not find its compiled code on disk again.)
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, cast

import numpy as np
from numba import njit
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from phinmf.arrays.threads import locks, no_fork

Scalar: TypeAlias = float | np.floating[Any]  #: a number in the precision of the frames, or double
Kernel: TypeAlias = Callable[..., None]  #: writes to some of its arguments
F = TypeVar("F", bound=Callable[..., object])

log = logging.getLogger("phinmf")
with no_fork:
    locks.append(global_compiler_lock)


class Announcement(event.Listener):
    """Says once in a process why the first fit is slow; what comes from the disk is no event.

    A logged warning is seen by default, and a program can silence it without changing a fit.
    """

    silent = False

    def on_start(self, compilation: event.Event) -> None:
        """Log, before a function of this package is compiled."""
        name = compilation.data["dispatcher"].py_func.__module__ or ""
        if not self.silent and name.startswith("phinmf."):
            self.silent = True
            log.warning(
                "phinmf compiles its functions for this machine: the first fit of a kind takes"
                " some seconds longer"
            )

    def on_end(self, compilation: event.Event) -> None:
        """Say nothing."""


announcement = Announcement()
event.register("numba:compile", announcement)  # type: ignore[no-untyped-call]


def compiled(
    function: F, fastmath: bool | set[str] = False, inline: Literal["never", "always"] = "never"
) -> F:
    """Compile a function, and cache the result on disk if there is a folder for it."""
    options = partial(njit, nogil=True, error_model="numpy", fastmath=fastmath, inline=inline)
    try:
        return cast("F", options(cache=True)(function))
    except RuntimeError:  # a read-only installation and no home folder
        return cast("F", options()(function))


def reassociated(function: F) -> F:
    """Compile with sums in an order that the compiler chooses once, so that it can vectorise."""
    return compiled(function, fastmath={"reassoc", "contract"})


def inlined(function: F) -> F:
    """Compile as a part of each caller, for which the family is a constant."""
    return compiled(function, inline="always")
