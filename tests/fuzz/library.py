"""Attacks on the functions, the estimator, models and checkpoints."""

import numpy as np

from fuzz import files, fits, runs, twins, users
from fuzz.counting import main
from fuzz.judging import judged

KINDS = {k: v for module in (fits, twins, runs, users, files) for k, v in module.KINDS.items()}


def attack(rng):
    """One attack of a random kind; kinds that take longer are rarer."""
    names = sorted(KINDS)
    share = np.array([KINDS[name].share for name in names])
    name = str(rng.choice(names, p=share / share.sum()))
    return judged(name, KINDS[name].attack, rng)


if __name__ == "__main__":
    main("library", attack)
