"""``phinmf demo``: unmix the built-in example, and write a page to listen to."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from phinmf.cli import values


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    folder, add = Path("out/demo"), parser.add_argument
    add("-o", "--output", type=values.path, default=folder, help=f"folder ({folder})")
    add(
        "-k",
        "--components",
        type=values.count,
        default=8,
        metavar="K",
        help="number of components (8)",
    )
    add("--max-time", type=values.duration, metavar="S", help="maximum seconds of learning")


def run(typed: argparse.Namespace) -> int:
    """Unmix the example, and print where the page is and how exactly the files add up."""
    from phinmf.audio.example import example
    from phinmf.audio.sample_format import SampleFormat
    from phinmf.audio.sources import ArraySource
    from phinmf.cli.progress import progress_of
    from phinmf.cli.text import plain_console, shown
    from phinmf.report.folder import write_report
    from phinmf.unmixing.folder import Origin, read_folder, write_folder
    from phinmf.unmixing.learn import learn
    from phinmf.unmixing.null_test import adds_up
    from phinmf.unmixing.options import Output, UnmixOptions
    from phinmf.unmixing.placing import new_folder

    if typed.output.exists() and not typed.output.is_dir():
        raise NotADirectoryError(f"{typed.output} is a file: choose another folder for --output")
    console = plain_console()
    sound = example()
    y = np.rint(sound.mixture * 2**23) / 2**23  # as a file of 24 bits holds it
    source, folder = ArraySource(y[:, None], sound.sample_rate), typed.output / "example"
    options = UnmixOptions(typed.components, seed=0, max_time=typed.max_time)
    seconds = len(y) / sound.sample_rate
    console.print(f"The built-in example: {', '.join(sound.stems)}; {seconds:g} s, synthesised")
    with (
        progress_of("example", quiet=False) as bar,
        new_folder(folder, overwrite=True) as new,
    ):
        model = learn(source, options, bar.stops, bar)
        origin = Origin(SampleFormat("WAV", "PCM_24"), options=options.plain())
        write_folder(new, source, model, Output(folder), origin, progress=bar)
        record = write_report(read_folder(new))
    console.print(f"The null test: the files were read again, and {adds_up(record)}.")
    console.print(f"Listen: {shown(folder / 'report.html')}", soft_wrap=True)
    console.print(
        "Play a component alone: one is a drum, another a note of the string. Leave one out, or"
        " compare the sum of all with the original.",
        soft_wrap=True,
    )
    return 0
