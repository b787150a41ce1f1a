"""Take screenshots of the report and of the studio for the docs; needs Chromium and selenium."""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from phinmf.audio.example import example
from phinmf.cli import main as phinmf

IMAGES = Path(__file__).parent / "images"
STUDIO = "window.phinmfStudio"


@dataclass(frozen=True)
class Picture:
    """A picture of a page, and how it is looked at."""

    name: str
    width: int
    height: int
    scheme: str = "light"


REPORT = [Picture("report", 1200, 770)]
GROUPED = [
    Picture("studio", 1280, 900),
    Picture("studio_dark", 1280, 900, "dark"),
    Picture("studio_phone", 390, 844),
]
MARKED = [
    Picture("marks", 1280, 760),
    Picture("marks_dark", 1280, 760, "dark"),
    Picture("marks_phone", 390, 844),
]
MARKS = [
    {"group": "string", "start": 3.1, "end": 3.6, "low": 90, "high": 300},
    {"group": "drums", "start": 1.2, "end": 1.55, "high": 110},
    {"group": "drums", "points": [[4.42, 2300], [4.45, 6500]], "seconds": 0.22, "octaves": 0.8},
    {"group": "bars", "points": [[5.02, 660], [5.6, 660], [5.65, 790], [6.1, 780]],
     "seconds": 0.25, "octaves": 0.4},
    {"group": "bars", "start": 7.0, "end": 8.7, "low": 0, "high": 250, "silent": True},
]  # fmt: skip


@contextmanager
def chromium() -> Iterator[webdriver.Chrome]:
    """Start a browser."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
            options.add_argument(flag)
        options.add_argument(f"--user-data-dir={profile}")
        driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        try:
            yield driver
        finally:
            driver.quit()


def take_pictures(driver: webdriver.Chrome, pictures: list[Picture], script: str = "") -> None:
    """Write pictures of the page that is open, after a script."""
    for picture in pictures:
        size = {"width": picture.width, "height": picture.height, "deviceScaleFactor": 1}
        phone = {"mobile": picture.width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size | phone)
        media = [{"name": "prefers-color-scheme", "value": picture.scheme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        time.sleep(1)
        driver.execute_script(script)
        time.sleep(2)  # until everything is decoded and drawn
        png = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
        (IMAGES / f"{picture.name}.png").write_bytes(base64.b64decode(png))


class Studio:
    """A running studio, and its first recording."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, method: str, path: str, body: object) -> None:
        """Send a request."""
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method)
        urllib.request.urlopen(request).close()

    def versions(self, n: int) -> list[dict]:
        """Wait for as many versions; return them."""
        with urllib.request.urlopen(self.address + "events") as stream:
            for line in stream:
                if line.startswith(b"data: "):
                    (recording,) = json.loads(line[6:])["recordings"]
                    if len(recording["versions"]) == n:
                        return recording["versions"]
        raise AssertionError("the studio has ended")


@contextmanager
def studio(folder: Path, file: str) -> Iterator[Studio]:
    """Run ``phinmf studio`` in a folder."""
    command = [sys.executable, "-m", "phinmf", "studio", "--no-browser", file]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Studio(process.stdout.readline().split()[-1])
        finally:
            process.terminate()


def true_groups(folder: Path) -> list[dict]:
    """Put each component to the stem of the example that it is most like; none that is faint."""
    sounds = [soundfile.read(path)[0] for path in sorted(folder.glob("component_*.wav"))]
    stems = example().stems
    groups: dict[str, list[int]] = {name: [] for name in stems}
    for number, y in enumerate(sounds, 1):
        likeness = {name: abs(np.corrcoef(y, stem)[0, 1]) for name, stem in stems.items()}
        name = max(likeness, key=likeness.__getitem__)
        if likeness[name] > 0.2:
            groups[name].append(number)
    return [
        {"name": name, "colour": i, "components": numbers}
        for i, (name, numbers) in enumerate(groups.items())
        if numbers
    ]


def picture_studio(driver: webdriver.Chrome, folder: Path) -> None:
    """Unmix the example, group it, mark it, hear what marks change, and take the pictures."""
    sound = example()
    soundfile.write(folder / "example.wav", sound.mixture, sound.sample_rate)
    with studio(folder, "example.wav") as running:
        (whole,) = running.versions(1)
        mix = {key: whole[key] for key in ("revision", "levels")}
        groups = true_groups(folder / whole["folder"])
        marks = {"marks": whole["marks"] | {"marks": MARKS}}
        running.ask("PUT", f"versions/{whole['id']}/mix", mix | {"groups": groups} | marks)
        driver.get(f"{running.address}#{urllib.parse.quote(whole['folder'], safe='')}")
        time.sleep(2)
        driver.execute_script(f"{STUDIO}.player.seek(44_000); {STUDIO}.pointing.hear()")
        time.sleep(5)
        driver.execute_script(f"{STUDIO}.player.pause()")
        for picture in MARKED:
            where = "document.querySelector('.pointing').scrollIntoView({block: 'end'})"
            take_pictures(driver, [picture], where)
        driver.execute_script(
            f"window.scrollTo(0, 0); {STUDIO}.pointing.open({STUDIO}.mix);"
            f"{STUDIO}.player.setLoop(48_000, 96_000); {STUDIO}.player.seek(62_000);"
            f"for (const name of {json.dumps([group['name'] for group in groups[1:]])})"
            f" {STUDIO}.mix.toggleFold(name);"
            f"{STUDIO}.mix.toggleSolo({json.dumps(groups[1]['components'])})"
        )
        take_pictures(driver, GROUPED)


def main() -> None:
    """Write all pictures."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as driver:
        phinmf(["demo", "-o", folder])
        driver.get((Path(folder) / "example" / "report.html").as_uri())
        take_pictures(driver, REPORT)
        place = Path(folder) / "studio"
        place.mkdir()
        picture_studio(driver, place)


if __name__ == "__main__":
    main()
