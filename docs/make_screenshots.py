"""Take screenshots of the report of ``phinmf demo`` for the docs; needs Chromium and selenium."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from phinmf.cli import main as phinmf

IMAGES = Path(__file__).parent / "images"
SIZES = {"report.png": (1200, 1160), "report_phone.png": (390, 1200)}


def main() -> None:
    """Write one picture for each size of the window."""
    with tempfile.TemporaryDirectory() as folder:
        phinmf(["demo", "-o", folder])
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
            options.add_argument(flag)
        options.add_argument(f"--user-data-dir={folder}/profile")
        driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        try:
            for name, size in SIZES.items():
                driver.set_window_size(*size)
                driver.get((Path(folder) / "example" / "report.html").as_uri())
                time.sleep(2)  # until all sounds are decoded and drawn
                driver.save_screenshot(str(IMAGES / name))
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
