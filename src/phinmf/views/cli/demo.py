"""``phinmf demo``: the built-in example, taken apart, scored, and a page to listen to."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    folder = Path("out/demo")
    parser.add_argument("-o", "--output", type=Path, default=folder, help=f"folder ({folder})")
    parser.add_argument("-k", "--components", type=int, default=8, metavar="K", help="how many (8)")
    parser.add_argument("--max-time", type=float, metavar="S", help="most seconds of learning")


def run(options: argparse.Namespace) -> int:
    """Write the example and its stems, unmix it, score it, and say where everything is."""
    import soundfile
    from rich.console import Console

    from phinmf.audio.example import example
    from phinmf.audio.folder import Output, unmix_file
    from phinmf.audio.learning import Options
    from phinmf.audio.score_files import score_files
    from phinmf.views.cli.progress import Bar
    from phinmf.views.cli.unmix import patient
    from phinmf.views.folder_report import write_report

    console = Console()
    sound = example()
    stems = options.output / "stems"
    stems.mkdir(parents=True, exist_ok=True)
    mixture = options.output / "example.wav"
    soundfile.write(mixture, sound.mixture, sound.sample_rate, subtype="PCM_24")
    for name, stem in sound.stems.items():
        soundfile.write(stems / f"{name}.wav", stem, sound.sample_rate, subtype="PCM_24")
    seconds = len(sound.mixture) / sound.sample_rate
    console.print(f"The built-in example: {', '.join(sound.stems)}; {seconds:g} s, synthesised")
    folder = options.output / "example"
    shutil.rmtree(folder, ignore_errors=True)
    how = Options(n_components=options.components, seed=0, max_time=options.max_time)
    with Bar("example", quiet=False) as bar, patient(bar):
        result = unmix_file(
            mixture, Output(folder), how, callback=bar.learning, progress=bar.streaming,
            finish=write_report,
        )  # fmt: skip
    console.print(f"{result['adds_up']}.")
    files = [folder / component["file"] for component in result["components"]]
    table = score_files(files, sorted(stems.iterdir()), mixture=mixture)
    console.print(table.table())
    console.print(f"Listen: {folder / 'report.html'}")
    return 0
