"""From a sound file to a folder of its components, which appears complete or not at all."""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from phinmf._types import Array
from phinmf.algorithm import Callback
from phinmf.audio import files
from phinmf.audio.files import Sound
from phinmf.audio.learning import Learned, Options, learn, window_length
from phinmf.audio.many_files import frames_of
from phinmf.audio.model_files import load_model, save_model
from phinmf.audio.streaming import Separation
from phinmf.audio.unmixing import Unmixing, view
from phinmf.audio.writing import Encoding, Stems, encoding_for

TEMPLATE = "component_{number:02d}"


@dataclass(frozen=True)
class Output:
    """Where the parts of a file go, and as what."""

    folder: Path
    format: str | None = None
    subtype: str | None = None
    filename: str = TEMPLATE
    gain: float = 0.0  #: dB, the same for all parts
    overwrite: bool = False


class Plan(NamedTuple):
    """What will be written, found possible before any work is done."""

    output: Output
    encoding: Encoding
    names: list[str]  #: of the components' files


def unmix_file(
    path: Path,
    output: Output,
    options: Options,
    *,
    start: float = 0.0,
    duration: float | None = None,
    model: Path | None = None,
    on_cluster: bool = False,
    callback: Callback | None = None,
    progress: Callable[[float], Any] = lambda share: None,
    finish: Callable[[Path], Any] = lambda folder: None,
) -> dict[str, Any]:
    """Unmix a file into a folder; returns what result.json says.

    On a cluster it is learned on all frames, by the current client. `finish` may add to the folder
    before it takes its name.
    """
    clock = time.perf_counter()
    sound = files.probe(path)
    first = min(round(start * sound.sample_rate), sound.length - 1)
    length = sound.length - first
    if duration is not None:
        length = min(length, max(1, round(duration * sound.sample_rate)))
    saved = None if model is None else load_model(model, sound.sample_rate)
    K = options.n_components if saved is None else saved.K
    plan = planned(output, sound, length, K)

    def read(s: int, n: int) -> Array:
        return files.read(sound, first + s, min(n, length - s))

    frames = None
    if on_cluster and saved is None:
        M = window_length(options.window, sound.sample_rate)
        frames = frames_of(sound, first, length, M, np.float32)
    how = (length, sound.channels, sound.sample_rate, options, callback, frames)
    learned = saved or learn(read, *how)
    seconds = {"learning": time.perf_counter() - clock}
    facts = {"source": describe(sound), "start": first, "length": length}
    facts |= {"options": asdict(options), "model": None if model is None else model.name}
    blocks = files.blocks(sound, first, length)
    return stream(blocks, sound, length, learned, plan, facts, seconds, options, progress, finish)


def stream(
    blocks: Iterable[Array],
    sound: Sound,
    length: int,
    learned: Learned,
    plan: Plan,
    facts: dict[str, Any],
    seconds: dict[str, float],
    options: Options,
    progress: Callable[[float], Any] = lambda share: None,
    finish: Callable[[Path], Any] = lambda folder: None,
) -> dict[str, Any]:
    """Send samples through a model into a folder that takes its name when all is written."""
    clock = time.perf_counter()
    output, encoding, names = plan
    final = output.folder
    working = final.with_name(f".{final.name}.{os.getpid()}.partial")
    working.mkdir(parents=True)
    try:
        raw = [working / f"{k}{encoding.suffix}" for k in range(learned.K)]
        fine = encoding.subtype in ("DOUBLE", "PCM_32")
        dtype = np.float64 if fine else np.float32  # whose 24 bits are all that is written
        separation = Separation(learned, sound.channels, options.n_threads, dtype)
        with Stems(raw, encoding, sound, 10 ** (output.gain / 20)) as stems:
            done = 0
            for signal, parts in separation(blocks):
                stems.write(signal, parts)
                done += len(signal)
                progress(done / length)
        order = np.argsort(-stems.energies, kind="stable")
        for name, k in zip(names, order, strict=True):
            os.replace(raw[k], working / name)
        seconds["streaming"] = time.perf_counter() - clock
        learned = learned.in_order(order)
        save_model(learned, working / "model.npz")
        result = {
            **facts,
            "components": [component(names[i], stems, k, done) for i, k in enumerate(order)],
            "format": encoding.format,
            "subtype": encoding.subtype,
            "gain_db": output.gain,
            "similarity": similarity(separation.activations, order).round(4).tolist(),
            "window": learned.M,
            "objective": learned.history[-1].target_objective if len(learned.history) else None,
            "n_iter": len(learned.history),
            "stop_reason": learned.stop_reason,
            "null_test_db": stems.null_db if np.isfinite(stems.null_db) else None,
            "adds_up": adds_up(stems),
            "seconds": seconds,
            "versions": {name: version(name) for name in ("phinmf", "numpy", "soundfile")}
            | {"python": platform.python_version()},
        }
        files.write_json(working / "result.json", result)
        finish(working)
        put_in_place(working, final, output.overwrite)
    except BaseException:
        shutil.rmtree(working, ignore_errors=True)
        raise
    return {"folder": str(final), **result}


def similarity(activations: list[Array], order: Any) -> Array:
    """How alike the loudness of each pair of components is over time: a correlation."""
    H = np.sqrt(np.concatenate(activations, axis=1)[order])
    H = H - H.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(H, axis=1)
    H /= np.where(norms > 0, norms, 1)[:, None]
    return H @ H.T


def component(name: str, stems: Stems, k: int, n: int) -> dict[str, Any]:
    """What result.json says of a component."""
    energy, total = float(stems.energies[k]), float(stems.energies.sum())
    samples = max(n * stems.sound.channels, 1)
    return {
        "file": name,
        "share": energy / total if total else 0.0,
        "rms_db": decibels(energy / samples, 10),
        "peak_db": decibels(float(stems.peaks[k]), 20),
    }


def decibels(value: float, factor: int) -> float | None:
    """Of a power (10) or an amplitude (20); None for silence."""
    return round(factor * float(np.log10(value)), 2) if value > 0 else None


def adds_up(stems: Stems) -> str:
    """The null test in words."""
    if not stems.encoding.exact:
        return f"{stems.encoding.subtype} is lossy: the files cannot add up exactly"
    if stems.residual == 0:
        return "the components add up to the recording bit for bit"
    return f"the components add up to the recording to {stems.null_db:.0f} dB"


def describe(sound: Sound) -> dict[str, Any]:
    """A file in words that JSON knows."""
    return {**asdict(sound), "path": sound.path.name}


def named(template: str, track: str, number: int) -> str:
    """A file name from a template; it stays in its folder."""
    try:
        name = template.format(track=track, number=number)
    except (KeyError, IndexError, ValueError, AttributeError):
        name = ""
    if not name or name in (".", "..") or any(c in name for c in "/\\\0") or len(name) > 200:
        raise ValueError(
            f"filename is {template!r}, but a name without folders is needed, such as"
            f" {TEMPLATE} or {{track}}-{{number}}"
        )
    return name


def planned(output: Output, sound: Sound, length: int, K: int) -> Plan:
    """Raise, before any work is done, if the folder, the format or the names cannot be."""
    final = output.folder
    if final.exists() and not output.overwrite:
        raise FileExistsError(f"{final} exists already: choose another folder, or add --overwrite")
    above = next(folder for folder in final.absolute().parents if folder.exists())
    if not (above.is_dir() and os.access(above, os.W_OK)):
        raise PermissionError(f"{above} cannot be written to: choose another folder")
    encoding = encoding_for(sound, length, output.format, output.subtype)
    names = [named(output.filename, final.name, k + 1) + encoding.suffix for k in range(K)]
    if len(set(names)) < len(names):
        raise ValueError(
            f"filename is {output.filename!r}, which gives every component the same name: add"
            " {number}"
        )
    return Plan(output, encoding, names)


def put_in_place(working: Path, final: Path, overwrite: bool) -> None:
    """Give a finished folder its name; an old one goes only when the new one is there."""
    if not final.exists():
        os.replace(working, final)
        return
    if not overwrite:
        raise FileExistsError(f"{final} exists already: choose another folder, or add --overwrite")
    old = final.with_name(f".{final.name}.{os.getpid()}.old")
    os.replace(final, old)
    os.replace(working, final)
    shutil.rmtree(old)


def save(unmixing: Unmixing, folder: str | os.PathLike[str], **how: Any) -> Path:
    """Write an unmixing in memory to a folder, as a file would be."""
    signal = unmixing.mixture.reshape(len(unmixing.mixture), -1).astype(np.float64)
    dtype = "DOUBLE" if unmixing.mixture.dtype == np.float64 else "FLOAT"
    n, channels = signal.shape
    sound = Sound(Path(folder), unmixing.sample_rate, channels, n, "WAV", dtype, {})
    output = Output(Path(folder), **how)
    if output.subtype is None and output.format is None:
        output = replace(output, subtype="FLOAT")
    plan = planned(output, sound, n, unmixing.model.K)
    facts = {"source": None, "start": 0, "length": n}
    blocks = (signal[i : i + files.BLOCK] for i in range(0, n, files.BLOCK))
    finish = view("folder_report").write_report
    stream(blocks, sound, n, unmixing.model, plan, facts, {}, Options(), finish=finish)
    return output.folder
