"""Reproduce the paper: measure every figure and claim.

Each experiment prints its claims and tables, and writes its pictures and CSV files: into docs/paper
in a full run with both recordings, otherwise into out/paper, where music that the package makes
takes the place of a recording that is missing. The text of docs/paper/paper.md is written by hand.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module

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
}


def main(argv: Sequence[str] | None = None) -> None:
    """Run the experiments."""
    parser = argparse.ArgumentParser(prog="reproduce.py", description=__doc__)
    parser.add_argument("--budget", choices=BUDGETS, default="full", help="length of the run")
    parser.add_argument("--quick", dest="budget", action="store_const", const="quick",
                        help="minutes instead of the full run, written to out/paper")  # fmt: skip
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, help="leave the others alone")
    options = parser.parse_args(argv)
    missing = [name for name in SOURCES if not data_folder(name)]
    output = ROOT / ("docs" if options.budget == "full" and not missing else "out") / "paper"
    output.mkdir(parents=True, exist_ok=True)
    for name in missing:
        print(f"{name} is missing: a substitute is measured. {SOURCES[name]}")
    print(f"{machine()}; commit {commit()}", f"Files: {output}", sep="\n", flush=True)
    setting = Setting(BUDGETS[options.budget], output)
    for name in options.only or EXPERIMENTS:
        module, recording = EXPERIMENTS[name]
        marks = []
        if recording in missing:
            marks.append(f"substitute: synthesised music instead of {recording}")
        if options.budget != "full":
            marks.append(f"{options.budget} run: an excerpt, short limits, few seeds")
        setting.mark = "; ".join(marks)
        print(f"\n## {name}", setting.mark, sep="\n", flush=True)
        start = time.perf_counter()
        import_module(module).run(setting)
        print(f"\n{(time.perf_counter() - start) / 60:.1f} minutes", flush=True)


if __name__ == "__main__":
    sys.exit(main())
