"""``phinmf unmix``: files in, folders of components out."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phinmf.cli import options as values
from phinmf.cli.progress import Bar
from phinmf.cli.signals import handled
from phinmf.cli.text import only_errors, shown

if TYPE_CHECKING:
    from phinmf.cli.request import Request

SOLVERS = ("lbfgs", "quasi-newton", "projected-gradient", "jacobi")
EPILOG = """\
Each recording gets a folder of its own: component_01.wav and so on, the strongest first, in the
format of the recording; result.json; model.npz, to be used on other recordings; report.html, a page
to listen to. Components add up to the recording: bit for bit if it holds integers.

Ctrl-C once ends learning and writes what has been learned; twice leaves nothing behind.

examples:
  phinmf unmix song.flac -k 8 -o out/
  phinmf unmix song.wav --preview                            thirty seconds, to try settings
  phinmf unmix album/ -o out/ --seed 1                       every recording in a folder
  phinmf unmix live.wav --model out/song/model.npz -o out/   what was learned on another one
  phinmf unmix out/song --group "drums=1,4 bass=2"           add components up; nothing is learned
  phinmf unmix tapes/ --cluster tcp://10.0.0.1:8786          a file on each worker of a Dask cluster
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="sound files, or folders of them")
    add("-k", "--components", type=values.count, default=8, metavar="K", help="how many (8)")
    add("-o", "--output", type=values.path, default=Path("out"), metavar="DIR",
        help="where to (out)")  # fmt: skip
    learning = parser.add_argument_group("learning").add_argument
    learning("--window", default="40ms", help="length of a frame: 40ms, or samples (40ms)")
    learning("--sparsity", type=values.weight, help="weight of the penalty on activations (10)")
    learning("--solver", default="lbfgs", choices=SOLVERS, help="how the transform is learned")
    learning("--init", default="dct", choices=("dct", "random"), help="where the transform starts")
    learning("--seed", type=values.seed, default=0, help="of everything random (0)")
    learning("--max-time", type=values.duration, metavar="S",
             help="maximum number of seconds of learning")  # fmt: skip
    learning("--fixed-transform", action="store_true", help="plain NMF in the DCT, to compare")
    learning("--model", type=values.path, metavar="NPZ", help="use a model.npz, learn nothing")
    learning("--threads", type=values.count, metavar="N", help="how many to use (all)")
    learning("--device", metavar="cuda", help="learn on a GPU")
    learning("--cluster", metavar="ADDRESS", help="scheduler of a Dask cluster to work on")
    part = parser.add_argument_group("which part of a recording").add_argument
    part(
        "--start", type=values.seconds, default=0.0, metavar="S", help="seconds to leave out first"
    )
    part("--duration", type=values.duration, metavar="S", help="seconds to unmix")
    part("--preview", action="store_true", help="30 s from the middle")
    written = parser.add_argument_group("what is written").add_argument
    written("--groups", type=values.count, metavar="N", help="also add components up to N parts")
    written("--group", metavar="TEXT", help='also add up by name: "drums=1,4 bass=2"')
    written("--format", help="WAV, FLAC, OGG, MP3, OPUS ... (as the recording; lossy ones: WAV)")
    written("--subtype", help="PCM_16, PCM_24, FLOAT ... (as the recording)")
    written("--filename", default=None, help="template: component_{number:02d}, {track}-{number}")
    written("--gain", type=values.decibels, default=0.0, metavar="DB",
            help="for all components alike (0)")  # fmt: skip
    written("--overwrite", action="store_true", help="replace folders that phinmf wrote before")
    written("--no-report", action="store_true", help="leave the page out")
    written("--quiet", action="store_true", help="say nothing but errors")
    written("--json", action="store_true", help="print the results as JSON")


class Attempts:
    """What is done to each input in turn: one that fails is complained of, and the next begun."""

    def __init__(self) -> None:
        self.results: list[Any] = []
        self.failed = 0

    def complain(self, error: BaseException, path: Path | None = None) -> None:
        """Say what is wrong, and with which input."""
        from phinmf.cli.main import sentence

        said = values.as_typed(sentence(error))
        if path is not None and str(path) not in said and path.name not in said:
            said = f"{path}: {said}"
        print(f"phinmf: {shown(said)}", file=sys.stderr)
        self.failed += 1

    def each(self, work: Callable[..., Any], path: Path, *arguments: Any) -> Any:
        """What `work` returns, or None if it fails."""
        try:
            return work(*arguments)
        except (ValueError, TypeError, OSError, RuntimeError, MemoryError) as error:
            self.complain(error, path)
            return None


def run(options: argparse.Namespace) -> int:
    """Unmix every file; one that fails does not stop the others."""
    from phinmf.cli.main import FAILED, OK

    groups = checked(options)
    attempts = Attempts()
    with only_errors() if options.quiet else nullcontext():
        results = unmixed(options, groups, attempts)
    if options.json:
        print(json.dumps(results, indent=2))  # in ASCII, which every terminal and program reads
    return FAILED if attempts.failed else OK


def unmixed(options: argparse.Namespace, groups: Any, attempts: Attempts) -> list[dict[str, Any]]:
    """The results of all inputs; options are checked against all of them before one is begun."""
    from phinmf.cli import cluster
    from phinmf.cli.inputs import sorted_inputs
    from phinmf.cli.request import request
    from phinmf.unmixing import groups as groupings

    grouped = groups is not None
    inputs = sorted_inputs(options.files, options.output, grouped, attempts.complain)
    asked = [attempts.each(request, path, path, options, groups) for path in inputs.recordings]
    asked = [one for one in asked if one is not None]
    results = [
        attempts.each(groupings.regroup, folder, folder, groups) for folder in inputs.finished
    ]
    if options.cluster is None:
        results += [attempts.each(one, a.path, a, options.quiet) for a in asked]
    elif asked:
        for path, work in cluster.tasks(asked, options):
            results.append(attempts.each(work, path))
    return [result for result in results if result is not None]


def checked(options: argparse.Namespace) -> Any:
    """The groups that are asked for; options that cannot be meant end the command."""
    from phinmf.unmixing import groups as groupings
    from phinmf.unmixing.learning import parsed_window

    groups: Any = options.groups
    try:
        if options.group is not None:
            groups = groupings.parse(options.group)
        parsed_window(options.window)
    except ValueError as error:
        options.parser.error(values.as_typed(str(error)))
    if options.group is not None and options.groups is not None:
        options.parser.error("--group and --groups do not go together: leave one of them out")
    if options.preview and (options.start or options.duration):
        options.parser.error("--preview chooses its own --start and --duration")
    if options.cluster is not None and options.device is not None:
        options.parser.error("--cluster and --device do not go together: leave one of them out")
    if options.cluster == "":
        options.parser.error("--cluster is empty: give the address of a scheduler, or leave it out")
    return groups


def one(asked: Request, quiet: bool, on_cluster: bool = False) -> dict[str, Any]:
    """Unmix one file into its folder."""
    from phinmf.cli.estimates import expected
    from phinmf.report.folder import write_report
    from phinmf.unmixing.folder import unmix_file

    path, output = asked.path, asked.output
    name = shown(path.name)
    plan = expected(asked)
    with Bar(name, quiet, plan) as bar, patient(bar):
        bar.say(f"{name}: {asked.sound}")
        bar.say(f"{name}: {plan}")
        result = unmix_file(
            path, output, asked.how, start=asked.start, duration=asked.duration, model=asked.model,
            on_cluster=on_cluster, group=asked.groups,
            callback=bar.learning, progress=bar.streaming,
            finish=partial(bar.page, write_report) if asked.page else nothing,
        )  # fmt: skip
        seconds, K = bar.forecast.seconds, len(result["components"])
        bar.say(f"{name}: {result['adds_up']}")
        if asked.groups is not None:
            bar.say(f"{name}: {result['groups_add_up']}")
        bar.say(f"{name}: {K} components in {shown(output.folder)}, {seconds:.0f} s")
        if asked.page:
            bar.say(f"{name}: listen to {shown(output.folder / 'report.html')}")
    return result


def nothing(folder: Path) -> None:
    """Add nothing to a folder."""


@contextmanager
def patient(bar: Bar) -> Iterator[None]:
    """Ctrl-C once asks learning to end; the second time it interrupts, and then no more."""
    leave = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: Any) -> None:
        if bar.stopped and callable(leave):
            bar.left = True  # should a library swallow what is raised now, the bar raises it again
            leave(number, frame)
        bar.stopped = True  # the bar says so: nothing may be printed while something else is

    with handled([signal.SIGINT], ask):
        yield
