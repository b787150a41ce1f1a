"""A few attacks of each kind on the command line; `python -m fuzz.command_line` makes many."""

import os

import pytest

pytest.importorskip("resource", reason="limits, signals and forks are of POSIX")

from fuzz import command_line
from fuzz.counting import attack_many, broken

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux alone has it"),
]


def test_random_commands_break_nothing():
    assert broken(attack_many(command_line.attack, seed=12, attacks=100, seconds=12)) == []
