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
import few_atoms
import gallery
import ica
import note_starts
import printed_update
import recording
import reliability
import synthetic
import timing
import two_notes
from page import END, Section, earlier
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
    ("few-atoms", few_atoms, "armstrong.wav"),
    ("ica", ica, None),
    ("two-notes", two_notes, two_notes.FILE),
    ("note-starts", note_starts, two_notes.FILE),
]
#: Where benchmarks/_report.py notes which results are older than the code.
OLDER = "\n<!-- older -->\n<!-- /older -->\n"
PREFACE = """# The paper, claim by claim

*A quasi-Newton algorithm on the orthogonal manifold for NMF with transform learning*, by Ablin,
Fagot, Wendt, Gramfort and Févotte ([arXiv 1811.02225](https://arxiv.org/abs/1811.02225)), run
again. This page is written by `make paper`: every number, picture and verdict comes out of that
command. [The method page](../method.md) corrects the errors in the paper's text; [the
gallery](../gallery.md) tells the same without the paper.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog="reproduce.py", description=__doc__)
    found.add_argument("--quick", action="store_true", help="minutes instead of the full run")
    found.add_argument("--budget", choices=BUDGETS, help="instead of --quick or the full run")
    found.add_argument("--output", type=Path, help="folder to write to (docs/paper, or out/paper)")
    names = [name for name, _, _ in EXPERIMENTS]
    found.add_argument("--only", nargs="+", choices=names, help="run these again, keep the others")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the experiments and write the page; return the exit status."""
    options = parser().parse_args(argv)
    budget = options.budget or ("quick" if options.quick else "full")
    default = ROOT / ("docs/paper" if budget == "full" else "out/paper")
    output = options.output or default
    output.mkdir(parents=True, exist_ok=True)
    refuse_other_files(output)
    setting = Setting(BUDGETS[budget], output, data_folder())
    if setting.data is None:
        print("The paper's data are not here: set PHINMF_DATA to their folder.")
    before = earlier(output / "paper.md", opening(budget)) if options.only else None
    kept = before.sections if before else {}
    sections: dict[str, Section] = {}
    if options.only:
        for name, experiment, _ in EXPERIMENTS:
            text = kept.get(experiment.TITLE, "Not run: it was not asked for.")
            sections[name] = Section(experiment.TITLE, text)
    begin = time.perf_counter()
    for name, experiment, needed in EXPERIMENTS:
        if options.only and name not in options.only:
            continue
        sections[name] = attempt(setting, experiment, needed)
        minutes = f"{sections[name].seconds / 60:.1f} minutes"
        print(f"{name}: {minutes}", flush=True)
        if before:
            sections[name].note = f"Run again alone: {machine()}; {minutes}."
        whole = (time.perf_counter() - begin) / 60
        end = (
            before.end
            if before
            else f"{machine()}. The whole run took {whole:.1f} minutes.\n{OLDER}"
        )
        page = "\n".join([opening(budget), *(section.render() for section in sections.values())])
        (output / "paper.md").write_text(page + END + end)
    if budget == "full" and not options.only:
        gallery.fill(list(sections.values()))
    print(f"The page: {output / 'paper.md'}")
    return 0


def refuse_other_files(output: Path) -> None:
    """Stop if the folder holds files, but no page of this script."""
    page, title = output / "paper.md", opening("full").splitlines()[0]
    own = page.is_file() and page.read_text().startswith(f"{title}\n")
    if any(output.iterdir()) and not own:
        raise SystemExit(f"{output} holds files of something else: name an empty folder")


def attempt(setting: Setting, experiment: ModuleType, needed: str | None) -> Section:
    """Run one experiment, or say why it is not run."""
    title = experiment.TITLE
    if needed and (setting.data is None or not (setting.data / needed).exists()):
        return Section(title, f"Not run: {needed} is not here. Set `PHINMF_DATA` to its folder.")
    start = time.perf_counter()
    section: Section = experiment.run(setting)
    section.seconds = time.perf_counter() - start
    return section


def opening(budget: str) -> str:
    """The first lines of the page."""
    if budget == "full":
        return PREFACE
    return (
        f"{PREFACE}\n**This is the {budget} run**: an excerpt, short limits and few seeds. It shows"
        " that everything works; the numbers to quote are those of the full one.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
