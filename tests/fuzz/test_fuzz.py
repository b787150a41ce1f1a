"""Attacks with fixed seeds; `python -m fuzz.library` and `fuzz.command_line` make more."""

import os

import pytest

pytest.importorskip("resource", reason="limits, signals and forks are of POSIX")
pytest.importorskip("torch")

from fuzz import command_line, library
from fuzz.attacks import attack_many, broken

pytestmark = pytest.mark.full


def test_random_calls_break_nothing(recwarn):
    assert broken(attack_many(library.attack, seed=0, attacks=60, seconds=12)) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux alone has it")
def test_random_commands_break_nothing():
    assert broken(attack_many(command_line.attack, seed=12, attacks=100, seconds=12)) == []
