"""Attacks at random: what came of each, the loop that makes them, and the counts it prints."""

import argparse
import contextlib
import re
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from fuzz.formulas import Wrong

SECONDS = 60  #: after which an attack on the library hangs


class Verdict(Enum):
    HELD = "held"  # it worked, and the result is right
    REFUSED = "refused"  # one sentence; nothing left behind, nothing lost
    BROKE = "broke"


@dataclass(frozen=True)
class Outcome:
    """What came of one attack: its kind, the verdict, and what broke."""

    kind: str
    verdict: Verdict
    why: str = ""


def broke(kind: str, why: str) -> Outcome:
    return Outcome(kind, Verdict.BROKE, why)


Attack = Callable[[np.random.Generator], Outcome]


def attack_many(
    attack: Attack, seed: int, *, attacks: int | None = None, seconds: float = np.inf
) -> list[Outcome]:
    """Return the outcomes of that many attacks, or of as many as the seconds allow: at least ten.

    The random numbers of an attack come from (seed, number) alone, so each can be repeated.
    """
    outcomes: list[Outcome] = []
    end = time.monotonic() + seconds
    while len(outcomes) != attacks and (len(outcomes) < 10 or time.monotonic() < end):
        outcomes.append(attack(np.random.default_rng([seed, len(outcomes)])))
    return outcomes


def broken(outcomes: list[Outcome]) -> list[str]:
    """Describe every attack that broke something; a test asserts that there is none."""
    return [
        f"attack {number} ({outcome.kind}): {outcome.why}"
        for number, outcome in enumerate(outcomes)
        if outcome.verdict is Verdict.BROKE
    ]


def main(attack: Attack) -> None:
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
        print(kind, *(f"{counts[kind, verdict]} {verdict.value}" for verdict in Verdict), sep="\t")
    print(*broken(outcomes), f"{len(outcomes)} attacks", sep="\n")


class Hangs(BaseException):
    """An attack takes too long."""


@contextlib.contextmanager
def alarm(seconds: int):
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


def judged(kind: str, function: Callable[[np.random.Generator], None], rng) -> Outcome:
    """The outcome of an attack: it returns, it is refused in a sentence, or something broke."""
    try:
        with alarm(SECONDS):
            function(rng)
    except Wrong as error:
        return broke(kind, str(error))
    except (ValueError, TypeError, OSError, ImportError) as error:
        fault = fault_of_refusal(error)
        return broke(kind, fault) if fault else Outcome(kind, Verdict.REFUSED)
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return broke(kind, f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})")
    return Outcome(kind, Verdict.HELD)


def fault_of_refusal(error: Exception) -> str:
    """Why an error is not a refusal: it comes from inside a library, or is not one sentence."""
    text = str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    if not re.search(r"[/\\](phinmf|sklearn)[/\\]", last.filename):
        return f"{type(error).__name__} from {last.filename}:{last.lineno}: {text}"
    if "\n" in text and "sklearn" not in last.filename:
        return f"not one line: {text}"
    if len(text) > 1000:
        return f"no sentence but {len(text)} characters: {text[:100]}"
    return ""


#: Frames beyond the levels that docs/reliability.md names, which are drawn rarely.
BEYOND = re.compile(r"leaves? the range of float32")


def must_not_be_refused(function, *args, **how):
    """Call; a refusal is wrong here, unless single precision cannot hold the numbers."""
    try:
        return function(*args, **how)
    except (ValueError, TypeError, OSError) as error:
        if BEYOND.search(str(error)):
            raise
        raise Wrong(f"refused: {error}") from error
