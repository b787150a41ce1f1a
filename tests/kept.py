"""Folders before and after a command: as they were, or whole."""

import json
import os

import numpy as np
import soundfile

from phinmf.cli import main

QUICK = ["-k", "2", "--window", "64", "--no-report"]


def everything(folder):
    """Every file, link and folder below a folder, with contents."""
    return {
        str(path.relative_to(folder)): (
            os.readlink(path)
            if path.is_symlink()
            else path.read_bytes()
            if path.is_file()
            else None
        )
        for path in sorted(folder.rglob("*"))
    }


def unchanged_by(here, capsys, command, *said):
    """Run a command that is refused in one sentence before it learns, and changes nothing."""
    before = everything(here)
    assert main(command) == 1
    assert everything(here) == before
    err = capsys.readouterr().err
    refusal = [line for line in err.splitlines() if line.startswith("phinmf: ")]
    assert len(refusal) == 1
    assert "%" not in err  # no progress: nothing was learned
    for word in said:
        assert word in refusal[0]


def check_whole(folder, recording=None):
    """A folder has the files that it lists, and its sounds add up as it says."""
    names = {path.name for path in folder.iterdir()}
    assert names == {*record_of(folder)["files"], "result.json"}
    assert check_folder(folder, recording, names) == ""


def record_of(folder):
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


WIDTHS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32}


def strict(text):
    """JSON as any program reads it."""

    def refuse(token):
        raise ValueError(f"{token} is not JSON")

    return json.loads(text, parse_constant=refuse)


def check_folder(folder, recording, fresh):
    """What is wrong with the fresh files of a folder; nothing of phinmf is used to find out."""
    try:
        result = strict((folder / "result.json").read_bytes())
    except (OSError, ValueError) as error:
        return f"result.json: {error}"
    for name, entry in result["files"].items():
        if name in fresh and (folder / name).stat().st_size != entry["bytes"]:
            return f"{name} is not as listed"
    n, subtype = result["length"], result["subtype"]
    parts = [sound_of(folder / component["file"]) for component in result["components"]]
    whole = sum(part.astype(np.float64) for part in parts)[:n]
    anew = fresh >= {component["file"] for component in result["components"]}
    if anew and not fresh >= set(result["files"]):
        return f"lists {sorted(result['files'])}, has {sorted(fresh)}"
    if anew and recording is not None:
        expected = sound_of(recording)[result["start"] : result["start"] + n].astype(np.float64)
        lossless = result["source"]["subtype"] in (*WIDTHS, "FLOAT", "DOUBLE")
        slack = 0.0 if lossless else 2e-7  # a decoder may differ in the last bit from time to time
        if wrong := check_null_test(result["null_test"], whole, expected, subtype, slack):
            return wrong
    groups = (result["groups"] or {}).values()
    if groups and fresh >= {group["file"] for group in groups}:
        if sorted(k for g in groups for k in g["components"]) != list(range(1, len(parts) + 1)):
            return f"groups hold {groups}"
        added = sum(sound_of(folder / group["file"]).astype(np.float64) for group in groups)
        return check_null_test(result["groups_null_test"], added[:n], whole, subtype)
    return ""


def sound_of(path):
    """Samples in double precision, in which integers of 32 bits and sums of them are exact."""
    if soundfile.info(os.fsencode(path)).subtype in WIDTHS:
        return soundfile.read(os.fsencode(path), dtype="int32", always_2d=True)[0] / 2.0**31
    return soundfile.read(os.fsencode(path), dtype="float64", always_2d=True)[0]


def check_null_test(test, total, expected, subtype, slack=0.0):
    """What is wrong in the facts about how exactly components add up."""
    if total.shape != expected.shape:
        return f"{total.shape} samples, but {expected.shape} were to be taken apart"
    rest = total - expected
    if test["exact"] or test["rounded"]:
        if not test["exact"]:
            full = 2.0 ** (WIDTHS[subtype] - 1)
            rest = total - np.rint(expected * full) / full
            slack += (slack > 0) / full
        worst = abs(rest).max()
        return f"said {test}, but the greatest difference is {worst}" if worst > slack else ""
    scale = 1.0 if test["silent"] else abs(expected).max()
    energy, residual = (float(np.square(x / scale).sum()) for x in (expected, rest))
    if residual == 0:
        return f"exact, but said {test}"
    level = 10 * np.log10(residual / (expected.size if test["silent"] else energy))
    if max(test["db"], level) < -300:  # which is how exactly double precision can add up
        return ""
    return "" if abs(test["db"] - level) < 1 else f"{level} dB, but said {test}"
