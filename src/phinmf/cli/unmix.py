"""``phinmf unmix``: files in, folders of components out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from phinmf.cli import options as values
from phinmf.cli.exit_codes import FAILED, OK
from phinmf.cli.grouping import parsed, regrouped
from phinmf.cli.one_file import unmix_one
from phinmf.cli.text import about, only_errors, print_error, shown
from phinmf.inits import INITS
from phinmf.solvers import SOLVERS
from phinmf.unmixing.options import UnmixOptions

if TYPE_CHECKING:
    from phinmf.unmix_file import Request
    from phinmf.unmixing.groups import Wanted
    from phinmf.unmixing.record import FolderRecord

T = TypeVar("T")
EPILOG = """\
Each recording gets a folder of its own: component_01.wav and so on, the strongest first, in the
format of the recording; result.json; model.npz, to be used on other recordings; report.html, a page
to listen to. Components add up to the recording: bit for bit if it holds integers.

Ctrl-C once ends learning and writes what has been learned; twice leaves nothing behind.

examples:
  phinmf unmix song.flac -k 8 -o out/
  phinmf unmix song.wav --preview                            thirty seconds, to try options
  phinmf unmix album/ -o out/ --seed 1                       every recording in a folder
  phinmf unmix live.wav --model out/song/model.npz -o out/   what was learned from another one
  phinmf unmix out/song --group "drums=1,4-6 bass=2"         join components; nothing is learned
  phinmf unmix tapes/ --cluster tcp://10.0.0.1:8786          a file on each worker of a Dask cluster
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="sound files, or folders of them")
    add(
        "-k",
        "--components",
        type=values.count_or("auto"),
        metavar="K",
        help="number of components (8), or 'auto' to count them",
    )
    add("-o", "--output", type=values.path, default=Path("out"), metavar="DIR",
        help="folder for the results (out)")  # fmt: skip
    learning = parser.add_argument_group("learning").add_argument
    learning(
        "--window",
        default=UnmixOptions.window,
        help="length of a frame, in ms or in samples (40ms)",
    )
    learning(
        "--sparsity",
        type=values.weight,
        default=UnmixOptions.sparsity,
        metavar="X",
        help="higher values explain each moment by fewer components (10)",
    )
    learning(
        "--atoms",
        type=values.atoms,
        default=UnmixOptions.n_atoms,
        metavar="N",
        help="atoms to learn: a number, a share of the energy (0.99), or 'all', which is slower",
    )
    learning("--solver", default=UnmixOptions.solver, choices=SOLVERS, help="method of learning")
    learning("--init", default=UnmixOptions.init, choices=INITS, help="where learning starts")
    learning("--seed", type=values.seed, default=0, help="random seed (0)")
    learning("--max-time", type=values.duration, metavar="S",
             help="maximum number of seconds of learning")  # fmt: skip
    learning(
        "--fixed-transform",
        action="store_true",
        help="learn components only, in a fixed transform, for comparison",
    )
    learning("--model", type=values.path, metavar="NPZ", help="use a model.npz, learn nothing")
    learning("--threads", type=values.count, metavar="N", help="number of processors to use (all)")
    learning("--device", metavar="cuda", help="learn on a GPU")
    learning("--cluster", metavar="ADDRESS", help="scheduler of a Dask cluster to work on")
    stretch = parser.add_argument_group("which part of a recording").add_argument
    stretch("--start", type=values.seconds, default=0.0, metavar="S",
            help="where to begin, in seconds (0)")  # fmt: skip
    stretch(
        "--duration",
        type=values.duration,
        metavar="S",
        help="how many seconds to unmix (until the end)",
    )
    stretch("--preview", action="store_true", help="30 s from the middle")
    stretch("--salvage", action="store_true",
            help="take what can be read of a file that is cut short or damaged")  # fmt: skip
    written = parser.add_argument_group("what is written").add_argument
    written(
        "--groups",
        type=values.count_or("saved"),
        metavar="N",
        help="also join components into N groups, or 'saved': those chosen in the studio",
    )
    written(
        "--group",
        action="append",
        metavar="TEXT",
        help='also join by name: "drums=1,4-6 lead guitar=2"; may be given several times',
    )
    written("--format", help="WAV, FLAC, OGG, MP3, OPUS ... (as the recording; lossy ones: WAV)")
    written("--subtype", help="PCM_16, PCM_24, FLOAT ... (as the recording)")
    written("--filename", default=None, help="template: component_{number:02d}, {track}-{number}")
    written("--gain", type=values.decibels, default=0.0, metavar="DB",
            help="decibels, the same for all components (0); integers may clip")  # fmt: skip
    written("--overwrite", action="store_true", help="replace folders that phinmf wrote before")
    written("--no-report", action="store_true", help="write no page")
    written("--quiet", action="store_true", help="print only errors and warnings")
    written("--json", action="store_true", help="print the results as JSON")


@dataclass(frozen=True)
class Outcome:
    """The folder and the record of one input."""

    folder: Path
    record: FolderRecord

    def to_json(self) -> dict[str, object]:
        """Return what ``--json`` prints."""
        return {"folder": str(self.folder), **self.record.to_json()}


class Attempts:
    """Handles one input after the other; reports those that fail and continues with the next."""

    def __init__(self, debug: bool) -> None:
        self.debug = debug
        self.failed = 0

    def complain(self, error: Exception, path: Path | None = None) -> None:
        """Print what is wrong, and with which input."""
        print_error(error, self.debug, path)
        self.failed += 1

    def each(self, path: Path, work: Callable[[], T]) -> T | None:
        """Return what `work` returns, or None if it fails."""
        try:
            return work()
        except Exception as error:
            self.complain(error, path)
            return None


def run(typed: argparse.Namespace) -> int:
    """Unmix every file; one that fails does not stop the others."""
    groups = checked(typed)
    attempts = Attempts(typed.debug)
    with only_errors() if typed.quiet else nullcontext():
        outcomes = unmixed(typed, groups, attempts)
    if typed.json:
        results = [outcome.to_json() for outcome in outcomes]
        print(json.dumps(results, indent=2))  # in ASCII, which every terminal and program reads
    return FAILED if attempts.failed else OK


def unmixed(typed: argparse.Namespace, groups: Wanted | None, attempts: Attempts) -> list[Outcome]:
    """Return the outcomes; options are checked against all inputs before the first one begins."""
    from phinmf.cli import cluster
    from phinmf.cli.inputs import sorted_inputs
    from phinmf.cli.request import checked_request

    inputs = sorted_inputs(typed.files, typed.output, groups is not None, attempts.complain)
    requests = []
    for path in inputs.recordings:
        request = attempts.each(path, partial(checked_request, path, typed, groups))
        requests += [] if request is None else [request]
    outcomes: list[Outcome] = []

    def attempt(path: Path, folder: Path, work: Callable[[], FolderRecord]) -> None:
        record = attempts.each(path, work)
        if record is not None:
            outcomes.append(Outcome(folder, record))
            if record.clipped is not None:
                print(f"phinmf: {shown(about(path, clipping(record)))}", file=sys.stderr)

    def say(text: str) -> None:
        if not typed.quiet:
            print(text, file=sys.stderr)  # standard output is only for results

    if groups is not None:
        for folder in inputs.finished:
            attempt(folder, folder, partial(regrouped, folder, groups, say))
    tasks = cluster.tasks if typed.cluster is not None and requests else local_tasks
    for request, work in tasks(requests, typed):
        attempt(request.path, request.output.folder, work)
    return outcomes


def local_tasks(
    requests: list[Request], typed: argparse.Namespace
) -> Iterator[tuple[Request, Callable[[], FolderRecord]]]:
    """Yield a function for each file, which unmixes it on this machine."""
    for request in requests:
        yield request, partial(unmix_one, request, typed.quiet)


def clipping(record: FolderRecord) -> str:
    """Say that samples were clipped, and how to avoid it."""
    n = record.clipped or 0
    return (
        f"{n} sample{'s' * (n != 1)} of the components {'is' if n == 1 else 'are'} clipped at full"
        " scale: use --format WAV --subtype FLOAT or a lower --gain"
    )


def checked(typed: argparse.Namespace) -> Wanted | None:
    """Return the groups that are asked for; exit if options contradict each other."""
    from phinmf.unmixing.options import parsed_window

    groups: Wanted | None = typed.groups
    try:
        if typed.group is not None:
            groups = parsed("; ".join(typed.group))
        parsed_window(typed.window)
    except ValueError as error:
        typed.parser.error(values.as_typed(str(error)))
    if typed.group is not None and typed.groups is not None:
        typed.parser.error("--group and --groups do not go together: leave one of them out")
    if typed.preview and (typed.start or typed.duration):
        typed.parser.error("--preview chooses its own --start and --duration")
    if typed.cluster is not None and typed.device is not None:
        typed.parser.error("--cluster and --device do not go together: leave one of them out")
    if typed.cluster == "":
        typed.parser.error("--cluster is empty: give the address of a scheduler, or leave it out")
    return groups
