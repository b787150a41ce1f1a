"""Progress of a fit on standard error, for those who ask for it."""

from __future__ import annotations

import sys

from phinmf.result import Callback, Result, State


def say(text: str) -> None:
    """Print a line to standard error, where it does not mix with results."""
    print(text, file=sys.stderr, flush=True)


def printed(name: str, callback: Callback | None) -> Callback:
    """Return a callback that prints each outer iteration, too."""

    def reported(state: State) -> bool:
        """Print the best objective so far: that of an iteration rises while the floor falls."""
        best, seconds = state.history.target_objective.min(), state.history[-1].seconds
        say(f"{name}: iteration {state.iteration}, best objective {best:.6g}, {seconds:.1f} s")
        return bool(callback is not None and callback(state))

    return reported


def print_end(name: str, result: Result) -> None:
    """Print why a fit stopped."""
    say(f"{name}: {result.status.value}; objective {result.objective:.6g}")
