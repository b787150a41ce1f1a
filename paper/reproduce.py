"""Reproduce the paper: every figure and claim, compared with what this package measures.

Writes pictures, CSV files and the page paper.md. Without the paper's data (`PHINMF_DATA`, or
../shared/data) the synthetic parts are run and the others are marked as not run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import atoms
import energy
import gallery
import ica
import printed_update
import recording
import reliability
import synthetic
import timing
import two_notes
from page import Section
from setting import BUDGETS, ROOT, Setting, data_folder, machine

#: name, the module with its TITLE and run, the file of the data folder that it needs
EXPERIMENTS: list[tuple[str, ModuleType, str | None]] = [
    ("fig1", synthetic, None),
    ("fig2", recording, "armstrong.wav"),
    ("printed", printed_update, None),
    ("fig3a", energy, None),
    ("fig3b", reliability, "armstrong.wav"),
    ("atoms", atoms, "armstrong.wav"),
    ("timing", timing, "armstrong.wav"),
    ("ica", ica, None),
    ("two-notes", two_notes, two_notes.FILE),
]
PREFACE = """# The paper, claim by claim

*A quasi-Newton algorithm on the orthogonal manifold for NMF with transform learning*, by Ablin,
Fagot, Wendt, Gramfort and Févotte ([arXiv 1811.02225](https://arxiv.org/abs/1811.02225)), run
again. This page is written by `make paper`: every number, picture and verdict comes out of that
command. [The method page](../method.md) says where the paper's text slips; [the
gallery](../gallery.md) tells the same without the paper.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog="reproduce.py", description=__doc__)
    found.add_argument("--quick", action="store_true", help="minutes instead of the full run")
    found.add_argument("--budget", choices=BUDGETS, help="instead of --quick or the full run")
    found.add_argument("--output", type=Path, help="folder to write to (docs/paper, or out/paper)")
    names = [name for name, _, _ in EXPERIMENTS]
    found.add_argument("--only", nargs="+", choices=names, help="run these experiments alone")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the experiments and write the page; return the exit status."""
    options = parser().parse_args(argv)
    budget = options.budget or ("quick" if options.quick else "full")
    default = ROOT / ("docs/paper" if budget == "full" else "out/paper")
    output = options.output or default
    output.mkdir(parents=True, exist_ok=True)
    setting = Setting(BUDGETS[budget], output, data_folder())
    if setting.data is None:
        print("The paper's data are not here: set PHINMF_DATA to their folder.")
    sections, begin = [], time.perf_counter()
    for name, experiment, needed in EXPERIMENTS:
        sections.append(attempt(setting, name, experiment, needed, options.only))
        print(f"{name}: {sections[-1].seconds:.0f} s", flush=True)
        write(setting, budget, sections, time.perf_counter() - begin)
    if budget == "full" and not options.only:
        gallery.fill(sections)
    print(f"The page: {output / 'paper.md'}")
    return 0


def attempt(
    setting: Setting,
    name: str,
    experiment: ModuleType,
    needed: str | None,
    only: Sequence[str] | None,
) -> Section:
    """Run one experiment, or say why it is not run."""
    title = experiment.TITLE
    if only and name not in only:
        return Section(title, "Not run: it was not asked for.")
    if needed and (setting.data is None or not (setting.data / needed).exists()):
        return Section(title, f"Not run: {needed} is not here. Set `PHINMF_DATA` to its folder.")
    start = time.perf_counter()
    section: Section = experiment.run(setting)
    section.seconds = time.perf_counter() - start
    return section


def write(setting: Setting, budget: str, sections: list[Section], seconds: float) -> None:
    """Write the page with the results so far."""
    parts = [PREFACE]
    if budget != "full":
        parts.append(
            f"**This is the {budget} run**: an excerpt, short limits and few seeds. It shows that"
            " everything works; the numbers to quote are those of the full one.\n"
        )
    parts += [section.render() for section in sections]
    parts.append(f"---\n\n{machine()}. The whole run took {seconds / 60:.1f} minutes.\n")
    (setting.output / "paper.md").write_text("\n".join(parts))


if __name__ == "__main__":
    sys.exit(main())
