"""No number of the documentation is older than the code it speaks of, unless that is said."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
import _code

CODE = '''
from phinmf.linalg.manifold import givens

def double(x: float) -> float:
    """Return twice the number."""
    if x < 0:
        raise ValueError(f"{x} is negative")
    n: int = 2  # times
    return n * x
'''


def test_results_that_are_older_than_their_code_are_known():
    """If this fails: run the script again, or benchmarks/_code.py, and the tables say so."""
    assert _code.listed() == list(_code.older())


@pytest.mark.parametrize("name", [name for name, _ in _code.results()])
def test_every_result_has_a_script_and_belongs_to_parts_of_the_code(name):
    assert all(part in _code.PARTS for part in _code.parts_of(name))
    assert (ROOT / _code.script_of(name)).exists()


def test_every_part_exists():
    for entries in _code.PARTS.values():
        for entry in entries:
            assert (_code.PACKAGE / entry).exists(), entry


def test_every_script_says_what_it_measures():
    for script in (ROOT / "benchmarks").glob("[a-z]*.py"):
        assert _code.parts_of(script.stem)


@pytest.mark.parametrize(
    "change",
    [("Return twice the number.", "Twice."), ("# times", "# factor"), ("is negative", "< 0"),
     ("x: float", "x: int"), ("-> float", "-> complex"), ("n: int", "n: float"),
     ("linalg.manifold", "linalg.rotations")],
)  # fmt: skip
def test_words_and_types_do_not_count(change):
    assert _code.essence(CODE.replace(*change)) == _code.essence(CODE)


@pytest.mark.parametrize(
    "change", [("n: int = 2", "n: int = 3"), ("x < 0", "x <= 0"), ("n *", "n /"), ("givens", "dct")]
)
def test_what_can_change_a_number_counts(change):
    assert _code.essence(CODE.replace(*change)) != _code.essence(CODE)


def test_a_changed_module_makes_a_result_old(tmp_path, monkeypatch):
    for entry in _code.PARTS["automatic"]:
        (tmp_path / entry).parent.mkdir(exist_ok=True)
        (tmp_path / entry).write_text("n = 1\n")
    monkeypatch.setattr(_code, "PARTS", {"automatic": _code.PARTS["automatic"]})
    monkeypatch.setattr(_code, "MEASURES", {"counts": ("automatic",)})
    monkeypatch.setattr(_code, "hash_of", lambda part, real=_code.hash_of: real(part, tmp_path))
    line = f"# one core; phinmf 1.0; {_code.stamp('counts')}\n"
    machine, hashes = _code.split_line(line)
    assert machine == "one core; phinmf 1.0"
    assert _code.changed_parts("counts", hashes) == []
    (tmp_path / _code.PARTS["automatic"][0]).write_text("n = 2\n")
    assert _code.changed_parts("counts", hashes) == ["automatic"]


def test_a_result_without_hashes_is_old():
    assert _code.split_line("# one core; phinmf 0.1\n") == ("one core; phinmf 0.1", {})
    assert _code.changed_parts("headline", {}) == ["fit"]
