"""``phinmf unmix``: files in, folders of components out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phinmf.cli import values
from phinmf.cli.grouping import lines, parsed, regrouped
from phinmf.cli.progress import progress_of
from phinmf.cli.text import Failures, about, shown
from phinmf.inits import INITS
from phinmf.solvers import SOLVERS
from phinmf.unmixing.options import MAX_GAIN, TEMPLATE, UnmixOptions, parsed_window

if TYPE_CHECKING:
    from phinmf.unmix_file import Request
    from phinmf.unmixing.groups import Grouping
    from phinmf.unmixing.record import FolderRecord

MAX_SPARSITY = 1e9  #: within the range of single precision
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

#: Options by group: flags, and what argparse needs. Names (`dest`) are those of `UnmixOptions` and
#: `Output`, whose messages are translated with them.
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "learning": {
        "-k --components": {
            "dest": "n_components", "type": values.whole(1, word="auto"), "metavar": "K",
            "help": "number of components (8), or 'auto' to count them",
        },
        "--window": {
            "default": UnmixOptions.window, "help": "length of a frame, in ms or samples (40ms)",
        },
        "--sparsity": {
            "type": values.number(0, MAX_SPARSITY), "default": UnmixOptions.sparsity,
            "metavar": "X", "help": "higher: each moment is explained by fewer components (10)",
        },
        "--atoms": {
            "dest": "n_atoms", "type": values.atoms, "default": UnmixOptions.n_atoms,
            "metavar": "N",
            "help": "atoms to learn: a number, a share of the energy (0.99), or 'all' (slower)",
        },
        "--solver": {
            "default": UnmixOptions.solver, "choices": SOLVERS, "help": "method of learning",
        },
        "--init": {
            "default": UnmixOptions.init, "choices": INITS, "help": "where learning starts",
        },
        "--seed": {"type": values.seed, "default": 0, "help": "random seed (0)"},
        "--max-time": {
            "type": values.duration, "metavar": "S", "help": "maximum seconds of learning",
        },
        "--fixed-transform": {
            "action": "store_true",
            "help": "learn components only, in a fixed transform, for comparison",
        },
        "--model": {
            "type": values.path, "metavar": "NPZ", "help": "use a model.npz, learn nothing",
        },
        "--threads": {
            "dest": "n_threads", "type": values.count, "metavar": "N",
            "help": "number of processors to use (all)",
        },
        "--device": {"metavar": "cuda", "help": "learn on a GPU"},
        "--cluster": {"metavar": "ADDRESS", "help": "scheduler of a Dask cluster to work on"},
    },
    "which part of a recording": {
        "--start": {
            "type": values.seconds, "default": 0.0, "metavar": "S",
            "help": "where to begin, in seconds (0)",
        },
        "--duration": {
            "type": values.duration, "metavar": "S",
            "help": "how many seconds to unmix (until the end)",
        },
        "--preview": {"action": "store_true", "help": "30 s from the middle"},
        "--salvage": {
            "action": "store_true",
            "help": "take what can be read of a file that is cut short or damaged",
        },
    },
    "what is written": {
        "-o --output": {
            "type": values.path, "default": Path("out"), "metavar": "DIR",
            "help": "folder for the results (out)",
        },
        "--groups": {
            "type": values.count, "metavar": "N",
            "help": "also join components into N groups of those that are alike",
        },
        "--group": {
            "action": "append", "metavar": "TEXT",
            "help": 'also join by name: "drums=1,4-6 lead guitar=2"; may be repeated',
        },
        "--format": {"help": "WAV, FLAC, OGG, MP3, OPUS ... (as the recording; lossy ones: WAV)"},
        "--subtype": {"help": "PCM_16, PCM_24, FLOAT ... (as the recording)"},
        "--filename": {"default": TEMPLATE, "help": f"template: {TEMPLATE}, {{track}}-{{number}}"},
        "--gain": {
            "type": values.number(-MAX_GAIN, MAX_GAIN, " of decibels"), "default": 0.0,
            "metavar": "DB", "help": "the same for all components (0); integers may clip",
        },
        "--overwrite": {"action": "store_true", "help": "replace folders that phinmf wrote before"},
        "--no-report": {"action": "store_true", "help": "write no page"},
        "--quiet": {"action": "store_true", "help": "print only errors and warnings"},
        "--json": {"action": "store_true", "help": "print the results as JSON"},
    },
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="sound files, or folders of them")
    for title, options in OPTIONS.items():
        group = parser.add_argument_group(title)
        for flags, how in options.items():
            group.add_argument(*flags.split(), **how)


def run(typed: argparse.Namespace) -> int:
    """Unmix every file; options are checked against all of them before the first one begins."""
    groups = checked_groups(typed)
    from phinmf.cli.cluster import on_cluster
    from phinmf.cli.recordings import checked_request, sorted_inputs, without_namesakes

    spelling = {
        how.get("dest", flags.lstrip("-").replace("-", "_")): flags.split()[0]
        for options in OPTIONS.values()
        for flags, how in options.items()
    }
    failures = Failures(typed.debug, spelling)
    folders, recordings = sorted_inputs(typed.files, groups is not None, failures)
    requests: list[Request] = []
    for path in without_namesakes(recordings, typed.output, failures):
        with failures.reported(path):
            requests.append(checked_request(path, typed, groups))
    results: list[dict[str, object]] = []

    def finish(path: Path, folder: Path, record: FolderRecord) -> None:
        results.append({"folder": str(folder), **record.to_json()})
        if record.clipped is not None:
            print(f"phinmf: {shown(about(path, clipping(record.clipped)))}", file=sys.stderr)

    if groups is not None:
        for folder in folders:
            with failures.reported(folder):
                finish(folder, folder, regrouped(folder, groups, typed.quiet))

    def local(request: Request) -> Callable[[], FolderRecord]:
        return partial(unmix_one, request, typed.quiet)

    remote = typed.cluster is not None and requests
    with on_cluster(typed.cluster, typed.quiet) if remote else nullcontext(local) as start:
        for request, result in [(request, start(request)) for request in requests]:
            with failures.reported(request.path):
                finish(request.path, request.output.folder, result())
    if typed.json:
        print(json.dumps(results, indent=2))  # in ASCII, which every terminal and program reads
    return 1 if failures.number else 0


def unmix_one(request: Request, quiet: bool) -> FolderRecord:
    """Unmix one file into its folder, show the progress, and say what was written."""
    from phinmf.fit.automatic import AUTO
    from phinmf.unmix_file import unmix_file
    from phinmf.unmixing.null_test import adds_up

    folder, name = request.output.folder, shown(request.path.name)
    with progress_of(name, quiet) as bar:
        bar.say(f"{name}: {request.recording.sound}")
        record = unmix_file(request, bar.stops, bar)
        K = len(record.components)
        if request.model is None and request.options.n_components == AUTO:
            bar.say(f"{name}: {K} components found")
        for line in (adds_up(record), *lines(folder, record)):
            bar.say(f"{name}: {line}")
        bar.say(f"{name}: {K} components in {shown(folder)}")
        if request.page:
            bar.say(f"{name}: listen to {shown(folder / 'report.html')}")
    return record


def clipping(n: int) -> str:
    """Say that samples were clipped, and how to avoid it."""
    return (
        f"{n} sample{'s' * (n != 1)} of the components {'is' if n == 1 else 'are'} clipped at full"
        " scale: use --format WAV --subtype FLOAT or a lower --gain"
    )


def checked_groups(typed: argparse.Namespace) -> Grouping | None:
    """Return the groups that were typed; exit if options contradict each other."""
    error = typed.parser.error
    groups: Grouping | None = typed.groups
    try:
        parsed_window(typed.window)
        if typed.group is not None:
            groups = parsed("; ".join(typed.group))
    except ValueError as problem:  # which begins with the name of the option
        error(f"--{problem}")
    if typed.group is not None and typed.groups is not None:
        error("--group and --groups do not go together: leave one of them out")
    if typed.preview and (typed.start or typed.duration):
        error("--preview chooses its own --start and --duration")
    if typed.cluster is not None and typed.device is not None:
        error("--cluster and --device do not go together: leave one of them out")
    if typed.cluster == "":
        error("--cluster is empty: give the address of a scheduler, or leave it out")
    return groups
