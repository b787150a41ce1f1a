"""Kernels that do not agree with the plain functions are detected and replaced."""

import warnings
from dataclasses import fields, replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from phinmf.divergences import Family
from phinmf.tensors import operations, trial_run
from phinmf.tensors.operations import Kind, Operations

pytestmark = pytest.mark.full

NAMES = sorted(field.name for field in fields(Operations))
KIND = Kind(
    torch.device("cpu"), torch.float64, 2, 9, 3, 0.5, Family.KULLBACK_LEIBLER, False, False, False,
    True, 4,
)  # fmt: skip


@pytest.fixture(autouse=True)
def few_frames(monkeypatch):
    """Compare on few frames: these tests are about the comparison, not about the kernels."""
    monkeypatch.setattr(trial_run, "_replaced", set())
    monkeypatch.setattr(trial_run.Questions, "enough_frames", lambda self: 48)


def test_functions_that_agree_are_kept():
    functions = operations.plain()
    with warnings.catch_warnings(action="error"):
        assert trial_run.compared(KIND, functions) == functions


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", ["slightly", "one entry", "nan", "raises"])
def test_a_function_that_differs_is_replaced_with_one_warning(name, fault):
    right = getattr(operations.plain(), name)

    def wrong(*arguments):
        answer = right(*arguments)
        written = {"update_activations": 2, "nmf_step": 1, "take": 0, "loss_and_slope": 6,
                   "aim": 3, "remember": 2}.get(name)  # fmt: skip
        if fault == "raises":
            raise RuntimeError("does not compile")
        first = answer[0] if isinstance(answer, tuple) else answer
        array = first if written is None else arguments[written]
        if fault == "slightly":
            array.mul_(1 + 1e-6)
        elif fault == "one entry":
            array.view(-1)[array.numel() // 2] += 1
        else:
            array.fill_(torch.nan)
        return answer

    functions = replace(operations.plain(), **{name: wrong})
    with pytest.warns(
        RuntimeWarning, match=f"{name}: the fused kernels give wrong results"
    ) as seen:
        found = trial_run.compared(KIND, functions)
    assert len(seen) == 1
    assert getattr(found, name) is right
    with warnings.catch_warnings(action="error"):  # one warning is enough
        assert getattr(trial_run.compared(KIND, functions), name) is right


def test_functions_that_are_not_needed_are_not_compiled():
    kind = KIND._replace(pairs=0)
    functions = replace(operations.plain(), aim=None)
    assert trial_run.compared(kind, functions).aim is None


def test_each_kind_is_compared_once(monkeypatch):
    seen = []
    monkeypatch.setattr(trial_run, "_trusted", {})
    monkeypatch.setattr(trial_run, "compared", lambda kind: seen.append(kind) or "functions")
    assert [trial_run.trusted(KIND) for _ in range(3)] == ["functions"] * 3
    assert seen == [KIND]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("M", [2, 16, 440, 2048])
def test_every_loop_over_frames_runs_more_than_once(monkeypatch, M, many):
    from phinmf.tensors import fused_nmf

    monkeypatch.undo()
    kind = KIND._replace(M=M, many=many)
    N = trial_run.Questions.enough_frames(type("Asked", (), {"kind": kind})())
    BM, BN, _ = fused_nmf.TILE_OF_MANY if many else fused_nmf.SUMS_TILE
    programs = -(-fused_nmf.PROGRAMS // (2 * -(-M // BM)))
    assert BN * programs < N
    assert N > fused_nmf.ENTRIES
    assert N % 16 == 0


def test_plain_functions_are_used_if_there_is_too_little_memory_to_compare(monkeypatch):
    def full(kind):
        raise torch.OutOfMemoryError("full")

    monkeypatch.setattr(trial_run, "_trusted", {})
    monkeypatch.setattr(trial_run, "compared", full)
    assert trial_run.trusted(KIND).nmf_step is operations.plain().nmf_step
    assert not trial_run._trusted
