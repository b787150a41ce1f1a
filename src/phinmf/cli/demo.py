"""``phinmf demo``: unmix the built-in example, and write a page to listen to."""

from __future__ import annotations

import argparse
import io
import os
from pathlib import Path

from phinmf._types import Array
from phinmf.cli import options as values


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
    """Write the example, unmix it, and print where the page is and how exactly it adds up."""
    from phinmf.audio import files
    from phinmf.audio.example import example
    from phinmf.cli.progress import progress_of
    from phinmf.cli.text import plain_console, shown
    from phinmf.report.folder import write_report
    from phinmf.unmixing.folder import unmix_file
    from phinmf.unmixing.learn import check_size
    from phinmf.unmixing.options import Output, UnmixOptions
    from phinmf.unmixing.ownership import replaceable

    if typed.output.exists() and not typed.output.is_dir():
        raise NotADirectoryError(f"{typed.output} is a file: choose another folder for --output")
    console = plain_console()
    sound = example()
    recording, folder = typed.output / "example.wav", typed.output / "example"
    options = UnmixOptions(typed.components, seed=0, max_time=typed.max_time)
    check_size(options, len(sound.mixture), sound.sample_rate)
    if os.path.lexists(folder):
        replaceable(folder)
    write_missing(recording, wave(sound.mixture, sound.sample_rate))
    seconds = len(sound.mixture) / sound.sample_rate
    console.print(f"The built-in example: {', '.join(sound.stems)}; {seconds:g} s, synthesised")
    with progress_of("example", quiet=False) as bar:
        record = unmix_file(
            files.excerpt(recording), Output(folder, overwrite=True), options,
            callback=bar.stops, progress=bar, finish=write_report,
        )  # fmt: skip
    console.print(f"The null test: the files were read again, and {record.adds_up}.")
    console.print(f"Listen: {shown(folder / 'report.html')}", soft_wrap=True)
    console.print(
        "Play a component alone: one is a drum, another a note of the string. Leave one out, or"
        " compare the sum of all with the original.",
        soft_wrap=True,
    )
    return 0


def wave(samples: Array, sample_rate: int) -> bytes:
    """Return samples (n,) as a WAV file of 24 bits."""
    import soundfile

    buffer = io.BytesIO()
    soundfile.write(buffer, samples, sample_rate, subtype="PCM_24", format="WAV")
    return buffer.getvalue()


def write_missing(path: Path, content: bytes) -> None:
    """Write a file if it does not exist; one that exists must have this content."""
    from phinmf.unmixing.placing import NEW, uninterrupted, workshop

    if os.path.lexists(path):
        if not path.is_file() or path.read_bytes() != content:
            raise FileExistsError(
                f"{path} exists already and is not the file of the demo: choose another --output"
            )
        return
    with workshop(path.parent) as bench:
        draft = bench / NEW / path.name
        draft.write_bytes(content)
        with uninterrupted():
            path.parent.mkdir(exist_ok=True)
            os.rename(draft, path)
