"""The inputs on the command line: recordings, and folders that were unmixed before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path


@dataclass(frozen=True)
class Inputs:
    """Recordings to unmix, and unmixed folders whose components are to be grouped."""

    finished: list[Path] = field(default_factory=list)  #: folders that `phinmf unmix` wrote
    recordings: list[Path] = field(default_factory=list)


def sorted_inputs(
    given: Iterable[str],
    output: Path,
    grouped: bool,
    complain: Callable[[Exception], object],
) -> Inputs:
    """Sort inputs into recordings and finished folders; report those that cannot be used."""
    inputs = Inputs()
    for text in given:
        try:
            add(text, grouped, inputs)
        except (OSError, ValueError) as error:
            complain(error)
    recordings: list[Path] = []
    for path in inputs.recordings:
        same_name = [other for other in recordings if other.stem == path.stem and other.exists()]
        if not same_name or not path.exists():  # a missing file is reported when its turn comes
            recordings.append(path)
        elif not os.path.samefile(path, other := same_name[0]):
            complain(
                ValueError(
                    f"{path} would be written to {output / path.stem}, as {other} is: unmix it"
                    " by itself, with another --output"
                )
            )
    return replace(inputs, recordings=recordings)


def existing(path: Path) -> Path:
    """Return the path of what was unmixed before; raise FileNotFoundError if nothing is there."""
    if not os.path.lexists(path):
        raise FileNotFoundError(f"{path} does not exist")
    return path


def add(text: str, grouped: bool, inputs: Inputs) -> None:
    """Add the recordings or the folder that one name on the command line refers to."""
    from phinmf.audio import files

    if not text:
        raise ValueError("the name of an input is empty: give a sound file or a folder")
    path = Path(text)
    if (path / "result.json").exists():
        if not grouped:
            raise ValueError(
                f"{path} has been written by phinmf unmix: give the recording to unmix it again,"
                ' or add --group "drums=1,4 bass=2" or --groups 3 to add its components up'
            )
        inputs.finished.append(path)
    elif path.is_dir():
        inputs.recordings.extend(files.found_in(path))
    else:
        inputs.recordings.append(path)
