"""From a sound file to a folder of its components, which appears complete or not at all."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from phinmf._types import Array
from phinmf.algorithm.group import Callback
from phinmf.audio import files
from phinmf.audio.files import Sound
from phinmf.audio.many_files import frames_of
from phinmf.audio.writing import Stems
from phinmf.unmixing import groups, ownership
from phinmf.unmixing.in_memory import Unmixing, view
from phinmf.unmixing.learning import Learned, Options, learn, window_length
from phinmf.unmixing.model_files import load_model, save_model
from phinmf.unmixing.null_test import Measured, adds_up, measure
from phinmf.unmixing.placing import NEW, put_in_place, workshop
from phinmf.unmixing.planning import Output, Plan, planned
from phinmf.unmixing.streaming import Separation

WRITING = 0.9  #: share of streaming; the rest is reading again what was written


def unmix_file(
    path: Path,
    output: Output,
    options: Options,
    *,
    start: float = 0.0,
    duration: float | None = None,
    model: Path | None = None,
    on_cluster: bool = False,
    group: groups.Groups | int | None = None,
    callback: Callback | None = None,
    progress: Callable[[float], Any] = lambda share: None,
    finish: Callable[[Path], Any] = lambda folder: None,
) -> dict[str, Any]:
    """Unmix a file into a folder; returns what result.json says.

    On a cluster it is learned on all frames, by the current client. `finish` may add to the folder
    before it takes its name.
    """
    clock = time.perf_counter()
    path = Path(path)
    before = ownership.identity(path) if path.is_file() else None  # if not, probe says it
    sound = files.probe(path)
    first = min(round(start * sound.sample_rate), sound.length - 1)
    length = sound.length - first
    if duration is not None:
        length = min(length, max(1, round(duration * sound.sample_rate)))
    saved = None if model is None else load_model(model, sound.sample_rate)
    K = options.n_components if saved is None else saved.K
    keep = (*output.keep, path, *([] if model is None else [Path(model)]))
    plan = planned(replace(output, keep=keep), sound, length, K, groups.names(group, K))

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

    def complete(folder: Path) -> None:
        if ownership.identity(path) != before:
            raise ValueError(f"{path} was changed while it was read: unmix it again")
        if group is not None:
            groups.regroup(folder, group)
        finish(folder)

    def blocks() -> Iterable[Array]:
        return files.blocks(sound, first, length)

    return stream(blocks, sound, length, learned, plan, facts, seconds, options, progress, complete)


def stream(
    blocks: Callable[[], Iterable[Array]],
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
    """Send samples through a model into a folder that takes its name when all is written.

    `blocks` is called twice: to take the recording apart, and to compare it with what was written.
    """
    clock = time.perf_counter()
    output, encoding, names = plan
    with workshop(output.folder) as bench:
        new, raw = bench / NEW, bench / "parts"
        raw.mkdir()
        paths = [raw / f"{k}{encoding.suffix}" for k in range(learned.K)]
        fine = encoding.subtype in ("DOUBLE", "PCM_32")
        dtype = np.float64 if fine else np.float32  # whose 24 bits are all that is written
        separation = Separation(learned, sound.channels, options.n_threads, dtype)
        gain = 10 ** (output.gain / 20)
        with Stems(paths, encoding, sound, gain, output.folder) as stems:
            for signal, parts in separation(blocks()):
                stems.write(signal, parts)
                progress(WRITING * stems.length / length)
        seconds["streaming"] = time.perf_counter() - clock
        clock = time.perf_counter()
        measured = measure(stems, blocks(), lambda done: progress(WRITING + (1 - WRITING) * done))
        order = np.argsort(-measured.energies, kind="stable")
        for name, k in zip(names, order, strict=True):
            os.rename(paths[k], new / name)
        learned = learned.in_order(order)
        save_model(learned, new / ownership.MODEL)
        seconds["checking"] = time.perf_counter() - clock
        result = {
            "track": output.folder.absolute().name,
            **facts,
            "components": [component(names[i], measured, k) for i, k in enumerate(order)],
            "format": encoding.format,
            "subtype": encoding.subtype,
            "gain_db": output.gain,
            "similarity": similarity(separation.activations, order).round(4).tolist(),
            "window": learned.M,
            "objective": learned.history[-1].target_objective if len(learned.history) else None,
            "n_iter": len(learned.history),
            "stop_reason": learned.stop_reason,
            "null_test_db": measured.null_db if np.isfinite(measured.null_db) else None,
            "adds_up": adds_up(measured, sound, output.gain),
            "seconds": seconds,
            "versions": {name: version(name) for name in ("phinmf", "numpy", "soundfile")}
            | {"python": platform.python_version()},
        }
        ownership.write(new, result, add=[*names, ownership.MODEL])
        finish(new)
        result = ownership.read(new)
        put_in_place(bench, output.folder, output.overwrite, output.keep)
    return {"folder": str(output.folder), **result}


def similarity(activations: list[Array], order: Any) -> Array:
    """How alike the loudness of each pair of components is over time: a correlation."""
    H = np.sqrt(np.concatenate(activations, axis=1)[order])
    H = H - H.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(H, axis=1)
    H /= np.where(norms > 0, norms, 1)[:, None]
    return H @ H.T


def component(name: str, measured: Measured, k: int) -> dict[str, Any]:
    """What result.json says of a component."""
    energy, total = float(measured.energies[k]), float(measured.energies.sum())
    return {
        "file": name,
        "share": energy / total if total else 0.0,
        "rms_db": decibels(energy / max(measured.samples, 1), 10),
        "peak_db": decibels(float(measured.peaks[k]), 20),
    }


def decibels(value: float, factor: int) -> float | None:
    """Of a power (10) or an amplitude (20); None for silence."""
    return round(factor * float(np.log10(value)), 2) if value > 0 else None


def describe(sound: Sound) -> dict[str, Any]:
    """A file in words that JSON knows."""
    return {**asdict(sound), "path": sound.path.name}


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
    finish = view("report.folder").write_report

    def blocks() -> Iterable[Array]:
        return (signal[i : i + files.BLOCK] for i in range(0, n, files.BLOCK))

    stream(blocks, sound, n, unmixing.model, plan, facts, {}, Options(), finish=finish)
    return output.folder
