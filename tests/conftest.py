import os
import re
import signal
import tempfile
from pathlib import Path

import hypothesis
import numpy as np
import pytest

os.environ["SCIPY_ARRAY_API"] = "1"  # for checks of scikit-learn; read when SciPy is imported
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="phinmf-state-")  # the log of faults
hypothesis.settings.register_profile("phinmf", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.load_profile("phinmf")


def pytest_addoption(parser):
    parser.addoption("--no-skip", action="store_true", help="what would be skipped fails")


#: The folder of the paper's recordings, which are not part of the project.
DATA = Path(os.environ.get("PHINMF_DATA", Path(__file__).parents[1] / "data"))
#: A module all of whose tests are `full`.
FULL = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.full\b", re.M)


def pytest_ignore_collect(collection_path, config):
    """Let `make test` not import modules that are `full`: it has not all that they need."""
    if collection_path.suffix != ".py" or "not full" not in config.option.markexpr:
        return None
    return bool(FULL.search(collection_path.read_text("utf-8"))) or None


#: Parameters of tests that need PyTorch or Dask.
NEEDS_MORE = {"dask", "tensor", "tensors", "array on tensors", "by_tensors"}


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config, items):
    for item in items:
        if hasattr(item, "callspec") and NEEDS_MORE & set(item.callspec.id.split("-")):
            item.add_marker(pytest.mark.full)
    if not DATA.exists() and "PHINMF_DATA" not in os.environ:
        without = [item for item in items if "data_folder" in item.fixturenames]
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]


def pytest_report_header():
    """Say whether the tests of the paper's recordings run."""
    return f"recordings: {DATA if DATA.exists() else 'none, their tests are left out'}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return failed_if_skipped(item.config, (yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return failed_if_skipped(collector.config, (yield))


def failed_if_skipped(config, report):
    """With --no-skip, turn the report of a skipped test or module into one of a failure."""
    if config.getoption("--no-skip") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which --no-skip forbids: {report.longrepr}"
    return report


@pytest.fixture(scope="session", autouse=True)
def ctrl_c():
    """Give Python and its children Ctrl-C back, which a shell ignores in a background job."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng():
    return np.random.default_rng(20181102)


@pytest.fixture(scope="session")
def data_folder():
    """The folder of the recordings."""
    for name in ("armstrong.wav", "authors_armstrong.csv"):
        assert (DATA / name).exists(), f"set PHINMF_DATA to the folder of {name}"
    return DATA


@pytest.fixture(scope="module")
def always_coarse():
    """Let small problems begin with few atoms, too, which saves them no time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("phinmf.fit.problem.COARSE_PAYS", 0)
        yield
