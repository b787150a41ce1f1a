"""Outcomes of attacks, the loop that counts them, and the table they are written to."""

import argparse
import csv
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import version
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from _common import RESULTS, commit


class Verdict(Enum):
    HELD = "held"  # it worked, and the result is right
    REFUSED = "refused"  # one sentence; nothing left behind, nothing lost
    BROKE = "broke"


@dataclass(frozen=True)
class Outcome:
    """What came of one attack: its kind, the verdict, and what broke."""

    what: str
    verdict: Verdict
    why: str = ""


def held(what: str) -> Outcome:
    return Outcome(what, Verdict.HELD)


def refused(what: str) -> Outcome:
    return Outcome(what, Verdict.REFUSED)


def broke(what: str, why: str) -> Outcome:
    return Outcome(what, Verdict.BROKE, why)


Attack = Callable[[np.random.Generator], Outcome]


def attack_many(
    attack: Attack, seed: int, *, attacks: int | None = None, seconds: float = np.inf
) -> list[tuple[int, Outcome]]:
    """Return (number, outcome) of so many attacks, or of as many as the seconds allow.

    The random numbers of an attack come from (seed, number) alone, so each can be repeated.
    """
    outcomes: list[tuple[int, Outcome]] = []
    end = time.monotonic() + seconds
    while len(outcomes) != attacks and time.monotonic() < end:
        number = len(outcomes)
        outcomes.append((number, attack(np.random.default_rng([seed, number]))))
    return outcomes


def broken(outcomes: list[tuple[int, Outcome]]) -> list[str]:
    """Describe every attack that broke something; a test asserts that there is none."""
    return [
        f"attack {number} ({outcome.what}): {outcome.why}"
        for number, outcome in outcomes
        if outcome.verdict is Verdict.BROKE
    ]


def table(outcomes: list[tuple[int, Outcome]]) -> list[dict[str, str | int]]:
    """Count the outcomes of each kind of attack."""
    counts = Counter((outcome.what, outcome.verdict) for _, outcome in outcomes)
    rows: list[dict[str, str | int]] = []
    for what in sorted({what for what, _ in counts}):
        by_verdict = {verdict.value: counts[what, verdict] for verdict in Verdict}
        rows.append({"what": what, "tried": sum(by_verdict.values()), **by_verdict})
    return rows


def versions() -> str:
    """The versions that matter."""
    packages = ("phinmf", "numpy", "soundfile", "dask")
    found = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"Python {platform.python_version()}, {found}"


def main(area: str, attack: Attack) -> None:
    """Attack for some time, print what broke and the counts, and write them to a table."""
    parser = argparse.ArgumentParser(description=f"fuzz of {area}")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--attack", type=int, help="repeat the attack of this number alone")
    arguments = parser.parse_args()
    if arguments.attack is not None:
        print(attack(np.random.default_rng([arguments.seed, arguments.attack])))
        return
    outcomes = attack_many(attack, arguments.seed, seconds=arguments.seconds)
    rows = table(outcomes)
    with (RESULTS / f"fuzz_{area}.csv").open("w", newline="", encoding="utf-8") as file:
        file.write(
            f"# seed {arguments.seed}, {arguments.seconds:.0f} s; {versions()}; commit {commit()}\n"
        )
        writer = csv.DictWriter(file, ["what", "tried", "held", "refused", "broke"])
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(*row.values(), sep="\t")
    print(*broken(outcomes), f"{len(outcomes)} attacks", sep="\n")
