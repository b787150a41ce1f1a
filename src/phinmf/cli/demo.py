"""``phinmf demo``: unmix and score the built-in example, and write a page to listen to."""

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
    """Write the example and its stems, unmix it, score it, and print where the page is."""
    from phinmf.audio import files
    from phinmf.audio.example import example
    from phinmf.cli.one_file import patient
    from phinmf.cli.progress import Bar
    from phinmf.cli.text import plain_console, shown
    from phinmf.report.folder import write_report
    from phinmf.scores.files import score_files
    from phinmf.unmixing.folder import unmix_file
    from phinmf.unmixing.learn import check_size
    from phinmf.unmixing.options import Output, UnmixOptions
    from phinmf.unmixing.ownership import replaceable

    if typed.output.exists() and not typed.output.is_dir():
        raise NotADirectoryError(f"{typed.output} is a file: choose another folder for --output")
    console = plain_console()
    sound = example()
    mixture, folder = typed.output / "example.wav", typed.output / "example"
    stems = {typed.output / "stems" / f"{name}.wav": y for name, y in sound.stems.items()}
    options = UnmixOptions(typed.components, seed=0, max_time=typed.max_time)
    check_size(options, len(sound.mixture), sound.sample_rate)
    if os.path.lexists(folder):
        replaceable(folder)
    write_missing({mixture: sound.mixture, **stems}, sound.sample_rate)
    seconds = len(sound.mixture) / sound.sample_rate
    console.print(f"The built-in example: {', '.join(sound.stems)}; {seconds:g} s, synthesised")
    with Bar("example", quiet=False) as bar, patient(bar):
        record = unmix_file(
            files.excerpt(mixture), Output(folder, overwrite=True), options,
            callback=bar.learning, progress=bar.writing, finish=bar.page(write_report),
        )  # fmt: skip
    console.print(f"{record.adds_up}.")
    components = [folder / component.file for component in record.components]
    table = score_files(components, sorted(stems), mixture=mixture)
    console.print(table.table())
    console.print(f"Listen: {shown(folder / 'report.html')}")
    return 0


def write_missing(sounds: dict[Path, Array], sample_rate: int) -> None:
    """Write sounds to files that do not exist; existing files must have the same contents."""
    import soundfile

    from phinmf.unmixing.placing import NEW, uninterrupted, workshop

    missing = {}
    for path, samples in sounds.items():
        buffer = io.BytesIO()
        soundfile.write(buffer, samples, sample_rate, subtype="PCM_24", format="WAV")
        content = buffer.getvalue()
        if not os.path.lexists(path):
            missing[path] = content
        elif not path.is_file() or path.read_bytes() != content:
            raise FileExistsError(
                f"{path} exists already and is not the file of the demo: choose another --output"
            )
    if not missing:
        return
    with workshop(min(missing, key=lambda path: len(path.parts))) as bench:
        drafts = [bench / NEW / str(i) for i in range(len(missing))]
        for draft, content in zip(drafts, missing.values(), strict=True):
            draft.write_bytes(content)
        with uninterrupted():
            for path in missing:
                path.parent.mkdir(exist_ok=True)
            for draft, path in zip(drafts, missing, strict=True):
                os.rename(draft, path)
