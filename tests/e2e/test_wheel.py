"""The wheel, installed into an empty environment, does what the first page of the site says."""

import json
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


def on_the_page(language):
    """The only block of the first page in a language."""
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)
    return block


def environment(folder):
    """The variables of this process without its Python; the commands in a folder come first."""
    variables = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return variables | {"BROWSER": "true", "PATH": f"{folder}:{variables['PATH']}"}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with the wheel, an empty environment and the recordings that the page names."""
    folder = tmp_path_factory.mktemp("empty")
    build = [sys.executable, "-m", "build", "--outdir", folder, ROOT]
    subprocess.run(build, env=environment(folder), check=True, capture_output=True)
    venv.create(folder / "env", with_pip=True)
    write(folder / "recording.wav", tones(8000))
    write(folder / "song.flac", tones(8000), format="FLAC")
    return folder


@pytest.fixture(scope="module")
def run(here):
    """A function that runs a line of a shell in that environment, where the wheel is installed."""

    def run(line):
        done = subprocess.run(
            ["/bin/sh", "-c", line], cwd=here, env=environment(here / "env/bin"),
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    (wheel,) = here.glob("phinmf-*.whl")
    install, *_ = on_the_page("console").splitlines()
    assert install.startswith("pip install ")
    run(install.replace("phinmf", str(wheel), 1))
    return run


def test_the_wheel_is_typed_and_has_its_version_and_a_page_without_relative_links(run, here):
    package = Path(run("python -c 'import phinmf; print(phinmf.__file__)'").strip()).parent
    assert here / "env" in package.parents
    assert (package / "py.typed").exists()
    assert run("phinmf --version").split()[-1] == phinmf.__version__
    (wheel,) = here.glob("phinmf-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        links = re.findall(r'(?:\]\(|src=")([^)"]+)', archive.read(name).decode())
    assert links
    assert all(link.startswith("https://") for link in links)


def test_the_python_of_the_page_runs(run, here):
    code = f"{on_the_page('python')}print(abs(u.components.sum(axis=0) - y).max(), Phi.shape)"
    (here / "page.py").write_text(code)
    error, shape = run("python -W ignore page.py").split(" ", 1)
    assert float(error) < 1e-12
    assert shape.strip() == "(440, 440)"


def test_the_commands_of_the_page_run(run, here):
    _, unmix, studio = on_the_page("console").splitlines()
    run(unmix)
    listed = json.loads((here / "out/song/result.json").read_text())["components"]
    names = {path.name for path in (here / "out/song").glob("component_*.flac")}
    assert names == {component["file"] for component in listed}
    assert len(names) > 8
    assert (here / "out/song/report.html").exists()
    with subprocess.Popen(
        ["/bin/sh", "-c", f"exec {studio}"], cwd=here, env=environment(here / "env/bin"),
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
