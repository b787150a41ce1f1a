"""Checks of folders that phinmf has written, without any code of phinmf."""

import json
import os
from pathlib import Path

import numpy as np
import soundfile


def strict(text: str | bytes):
    """JSON as any program reads it."""

    def refuse(token):
        raise ValueError(f"{token} is not JSON")

    return json.loads(text, parse_constant=refuse)


def check_folder(folder: Path, recording: Path | None, fresh: set[str]) -> str:
    """What is wrong with the fresh files of a folder; nothing of phinmf is used to find out."""
    try:
        result = strict((folder / "result.json").read_bytes())
    except (OSError, ValueError) as error:
        return f"result.json: {error}"
    for name, entry in result["files"].items():
        if name not in fresh:
            continue
        if (folder / name).stat().st_size != entry["bytes"]:
            return f"{name} is not as listed"
    parts = [sound_of(folder / c["file"]) for c in result["components"]]
    whole = sum(part.astype(np.float64) for part in parts)
    n = result["length"]
    anew = fresh >= {c["file"] for c in result["components"]}
    if anew and not fresh >= set(result["files"]):
        return f"lists {sorted(result['files'])}, has {sorted(fresh)}"
    if anew and recording is not None:
        y = sound_of(recording)[result["start"] : result["start"] + n]
        wanted = y.astype(np.float64) * 10 ** (result["gain_db"] / 20)
        lossless = result["source"]["subtype"] in (*WIDTHS, "FLOAT", "DOUBLE")
        how = (result["subtype"], 0.0 if lossless else 2e-7)
        if wrong := check_null_test(result["null_test"], whole[:n], wanted, *how):
            return wrong
    if result["groups"] and fresh >= {g["file"] for g in result["groups"].values()}:
        groups = [sound_of(folder / g["file"]) for g in result["groups"].values()]
        members = sorted(k for g in result["groups"].values() for k in g["components"])
        if members != list(range(1, len(parts) + 1)):
            return f"groups hold {members}"
        added = sum(group.astype(np.float64) for group in groups)
        subtype = result["subtype"]
        if wrong := check_null_test(result["groups_null_test"], added[:n], whole[:n], subtype):
            return wrong
    if anew:
        with np.load(folder / "model.npz", allow_pickle=False) as model:
            return "" if model.files else "model.npz is empty"
    return ""


WIDTHS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32}


def sound_of(path: Path) -> np.ndarray:
    """Samples in double precision, in which integers of 32 bits and sums of them are exact."""
    subtype = soundfile.info(os.fsencode(path)).subtype
    if subtype in WIDTHS:
        return soundfile.read(os.fsencode(path), dtype="int32", always_2d=True)[0] / 2.0**31
    return soundfile.read(os.fsencode(path), dtype="float64", always_2d=True)[0]


def check_null_test(
    test: dict, total: np.ndarray, wanted: np.ndarray, subtype: str, slack: float = 0.0
) -> str:
    """What is wrong in the facts about how exactly components add up.

    The slack is that of a decoder whose samples differ in the last bit from one time to the next.
    """
    if total.shape != wanted.shape:
        return f"{total.shape} samples, but {wanted.shape} were to be taken apart"
    rest = total - wanted
    if test["exact"] or test["rounded"]:
        if not test["exact"]:
            full = 2.0 ** (WIDTHS[subtype] - 1)
            rest = total - np.rint(wanted * full) / full
            slack += (slack > 0) / full
        worst = abs(rest).max()
        return f"said {test}, but the greatest difference is {worst}" if worst > slack else ""
    scale = 1.0 if test["silent"] else abs(wanted).max()
    energy, residual = (float(np.square(x / scale).sum()) for x in (wanted, rest))
    if residual == 0:
        return f"exact, but said {test}"
    level = 10 * np.log10(residual / (wanted.size if test["silent"] else energy))
    if max(test["db"], level) < -300:  # which is how exactly double precision can add up
        return ""
    return "" if abs(test["db"] - level) < 1 else f"{level} dB, but said {test}"
