"""Attacks with fixed seeds; `python -m fuzz.library` and `fuzz.command_line` make more."""

import pytest

from fuzz import command_line, library
from fuzz.attacks import attack_many

pytestmark = pytest.mark.full


@pytest.mark.parametrize(("attack", "seed"), [(library.attack, 1), (command_line.attack, 12)])
def test_random_attacks_break_nothing(attack, seed, recwarn):
    assert attack_many(attack, seed, attacks=400, seconds=40) == []
