"""The workflows, forms and settings of the forge name what exists, and ask for little."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TEMPLATES = ROOT / ".github/ISSUE_TEMPLATE"
FORMS = sorted(set(TEMPLATES.glob("*.yml")) - {TEMPLATES / "config.yml"})
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def parsed(path):
    """The content of a YAML file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(workflow):
    return parsed(workflow)["jobs"]


def steps(workflow):
    """All steps of a workflow."""
    return [step for job in jobs(workflow).values() for step in job.get("steps", [])]


def name(path):
    return path.stem


@pytest.fixture(params=WORKFLOWS, ids=name)
def workflow(request):
    return request.param


def test_there_are_workflows_and_forms():
    assert [path.stem for path in WORKFLOWS] == ["release", "tests"]
    assert [path.stem for path in FORMS] == ["bug", "idea", "slow", "wrong_result"]


def test_every_target_of_make_exists(workflow):
    commands = "\n".join(step.get("run", "") for step in steps(workflow))
    for target in re.findall(r"\bmake ([a-z-]+)", commands):
        assert re.search(rf"^{target}:", MAKEFILE, re.M), target


def test_every_path_exists(workflow):
    text = workflow.read_text(encoding="utf-8")
    for path in re.findall(r"(?<![\w/.])\.?/?((?:\.ci|\.github|src|tests)/[\w./-]*\w)", text):
        assert (ROOT / path).exists(), path


def test_actions_have_a_version(workflow):
    """Never a branch, which changes from one day to the next."""
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+(\.\d+)*|[0-9a-f]{40})", action), action


def test_permissions_are_the_least(workflow):
    """Only the job that publishes may prove who it is, and a maintainer approves it."""
    assert parsed(workflow)["permissions"] == {"contents": "read"}
    granted = {
        key: job["permissions"] for key, job in jobs(workflow).items() if "permissions" in job
    }
    assert granted == ({"publish": {"id-token": "write"}} if workflow.stem == "release" else {})
    assert "secrets." not in workflow.read_text(encoding="utf-8")
    assert all(job["environment"] for key, job in jobs(workflow).items() if key in granted)


def test_no_job_runs_forever_or_beside_itself(workflow):
    assert parsed(workflow)["concurrency"]["group"]
    for key, job in jobs(workflow).items():
        assert "uses" in job or job["timeout-minutes"] <= 60, key
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(jobs(workflow)), key


def test_every_supported_python_and_system_is_tested():
    with open(ROOT / "pyproject.toml", "rb") as file:
        classifiers = tomllib.load(file)["project"]["classifiers"]
    supported = [c.split(" :: ")[-1] for c in classifiers if " :: Python :: 3." in c]
    matrix = jobs(ROOT / ".github/workflows/tests.yml")["test"]["strategy"]["matrix"]
    assert matrix["python"] == supported
    assert matrix["os"] == ["ubuntu-latest"]
    elsewhere = {(run["os"], run["python"]) for run in matrix["include"]}
    assert elsewhere == {
        (f"{system}-latest", python)
        for system in ("macos", "windows")
        for python in (supported[0], supported[-1])
    }


def test_git_accepts_the_files_in_a_container(workflow):
    """They belong to another user there, and tests ask git which files are tracked."""
    for job in jobs(workflow).values():
        commands = [step["run"] for step in job.get("steps", []) if "run" in step]
        if "container" in job:
            assert re.match(r"git config .*safe\.directory", commands[0])


@pytest.mark.parametrize("form", FORMS, ids=name)
def test_a_form_has_what_the_forge_needs(form):
    content = parsed(form)
    assert content.keys() == {"name", "description", "labels", "body"}
    kinds = {"checkboxes", "dropdown", "input", "markdown", "textarea"}
    for question in content["body"]:
        assert question["type"] in kinds
        assert question["attributes"]["label"]
    asked = [question["id"] for question in content["body"]]
    assert len(set(asked)) == len(asked)
    assert any(question.get("validations") for question in content["body"])


@pytest.mark.parametrize("form", FORMS, ids=name)
def test_files_are_asked_for_where_they_can_be_attached(form):
    """A field with `render` is code, and takes no files."""
    for question in parsed(form)["body"]:
        told = question["attributes"].get("description", "")
        assert not ("render" in question["attributes"] and re.search("attach|file", told, re.I))


def test_the_labels_of_the_forms_are_made_before_the_first_release():
    releasing = (ROOT / "RELEASING.md").read_text(encoding="utf-8")
    for label in {label for form in FORMS for label in parsed(form)["labels"]}:
        assert f"`{label}`" in releasing, label
