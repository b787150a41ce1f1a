"""``phinmf unmix``: files in, folders of components out."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from phinmf.views.cli.progress import Bar
from phinmf.views.cli.signals import handled

PREVIEW = 30.0  #: seconds
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
    add("files", nargs="+", type=Path, metavar="FILE", help="sound files, or folders of them")
    add("-k", "--components", type=int, default=8, metavar="K", help="how many (8)")
    add("-o", "--output", type=Path, default=Path("out"), metavar="DIR", help="where to (out)")
    learning = parser.add_argument_group("learning").add_argument
    learning("--window", default="40ms", help="length of a frame: 40ms, or samples (40ms)")
    learning("--sparsity", type=float, help="weight of the penalty on activations (10)")
    learning("--solver", default="lbfgs", help="lbfgs, quasi-newton, projected-gradient or jacobi")
    learning("--init", default="dct", choices=("dct", "random"), help="where the transform starts")
    learning("--seed", type=int, default=0, help="of everything random (0)")
    learning("--max-time", type=float, metavar="S", help="most seconds of learning")
    learning("--fixed-transform", action="store_true", help="plain NMF in the DCT, to compare")
    learning("--model", type=Path, metavar="NPZ", help="use a model.npz instead of learning")
    learning("--threads", type=int, metavar="N", help="how many to use (all)")
    learning("--device", metavar="cuda", help="learn on a GPU")
    learning("--cluster", metavar="tcp://…", help="scheduler of a Dask cluster to work on")
    part = parser.add_argument_group("which part of a recording").add_argument
    part("--start", type=float, default=0.0, metavar="S", help="seconds to leave out first")
    part("--duration", type=float, metavar="S", help="seconds to unmix")
    part("--preview", action="store_true", help=f"{PREVIEW:.0f} s from the middle")
    written = parser.add_argument_group("what is written").add_argument
    written("--groups", type=int, metavar="N", help="also add components up to N parts")
    written("--group", metavar="TEXT", help='also add up by name: "drums=1,4 bass=2"')
    written("--format", help="WAV, FLAC, OGG, MP3, OPUS … (as the recording; lossy ones: WAV)")
    written("--subtype", help="PCM_16, PCM_24, FLOAT … (as the recording)")
    written("--filename", default=None, help="template: component_{number:02d}, {track}-{number}")
    written("--gain", type=float, default=0.0, metavar="DB", help="for all components alike (0)")
    written("--overwrite", action="store_true", help="replace folders that phinmf wrote before")
    written("--no-report", action="store_true", help="leave the page out")
    written("--quiet", action="store_true", help="say nothing but errors")
    written("--json", action="store_true", help="print the results as JSON")


def run(options: argparse.Namespace) -> int:
    """Unmix every file; one that fails does not stop the others."""
    from phinmf.audio import files
    from phinmf.audio import groups as groupings
    from phinmf.audio.learning import window_length
    from phinmf.views.cli import cluster
    from phinmf.views.cli.main import FAILED, OK, sentence

    try:
        groups: Any = groupings.parse(options.group) if options.group else options.groups
        window_length(options.window, 44_100)
    except ValueError as error:
        options.parser.error(str(error))
    if options.preview and (options.start or options.duration):
        options.parser.error("--preview chooses its own --start and --duration")
    if options.cluster is not None and options.device is not None:
        options.parser.error("--cluster and --device do not go together: leave one of them out")
    if options.cluster == "":
        options.parser.error("--cluster is empty: give the address of a scheduler, or leave it out")
    if options.threads is not None and options.threads < 1:
        options.parser.error(f"--threads is {options.threads}, but at least 1 is needed")
    finished = [path for path in options.files if (path / "result.json").exists()]
    results, failed = [], 0
    if finished and groups is not None:
        for folder in finished:
            results.append(groupings.regroup(folder, groups))
        paths = []
    else:
        paths = files.found_in(options.files)
        if (same := namesakes(paths)) is not None:
            first, second = same
            options.parser.error(
                f"{first} and {second} would be written to the same folder,"
                f" {options.output / first.stem}: unmix them one after the other, each with an"
                " --output of its own"
            )
    for work in (
        cluster.tasks(paths, options, groups)
        if options.cluster
        else (partial(one, path, options, groups) for path in paths)
    ):
        try:
            results.append(work())
        except (ValueError, TypeError, OSError, RuntimeError, MemoryError) as error:
            print(f"phinmf: {sentence(error)}", file=sys.stderr)
            failed += 1
    if options.json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
    return FAILED if failed else OK


def namesakes(paths: list[Path]) -> tuple[Path, Path] | None:
    """Two recordings of one name, if there are any."""
    seen: dict[str, Path] = {}
    for path in paths:
        if path.stem in seen:
            return seen[path.stem], path
        seen[path.stem] = path
    return None


def one(
    path: Path, options: argparse.Namespace, groups: Any, on_cluster: bool = False
) -> dict[str, Any]:
    """Unmix one file into its folder."""
    from phinmf.audio import files
    from phinmf.audio.folder import unmix_file
    from phinmf.audio.learning import Options
    from phinmf.audio.planning import TEMPLATE, Output, folder_for
    from phinmf.views.folder_report import write_report

    sound = files.probe(path)
    start, duration = options.start, options.duration
    if options.preview:
        duration = min(PREVIEW, sound.seconds)
        start = (sound.seconds - duration) / 2
    how = Options(
        n_components=options.components,
        window=options.window,
        solver=None if options.fixed_transform else options.solver,
        init=options.init,
        seed=options.seed,
        max_time=options.max_time,
        n_threads=options.threads,
        device=options.device,
        **({} if options.sparsity is None else {"sparsity": options.sparsity}),
    )
    output = Output(
        folder_for(options.output, path),
        format=options.format,
        subtype=options.subtype,
        filename=options.filename or TEMPLATE,
        gain=options.gain,
        overwrite=options.overwrite,
        keep=tuple(options.files),
    )
    with Bar(path.name, options.quiet, learns=options.model is None) as bar, patient(bar):
        bar.say(f"{path.name}: {sound}")
        bar.say(f"{path.name}: {expectation(sound, duration, options)}")
        result = unmix_file(
            path, output, how, start=start, duration=duration, model=options.model,
            on_cluster=on_cluster, group=groups,
            callback=bar.learning, progress=bar.streaming,
            finish=nothing if options.no_report else write_report,
        )  # fmt: skip
        seconds, K = sum(result["seconds"].values()), len(result["components"])
        bar.say(f"{path.name}: {result['adds_up']}")
        if groups is not None:
            bar.say(f"{path.name}: {result['groups_add_up']}")
        bar.say(f"{path.name}: {K} components in {output.folder}, {seconds:.0f} s")
        if not options.no_report:
            bar.say(f"{path.name}: listen to {output.folder / 'report.html'}")
    return result


def nothing(folder: Path) -> None:
    """Add nothing to a folder."""


def expectation(sound: Any, duration: float | None, options: argparse.Namespace) -> str:
    """The device and the time that it will take."""
    from phinmf import threads
    from phinmf.audio.estimate import expected_seconds
    from phinmf.audio.learning import enough_frames, window_length

    M = window_length(options.window, sound.sample_rate)
    N = round(min(duration or sound.seconds, sound.seconds) * sound.sample_rate / (M / 2)) + 1
    learns = options.model is None and not options.fixed_transform
    few = min(N, enough_frames(M, sound.channels))
    seconds = expected_seconds(M, few, N, sound.channels, options.components, learns)
    if options.max_time is not None:
        seconds = min(seconds, options.max_time + seconds / 3)
    n = options.threads or threads.available()
    return f"about {max(1, round(seconds))} s on {n} CPU thread{'s' if n > 1 else ''}"


@contextmanager
def patient(bar: Bar) -> Iterator[None]:
    """Ctrl-C once asks learning to end; the second time it interrupts, and then no more."""

    def ask(*_: Any) -> None:
        if bar.stopped and not bar.left:
            bar.left = True  # learning takes an interrupt for the first one, and goes on to write
            raise KeyboardInterrupt
        bar.stopped = True  # the bar says so: nothing may be printed while something else is

    with handled([signal.SIGINT], ask):
        yield
