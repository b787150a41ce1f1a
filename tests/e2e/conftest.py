import pytest
from browser import PLAYER, chromium
from reports import example_report

from phinmf import report as reports


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def report():
    return example_report()


@pytest.fixture(scope="module")
def file(report, tmp_path_factory):
    return reports.write(report, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def page(browser, file):
    """The page, just opened, its sound decoded."""
    browser.look(1200, 900)
    browser.open(file)
    assert browser.resolved(f"{PLAYER}.ready") is True
    return browser
