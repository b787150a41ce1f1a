"""Attacks at random: what came of each, the loop that makes them, and the counts it prints."""

import argparse
import contextlib
import re
import signal
import time
import traceback
from collections import Counter
from typing import NamedTuple

import numpy as np

from fuzz.formulas import Wrong

SECONDS = 60  #: after which an attack on the library hangs
HELD, REFUSED, BROKE = "held", "refused", "broke"
#: Frames beyond the levels that docs/reliability.md names, which are drawn rarely.
BEYOND = re.compile(r"leaves? the range of float32")


class Outcome(NamedTuple):
    """What came of one attack: its kind, the verdict, and what broke."""

    kind: str
    verdict: str
    why: str = ""


class Hangs(BaseException):
    """An attack takes too long."""


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def attack_many(attack, seed, attacks=None, seconds=np.inf):
    """Return the outcomes of that many attacks, or of as many as the seconds allow: at least ten.

    The random numbers of an attack come from (seed, number) alone, so each can be repeated.
    """
    outcomes = []
    end = time.monotonic() + seconds
    while len(outcomes) != attacks and (len(outcomes) < 10 or time.monotonic() < end):
        outcomes.append(attack(np.random.default_rng([seed, len(outcomes)])))
    return outcomes


def broken(outcomes):
    """Describe every attack that broke something; a test asserts that there is none."""
    return [
        f"attack {number} ({outcome.kind}): {outcome.why}"
        for number, outcome in enumerate(outcomes)
        if outcome.verdict == BROKE
    ]


def main(attack):
    """Attack for some time; print how often each kind held, was refused and broke, and what."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--attack", type=int, help="repeat the attack of this number alone")
    arguments = parser.parse_args()
    if arguments.attack is not None:
        print(attack(np.random.default_rng([arguments.seed, arguments.attack])))
        return
    outcomes = attack_many(attack, arguments.seed, seconds=arguments.seconds)
    counts = Counter((outcome.kind, outcome.verdict) for outcome in outcomes)
    for kind in sorted({outcome.kind for outcome in outcomes}):
        print(kind, *(f"{counts[kind, word]} {word}" for word in (HELD, REFUSED, BROKE)), sep="\t")
    print(*broken(outcomes), f"{len(outcomes)} attacks", sep="\n")


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


def judged(kind, function, rng):
    """The outcome of an attack: it returns, it is refused in a sentence, or something broke."""
    try:
        with alarm(SECONDS):
            function(rng)
    except Wrong as error:
        return Outcome(kind, BROKE, str(error))
    except (ValueError, TypeError, OSError, ImportError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        ours = re.search(r"[/\\](phinmf|sklearn)[/\\]", last)
        one_sentence = len(str(error)) < 1000 and ("\n" not in str(error) or "sklearn" in last)
        why = f"{type(error).__name__} from {last}: {error}"
        return Outcome(kind, REFUSED) if ours and one_sentence else Outcome(kind, BROKE, why)
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        why = f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        return Outcome(kind, BROKE, why)
    return Outcome(kind, HELD)


def must_not_be_refused(function, *args, **how):
    """Call; a refusal is wrong here, unless single precision cannot hold the numbers."""
    try:
        return function(*args, **how)
    except (ValueError, TypeError, OSError) as error:
        if BEYOND.search(str(error)):
            raise
        raise Wrong(f"refused: {error}") from error
