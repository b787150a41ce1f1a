"""Attacks at random: the loop that makes them, and what they broke."""

import argparse
import contextlib
import re
import signal
import time
import traceback

import numpy as np

from fuzz.formulas import Wrong

SECONDS = 60  #: after which an attack on the library hangs
#: Frames beyond the levels that docs/reliability.md names, which are drawn rarely.
BEYOND = re.compile(r"leaves? the range of float32")


class Hangs(BaseException):
    """An attack takes too long."""


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def attack_many(attack, seed, attacks, seconds):
    """Return what broke in that many attacks, or in as many as the seconds allow: at least ten.

    The random numbers of an attack come from (seed, number) alone, so each can be repeated.
    """
    end = time.monotonic() + seconds
    faults = []
    for number in range(attacks):
        if number >= 10 and time.monotonic() > end:
            break
        if fault := attack(np.random.default_rng([seed, number])):
            faults.append(f"attack {number}: {fault}")
    return faults


def main(attack):
    """Attack for some time, and print what broke."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    faults = attack_many(attack, arguments.seed, 10**9, arguments.seconds)
    print(*faults, f"{len(faults)} faults", sep="\n")


@contextlib.contextmanager
def alarm(seconds):
    """Raise if the block takes longer."""

    def ring(*_):
        raise Hangs(f"nothing after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def judged(function, rng):
    """Return what an attack broke: nothing if it returns, or is refused in one sentence."""
    try:
        with alarm(SECONDS):
            function(rng)
    except (ValueError, TypeError, OSError, ImportError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        ours = re.search(r"[/\\](phinmf|sklearn)[/\\]", last)
        one_sentence = len(str(error)) < 1000 and ("\n" not in str(error) or "sklearn" in last)
        return "" if ours and one_sentence else f"{type(error).__name__} from {last}: {error}"
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    return ""


def must_not_be_refused(function, *args, **how):
    """Call; a refusal is wrong here, unless single precision cannot hold the numbers."""
    try:
        return function(*args, **how)
    except (ValueError, TypeError, OSError) as error:
        if BEYOND.search(str(error)):
            raise
        raise Wrong(f"refused: {error}") from error
