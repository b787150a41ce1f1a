"""The wheel, installed into an empty environment, does what the first page of the site says."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest
from sound_files import tones, write

import phinmf

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/index.md").read_text(encoding="utf-8")


def environment(folder=None):
    """The variables of this process without its Python; the commands in a folder come first."""
    variables = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return (
        variables
        | {"BROWSER": "true"}
        | ({"PATH": f"{folder}:{variables['PATH']}"} if folder else {})
    )


def run(command, cwd, env=None):
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env=env or environment()
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The folder of the wheel and the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], cwd=folder)
    return folder


@pytest.fixture(scope="module")
def installed(dist, tmp_path_factory):
    """The folder of the commands of an empty environment with the wheel and the page's extras."""
    (wheel,) = dist.glob("phinmf-*.whl")
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=True)
    install, *_ = on_the_page("console").splitlines()
    assert install.startswith("pip install ")
    of_the_wheel = install.replace("phinmf", str(wheel), 1)
    run(["/bin/sh", "-c", of_the_wheel], cwd=folder, env=environment(folder / "bin"))
    return folder / "bin"


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with the recordings that the page names."""
    folder = tmp_path_factory.mktemp("here")
    write(folder / "recording.wav", tones(8000))
    write(folder / "song.flac", tones(8000), format="FLAC")
    return folder


def on_the_page(language):
    """The only block of the first page in a language."""
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)
    return block


def test_the_wheel_is_typed_and_has_its_version(installed, here):
    printed = run([installed / "python", "-c", "import phinmf; print(phinmf.__file__)"], cwd=here)
    package = Path(printed.strip()).parent
    assert installed.parent in package.parents
    assert (package / "py.typed").exists()
    assert run([installed / "phinmf", "--version"], cwd=here).split()[-1] == phinmf.__version__


def test_the_readme_on_pypi_has_no_relative_links(dist):
    (wheel,) = dist.glob("phinmf-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        links = re.findall(r'(?:\]\(|src=")([^)"]+)', archive.read(name).decode())
    assert links
    assert all(link.startswith("https://") for link in links)


def test_the_python_of_the_page_runs(installed, here):
    code = f"{on_the_page('python')}print(abs(u.components.sum(axis=0) - y).max(), Phi.shape)"
    error, shape = run([installed / "python", "-W", "ignore", "-c", code], cwd=here).split(" ", 1)
    assert float(error) < 1e-12
    assert shape.strip() == "(440, 440)"


def test_the_commands_of_the_page_run(installed, here):
    _, unmix, studio = on_the_page("console").splitlines()
    run(["/bin/sh", "-c", unmix], cwd=here, env=environment(installed))
    assert len(list((here / "out/song").glob("component_*.flac"))) == 8
    assert (here / "out/song/report.html").exists()
    with subprocess.Popen(
        ["/bin/sh", "-c", f"exec {studio}"], cwd=here, env=environment(installed),
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        address = process.stdout.readline().split()[-1]
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert b"<html" in answer.read()
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    assert process.returncode == 0
