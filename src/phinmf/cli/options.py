"""What may be typed: tables of the arguments of each command, and how groups are written.

The types here only read; which values are possible is checked where they are used.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, NamedTuple

from phinmf.errors import InvalidValue
from phinmf.inits import INITS
from phinmf.unmixing.mix import Group

FLAG = {"action": "store_true", "default": False}

NUMBER = r"\d{1,5}(?:\s*-\s*\d{1,5})?"
ITEM = re.compile(rf"([^=,;]+)=\s*({NUMBER}(?:\s*,\s*{NUMBER})*)\s*(?:[,;]\s*|(?<=\s)|$)")


def value(text: str) -> int | float | str:
    """Read a number; what is none stays a text, which is refused where it is checked."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text.strip()


def atoms(text: str) -> int | float | str | None:
    """Read a number of atoms, a share of the energy up to 1, or "all"."""
    return None if text.strip() == "all" else value(text)


def path(text: str) -> Path:
    """Read the path of a file or a folder; an empty one would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty, but a name is needed")
    return Path(text)


def parsed(text: str) -> list[Group]:
    """Read "drums=1,4-6 lead guitar=2": names with numbers of components, counted from 1.

    A name reaches from the group before it to its "="; groups are separated by spaces, "," or ";".
    A name that begins with a number needs "," or ";" before it.
    """
    groups: list[Group] = []
    position = 0
    while position < len(text) or not groups:
        item = ITEM.match(text, position)
        separated = not groups or text[:position].rstrip().endswith((",", ";"))
        if item is None or (not separated and re.match(r"[\s-]*\d", item[1])):
            raise InvalidValue(
                f"group is {text!r}, but names with numbers of components are needed, such as"
                ' "drums=1,4-6 lead guitar=2", or "drums=1; 2 guitars=4"'
            )
        groups.append(Group(item[1].strip(), numbers(item[2])))
        position = item.end()
    return groups


def numbers(text: str) -> list[int]:
    """Return the numbers of "1,4-6"."""
    members: list[int] = []
    for item in text.split(","):
        first, *last = sorted(map(int, item.split("-")))
        members.extend(range(first, last[0] + 1) if last else [first])
    return members


def as_text(groups: dict[str, list[int]]) -> str:
    """Return groups as they can be typed: drums=1,4-6; lead guitar=2."""
    return "; ".join(f"{name}={ranges(members)}" for name, members in groups.items())


def ranges(members: list[int]) -> str:
    """Return numbers as they can be typed: 1,4-6."""
    words: list[str] = []
    left = sorted(members)
    while left:
        n = next((i for i, number in enumerate(left) if number != left[0] + i), len(left))
        words.append(f"{left[0]}-{left[n - 1]}" if n > 2 else ",".join(map(str, left[:n])))
        left = left[n:]
    return ",".join(words)


class ReferenceText(NamedTuple):
    """A reference sound as it is typed: its name, and where it is."""

    name: str
    file: Path | None  #: None: the recording itself
    span: tuple[float, float] | None  #: seconds in the file; None: all of it


def reference(text: str) -> ReferenceText:
    """Read "voice=solo.wav", "drums=loop.wav:3s-5s" or "bass=@12s-20s", of the recording itself."""
    name, _, sound = text.partition("=")
    match = re.fullmatch(r"(?:@|(.+):)(\d+\.?\d*)s?-(\d+\.?\d*)s?", sound)
    file, span = (match[1], (float(match[2]), float(match[3]))) if match else (sound, None)
    wrong = match is None and (not sound or sound.startswith("@"))
    if wrong or not name.strip() or (span is not None and span[0] >= span[1]):
        raise InvalidValue(
            f"like is {text!r}, but a name and a sound are needed, such as voice=solo.wav,"
            " drums=loop.wav:3s-5s, or bass=@12s-20s for a stretch of the recording itself"
        )
    return ReferenceText(name.strip(), None if file is None else Path(file), span)


UNMIX_EPILOG = """\
Each recording gets a folder of its own: component_01.wav and so on, the strongest first, in the
format of the recording; result.json; model.npz, to be used on other recordings; report.html, a page
to listen to. Components add up to the recording: bit for bit if it holds integers.

Ctrl-C once ends learning and writes what has been learned; twice leaves nothing behind.

examples:
  phinmf unmix song.flac -k 8 -o out/
  phinmf unmix song.wav --preview                            thirty seconds, to try options
  phinmf unmix album/ -o out/ --seed 1                       every recording in a folder
  phinmf unmix live.wav --model out/song/model.npz -o out/   what was learned from another one
  phinmf unmix song.wav --like "voice=@12s-20s"              what sounds like that stretch
  phinmf unmix out/song --group "drums=1,4-6 bass=2"         join components; nothing is learned
  phinmf unmix song.wav --model out/song --marks marks.json -o out2   improve these groups
"""

STUDIO_EPILOG = """\
Drop a recording onto the page: after a few seconds its middle can be heard in components, later all
of it. Put components together, and take the groups away as files that add up to the recording.

Everything is computed on this computer and written into the folder -o, which `phinmf studio` shows
again next time. Recordings that are named here are read where they are and are never changed.
Ctrl-C ends the studio.

examples:
  phinmf studio                     then drop files onto the page
  phinmf studio song.flac
  phinmf studio out/song            a folder that phinmf unmix has written
"""

EXPORT_EPILOG = """\
Groups and levels are those that were chosen in `phinmf studio`, or with `phinmf unmix --group`.
Files are numbered and equally long, in the format of the components: a folder that a digital audio
workstation can import as it is. Groups add up to the recording.

examples:
  phinmf export phinmf-studio/song/whole -o song-groups
  phinmf export out/song -o song-mix --mix
  phinmf export out/song -o practice --without drums
"""

#: Arguments by title: flags or a name, help, and what else argparse needs. What is not typed has
#: only the default that is named here.
Arguments = dict[str, list[tuple[str, str, dict[str, Any]]]]

#: Names (`dest`) are those of `UnmixOptions` and `Output`, which have the defaults.
UNMIX: Arguments = {
    "": [("files", "sound files, or folders of them", {"nargs": "+", "metavar": "FILE"})],
    "learning": [
        ("-k --components", "number of components (24), or 'auto' to count them",
         {"dest": "n_components", "type": value, "metavar": "K"}),
        ("--window", "length of a frame, in ms or samples (93ms)", {}),
        ("--sparsity", "higher: each moment is explained by fewer components (50)",
         {"type": value, "metavar": "X"}),
        ("--floor", "power below which nothing counts, relative to the mean (1e-3)",
         {"type": value, "metavar": "X"}),
        ("--pairs", "cosine and sine of a frequency share their power (the default)",
         {"action": "store_true"}),
        ("--single", "each atom has a power of its own",
         {"dest": "pairs", "action": "store_false"}),
        ("--fixed", "keep the transform (the default)",
         {"dest": "solver", "action": "store_const", "const": None}),
        ("--learn", "learn the transform, too: it shows what the recording is made of",
         {"dest": "solver", "action": "store_const", "const": "lbfgs"}),
        ("--atoms", "atoms to learn: a number, a share of the energy (0.99), or 'all' (slower)",
         {"dest": "n_atoms", "type": atoms, "metavar": "N"}),
        ("--init", "the transform, or where learning it starts", {"choices": INITS}),
        ("--seed", "random seed (0)", {"type": value, "default": 0}),
        ("--max-time", "maximum seconds of learning", {"type": value, "metavar": "S"}),
        ("--model", "use a model.npz, or a folder of results with its groups; learn nothing",
         {"type": path, "metavar": "NPZ", "default": None}),
        ("--marks", "where groups of the model sound or are silent, as the studio saves it",
         {"type": path, "metavar": "JSON", "default": None}),
        ("--like", 'find what sounds like this: "voice=solo.wav", "drums=loop.wav:3s-5s", or'
         ' "bass=@12s-20s" of the recording itself; may be repeated',
         {"action": "append", "default": [], "metavar": "NAME=SOUND"}),
        ("--threads", "number of processors to use (all)",
         {"dest": "n_threads", "type": value, "metavar": "N"}),
        ("--device", "learn on a GPU", {"metavar": "cuda"}),
    ],
    "which part of a recording": [
        ("--start", "where to begin, in seconds (0)",
         {"type": value, "default": 0.0, "metavar": "S"}),
        ("--duration", "how many seconds to unmix (until the end)",
         {"type": value, "default": None, "metavar": "S"}),
        ("--preview", "30 s from the middle", FLAG),
    ],
    "what is written": [
        ("-o --output", "folder for the results (out)",
         {"type": path, "default": Path("out"), "metavar": "DIR"}),
        ("--groups", "also join components into N groups of those that are alike",
         {"type": value, "default": None, "metavar": "N"}),
        ("--group", 'also join by name: "drums=1,4-6 lead guitar=2"; may be repeated',
         {"action": "append", "default": None, "metavar": "TEXT"}),
        ("--format", "WAV, FLAC, OGG, MP3, OPUS ... (as the recording; lossy ones: WAV)", {}),
        ("--subtype", "PCM_16, PCM_24, FLOAT ... (as the recording)", {}),
        ("--overwrite", "replace folders that phinmf wrote before", FLAG),
        ("--no-report", "write no page", FLAG),
        ("--quiet", "print only errors and warnings", FLAG),
        ("--json", "print the results as JSON", FLAG),
    ],
}  # fmt: skip
STUDIO: Arguments = {
    "": [
        ("inputs", "sound files, folders of them, or folders that phinmf unmix has written",
         {"nargs": "*", "type": path, "metavar": "FILE", "default": []}),
        ("-o --output", "folder for the results (phinmf-studio)",
         {"type": path, "default": Path("phinmf-studio"), "metavar": "DIR"}),
        ("--port", "port to listen on (a free one)",
         {"type": value, "default": 0, "metavar": "N"}),
        ("--no-browser", "do not open a browser", FLAG),
    ],
}  # fmt: skip
FOLDER = ("folder", "a folder that phinmf unmix or studio has written",
          {"type": path, "metavar": "DIR"})  # fmt: skip
EXPORT: Arguments = {
    "": [
        FOLDER,
        ("-o --output", "folder to be written, which must not exist",
         {"type": path, "required": True, "metavar": "NEW"}),
        ("--mix", "one file with every component at its level", FLAG),
        ("--without", "one file with all but this group; may be repeated",
         {"action": "append", "default": [], "metavar": "GROUP"}),
    ],
}  # fmt: skip
DEMO: Arguments = {
    "": [
        ("-o --output", "folder (out/demo)",
         {"type": path, "default": Path("out/demo"), "metavar": "DIR"}),
        ("-k --components", "number of components (8)",
         {"type": value, "default": 8, "metavar": "K"}),
        ("--max-time", "maximum seconds of learning",
         {"type": value, "default": None, "metavar": "S"}),
    ],
}  # fmt: skip
REPORT: Arguments = {"": [FOLDER]}

#: the flag that sets a value
SPELLING = {
    how.get("dest", flags.strip("-").replace("-", "_")): flags.split()[0]
    for arguments in UNMIX.values()
    for flags, _, how in arguments
    if flags.startswith("-")
}


def add_arguments(parser: argparse.ArgumentParser, arguments: Arguments) -> None:
    """Add the arguments of a command."""
    for title, rows in arguments.items():
        group = parser.add_argument_group(title) if title else parser
        for flags, help, how in rows:
            group.add_argument(*flags.split(), help=help, **{"default": argparse.SUPPRESS, **how})


def spelled(message: str) -> str:
    """Return a message of the library; a parameter that begins it is named by its flag."""
    name, verb, rest = message.partition(" ")
    return SPELLING.get(name, name) + verb + rest
