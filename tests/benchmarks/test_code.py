"""No number of the documentation is older than the code it speaks of, unless that is said."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
import _code
import _report

CODE = '''
from phinmf.linalg.manifold import givens

def double(x: float) -> float:
    """Return twice the number."""
    if x < 0:
        raise ValueError(f"{x} is negative")
    n: int = 2  # times
    return n * x
'''

#: Results that other results are made of, and those that no page shows.
DETAILS = {
    "amounts_gpu", "forecast", "gpu_stream_link", "grouping", "held_out_search", "separation",
}  # fmt: skip


def test_results_that_are_older_than_their_code_are_known():
    """If this fails: run the script again, or benchmarks/_report.py, and the pages say so."""
    assert _code.listed() == list(_code.older())


def test_a_release_has_no_result_that_is_older_than_its_code():
    """Between two releases, the changelog has a section of what is not released yet."""
    if "## [Unreleased]" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        assert _code.older() == {}


def test_pages_show_the_results_that_there_are_and_say_which_are_older():
    for path, text in _report.pages().items():
        assert (ROOT / path).read_text() == text, path


def test_every_result_that_is_older_is_named_on_a_page():
    shown = {_report.SAME_FILE.get(name, name) for name in _report.TABLES}
    noted = tuple(name for names in _report.NOTED.values() for name in names)
    hidden = {name for name in _code.older() if name not in shown and not name.startswith(noted)}
    assert hidden <= DETAILS


def test_every_module_decides_numbers_or_is_known_not_to():
    parts = {entry for entries in _code.PARTS.values() for entry in entries}
    named = {file for entry in parts for file in _code.files_of(_code.PACKAGE / entry)}
    others = {file for entry in _code.OTHERS for file in _code.files_of(_code.PACKAGE / entry)}
    modules = {file for file in _code.PACKAGE.rglob("*.py") if file.name != "__init__.py"}
    assert modules <= named | others
    assert not named & others


@pytest.mark.parametrize("name", [name for name, _ in _code.results()])
def test_every_result_has_a_script_and_belongs_to_parts_of_the_code(name):
    assert all(part in _code.PARTS for part in _code.parts_of(name))
    assert (ROOT / _code.script_of(name)).exists()


def test_every_part_exists():
    for entries in (*_code.PARTS.values(), _code.OTHERS):
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


def test_every_version_of_python_reads_a_module_alike():
    """Else a result would be old in all but one of them: 3.12 and 3.13 added empty fields."""
    assert _code.essence("def f(x=None):\n    return [x, 0]\n") == (
        "Module(body=[FunctionDef(name='f', args=arguments(args=[arg(arg='x')],"
        " defaults=[Constant()]), body=[Return(value=List(elts=[Name(id='x', ctx=Load()),"
        " Constant(value=0)], ctx=Load()))])])"
    )


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
