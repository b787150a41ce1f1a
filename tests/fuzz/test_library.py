"""A few attacks on the library with a fixed seed; `python -m fuzz.library` makes many."""

import pytest
from clusters import needs_dask

from fuzz.counting import attack_many, broken
from fuzz.library import attack

needs_dask()
pytest.importorskip("torch")

pytestmark = pytest.mark.full


def test_random_calls_break_nothing(recwarn):
    outcomes = attack_many(attack, 0, attacks=60, seconds=12)
    assert broken(outcomes) == []
    assert len(outcomes) >= 10
