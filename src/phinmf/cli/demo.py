"""``phinmf demo``: the built-in example, taken apart, scored, and a page to listen to."""

from __future__ import annotations

import argparse
import io
import os
from pathlib import Path
from typing import Any

from phinmf.cli import options as values
from phinmf.unmixing.placing import NEW, uninterrupted, workshop


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    folder, add = Path("out/demo"), parser.add_argument
    add("-o", "--output", type=values.path, default=folder, help=f"folder ({folder})")
    add("-k", "--components", type=values.count, default=8, metavar="K", help="how many (8)")
    add("--max-time", type=values.duration, metavar="S", help="maximum seconds of learning")


def run(options: argparse.Namespace) -> int:
    """Write the example and its stems, unmix it, score it, and say where everything is."""
    from phinmf.audio.example import example
    from phinmf.cli.progress import Bar
    from phinmf.cli.text import plain_console, shown
    from phinmf.cli.unmix import patient
    from phinmf.report.folder import write_report
    from phinmf.scores.files import score_files
    from phinmf.unmixing.folder import unmix_file
    from phinmf.unmixing.learning import Options, check_size
    from phinmf.unmixing.ownership import replaceable
    from phinmf.unmixing.planning import Output

    console = plain_console()
    sound = example()
    mixture, folder = options.output / "example.wav", options.output / "example"
    stems = {options.output / "stems" / f"{name}.wav": y for name, y in sound.stems.items()}
    how = Options(n_components=options.components, seed=0, max_time=options.max_time)
    check_size(how, len(sound.mixture), sound.sample_rate)
    if os.path.lexists(folder):
        replaceable(folder)
    write_missing({mixture: sound.mixture, **stems}, sound.sample_rate)
    seconds = len(sound.mixture) / sound.sample_rate
    console.print(f"The built-in example: {', '.join(sound.stems)}; {seconds:g} s, synthesised")
    with Bar("example", quiet=False) as bar, patient(bar):
        result = unmix_file(
            mixture, Output(folder, overwrite=True), how, callback=bar.learning,
            progress=bar.streaming, finish=write_report,
        )  # fmt: skip
    console.print(f"{result['adds_up']}.")
    files = [folder / component["file"] for component in result["components"]]
    table = score_files(files, sorted(stems), mixture=mixture)
    console.print(table.table())
    console.print(f"Listen: {shown(folder / 'report.html')}")
    return 0


def write_missing(sounds: dict[Path, Any], sample_rate: int) -> None:
    """Write sounds to files; one that is there must be the same, and none is replaced."""
    import soundfile

    missing = {}
    for path, samples in sounds.items():
        buffer = io.BytesIO()
        soundfile.write(buffer, samples, sample_rate, subtype="PCM_24", format="WAV")
        content = buffer.getvalue()
        if not os.path.lexists(path):
            missing[path] = content
        elif not path.is_file() or path.read_bytes() != content:
            raise FileExistsError(
                f"{path} is there already and is not the file of the demo: choose another --output"
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
