"""What was named on the command line: recordings, and folders that are finished already."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple


class Inputs(NamedTuple):
    """What there is to be done."""

    finished: list[Path]  #: folders that `phinmf unmix` has written, to be grouped
    recordings: list[Path]


def sorted_inputs(
    given: Iterable[str],
    output: Path,
    grouped: bool,
    complain: Callable[[Exception], object],
) -> Inputs:
    """Tell recordings from finished folders; what cannot be used is complained of and left out."""
    inputs = Inputs([], [])
    for text in given:
        try:
            add(text, grouped, inputs)
        except (OSError, ValueError) as error:
            complain(error)
    recordings: list[Path] = []
    for path in inputs.recordings:
        there = [other for other in recordings if other.stem == path.stem and other.exists()]
        if not there or not path.exists():  # what is not there is told in its turn
            recordings.append(path)
        elif not os.path.samefile(path, other := there[0]):
            complain(
                ValueError(
                    f"{path} would be written to {output / path.stem}, as {other} is: unmix it"
                    " by itself, with another --output"
                )
            )
    return inputs._replace(recordings=recordings)


def add(text: str, grouped: bool, inputs: Inputs) -> None:
    """Add what one name on the command line stands for."""
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
