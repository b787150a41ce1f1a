"""Reproduce the paper: every figure and claim, compared with what this package measures.

A full run with both recordings writes docs/paper. Any other run writes out/paper, where music that
the package makes takes the place of a recording that is missing. A section of the page is
replaced, with its pictures and CSV files, when its experiment is finished; all else stays.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from page import with_section
from setting import BUDGETS, NOTES, RECORDING, ROOT, SOURCES, Setting, commit, data_folder, machine

#: name, its module, the recording that it measures
EXPERIMENTS: dict[str, tuple[str, str | None]] = {
    "fig1": ("synthetic", None),
    "fig2": ("recording", RECORDING),
    "printed": ("printed_update", RECORDING),
    "fig3a": ("energy", RECORDING),
    "fig3b": ("reliability", RECORDING),
    "atoms": ("atoms", RECORDING),
    "timing": ("timing", RECORDING),
    "few-atoms": ("few_atoms", RECORDING),
    "ica": ("ica", None),
    "two-notes": ("two_notes", NOTES),
    "note-starts": ("note_starts", NOTES),
}
PREFACE = """# The paper, claim by claim

Written by `paper/reproduce.py`. The numbers to quote are those of docs/paper/paper.md.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="reproduce.py", description=__doc__)
    options.add_argument("--budget", choices=BUDGETS, default="full", help="length of the run")
    options.add_argument("--quick", dest="budget", action="store_const", const="quick",
                         help="minutes instead of the full run, written to out/paper")  # fmt: skip
    options.add_argument("--only", nargs="+", choices=EXPERIMENTS, help="leave the others alone")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Run the experiments and write their sections; return the exit status."""
    options = parser().parse_args(argv)
    missing = [name for name in SOURCES if not data_folder(name)]
    output = ROOT / ("docs" if options.budget == "full" and not missing else "out") / "paper"
    output.mkdir(parents=True, exist_ok=True)
    for name in missing:
        print(f"{name} is missing: a substitute is measured. {SOURCES[name]}")
    print(f"Writing {output / 'paper.md'}", flush=True)
    source = f"{machine()}; commit {commit()}"  # before a section changes files
    setting, failed = Setting(BUDGETS[options.budget]), []
    for name in options.only or EXPERIMENTS:
        module, recording = EXPERIMENTS[name]
        marks = []
        if recording in missing:
            marks.append(f"substitute: synthesised music instead of {recording}")
        if options.budget != "full":
            marks.append(f"{options.budget} run: an excerpt, short limits, few seeds")
        setting.mark = "; ".join(marks)
        start = time.perf_counter()
        try:
            with TemporaryDirectory(dir=output, prefix=".") as folder:
                setting.output = Path(folder)
                section = import_module(module).run(setting)
                minutes = f"{(time.perf_counter() - start) / 60:.1f} minutes"
                note = "; ".join([*(f"**{mark}**" for mark in marks), source, minutes])
                write(section.render(note), setting.output, output)
        except KeyboardInterrupt:
            print("Interrupted: unfinished sections are as they were.")
            return 130
        except Exception:
            traceback.print_exc()
            failed.append(name)
        else:
            print(f"{name}: {minutes}", flush=True)
    if failed:
        print(f"Failed, their sections are as they were: {', '.join(failed)}")
    return 1 if failed else 0


def write(section: str, new: Path, output: Path) -> None:
    """Put a section into the page, and its files from the folder `new` beside it."""
    page = output / "paper.md"
    text = page.read_text() if page.exists() else PREFACE
    (new / page.name).write_text(with_section(text, section))

    def move() -> None:
        for path in sorted(new.iterdir()):
            path.replace(output / path.name)

    with ThreadPoolExecutor(1) as thread:  # Ctrl-C interrupts the main thread only: all or none
        thread.submit(move).result()


if __name__ == "__main__":
    sys.exit(main())
