"""Attacks on models and checkpoints: files that were changed, their checksums with them."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
from forging import JUNK, changes
from sklearn.exceptions import ConvergenceWarning

import phinmf
from fuzz.counting import Verdict
from fuzz.fits import Kind
from fuzz.formulas import check_fit, demand, same_bits
from fuzz.judging import judged
from fuzz.random_fits import effective, fit, pick, problem
from fuzz.runs import folder
from fuzz.users import estimator_of
from phinmf import Checkpoint, Status

HEADER = [*JUNK, -0.0, 1e-320, 1e308, 2**64, "nan", "../../x", {"type": "LBFGS", "fields": {}},
          {"type": "Anneal", "fields": {"length": 10**9}}, {"dict": {}}, "\x00",
          "a\nb" * 999]  # fmt: skip


def forged(rng, path):
    """Change a file somewhere, as if it had been written so; returns what was done."""
    with np.load(path) as stored:
        arrays = dict(stored)
    header = json.loads(str(arrays.pop("header")))
    done = []
    for _ in range(int(rng.integers(1, 3))):
        kind = pick(rng, ["flip", "flip", "array", "swap", "header", "header", "random"])
        names = sorted(arrays)
        name = pick(rng, names) if names else ""
        if kind == "header":
            done.append(replace_somewhere(rng, header))
        elif not names:
            continue
        elif kind == "flip":
            raw = bytearray(np.ascontiguousarray(arrays[name]).tobytes())
            for _ in range(int(rng.integers(1, 4)) if raw else 0):
                raw[rng.integers(len(raw))] ^= 1 << int(rng.integers(8))
            same = arrays[name]
            arrays[name] = np.frombuffer(bytes(raw), same.dtype).reshape(same.shape)
        elif kind == "array" and arrays[name].dtype.kind != "U":
            how = changes(arrays[name])
            chosen = pick(rng, sorted(how))
            done.append(chosen)
            arrays[name] = np.array(how[chosen])
        elif kind == "swap":
            other = pick(rng, names)
            arrays[name], arrays[other] = arrays[other], arrays[name]
        elif kind == "random" and arrays[name].dtype.kind == "f":
            with np.errstate(over="ignore"):
                noise = 10.0 ** rng.uniform(-320, 308, arrays[name].shape)
                arrays[name] = noise.astype(arrays[name].dtype)
        done.append(f"{kind} {name}")
    with open(path, "wb") as file:
        np.savez(file, header=np.array(json.dumps(header)), **arrays)
    return done


def replace_somewhere(rng, header):
    """Replace, remove or double a field at some depth."""
    inside, place = header, []
    while True:
        steps = sorted(inside) if isinstance(inside, dict) else list(range(len(inside)))
        if not steps:
            return "nothing"
        step = pick(rng, steps)
        place.append(step)
        deeper = inside[step]
        if not isinstance(deeper, (dict, list)) or rng.random() < 0.3:
            break
        inside = deeper
    if rng.random() < 0.15:
        del inside[step]
    else:
        inside[step] = pick(rng, HEADER)
    return f"{place} = {inside.get(step) if isinstance(inside, dict) else '…'!r:.40}"


def checkpoints(rng):
    """A forged checkpoint is refused, or the result is right whatever it says."""
    Y, K, how = problem(rng, most_iter=14)
    how |= {"tol": 0.0, "max_iter": int(rng.integers(6, 15))}
    with folder() as here:
        path = here / "run"
        keeping = how | {"checkpoint": Checkpoint(path, every=0, resume=True)}
        stop = how | keeping | {"callback": lambda state: state.iteration > 5}
        start = fit(Y, K, stop).history.start
        if not path.exists():
            return
        (here / "run.previous").unlink(missing_ok=True)
        done = forged(rng, path)
        before = path.read_bytes()
        try:
            result = fit(Y, K, keeping)
        except (ValueError, TypeError):
            demand(path.read_bytes() == before, f"{done}: refused, but the file is changed")
            raise
        if result.status not in (Status.ROSE, Status.NOT_BETTER):  # which say that it is wrong
            check_fit(Y, result, how, effective(how, Y.shape[-1]), sums_within=1e-4)
        room = (1e-5 if Y.dtype == np.float32 else 1e-9) * abs(start)
        demand(result.objective <= start + room, f"{done}: {result.objective}, start {start}")


def models(rng):
    """A forged model is refused, or what it gives is finite."""
    Y, K, how = problem(rng, most_iter=3)
    X = (Y if Y.ndim == 2 else Y[0]).T
    if not X.any():
        return
    model = estimator_of(rng, Y, K, how | {"n_init": 1})
    with folder() as here, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
        model.save(here / "model.npz")
        done = forged(rng, here / "model.npz")
        loaded = phinmf.TLNMF.load(here / "model.npz")
        repr(loaded)
        H = loaded.transform(X)
        demand(np.isfinite(H).all() and (H >= 0).all(), f"{done}: activations are not finite")
        power = loaded.inverse_transform(H)
        demand(np.isfinite(power).all(), f"{done}: powers are not finite")
        demand(np.isfinite(loaded.score(X)), f"{done}: the score is not finite")
        check_orthogonal_within(loaded.transform_matrix_)
        loaded.save(here / "again.npz")
        again = phinmf.TLNMF.load(here / "again.npz")
        demand(np.array_equal(again.transform(X), H), f"{done}: saved again it is another model")


def check_orthogonal_within(Phi):
    """Raise if a transform is not nearly orthogonal."""
    error = abs(Phi.astype(float) @ Phi.T.astype(float) - np.eye(len(Phi))).max()
    demand(error < 1e-3, f"the transform is orthogonal to {error:.2g} only")


def models_of_recordings(rng):
    """A forged model of `unmix` is refused, or the parts add up."""
    y = rng.standard_normal(3000) * np.hanning(3000)
    how = {"seed": 0, "max_time": 0.05, "window": int(rng.choice([16, 32, 64]))}
    with folder() as here, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        phinmf.unmix(y, 8000, 2, **how).model.save(here / "model.npz")
        done = forged(rng, here / "model.npz")
        u = phinmf.unmix(y, 8000, model=here / "model.npz")
        off = abs(u.components.sum(axis=0) - y).max()
        demand(off <= 1e-6, f"{done}: parts add up but for {off:.2g}")


def raw_bytes(rng):
    """Bytes of a file changed, cut or doubled anywhere: refused, or without an effect."""
    Y, K, how = problem(rng, most_iter=8)
    how |= {"tol": 0.0, "max_iter": 7}
    with folder() as here:
        path = here / "run"
        keeping = how | {"checkpoint": Checkpoint(path, every=0, resume=True)}
        whole = fit(Y, K, keeping)
        if not path.exists():
            return
        (here / "run.previous").unlink(missing_ok=True)
        raw = bytearray(path.read_bytes())
        a, b = np.sort(rng.integers(0, len(raw), 2)).tolist()
        kind = pick(rng, ["flip", "cut", "tail", "noise", "double", "zeros"])
        if kind == "flip":
            raw[a] ^= 1 << int(rng.integers(8))
        elif kind == "cut":
            del raw[a:b]
        elif kind == "tail":
            del raw[a:]
        elif kind == "noise":
            raw[a:b] = rng.bytes(b - a)
        elif kind == "double":
            raw[a:a] = raw[a:b]
        else:
            raw[a:b] = bytes(b - a)
        path.write_bytes(raw)
        same_bits(whole, fit(Y, K, how | {"checkpoint": Checkpoint(path, resume=True)}), kind)


def in_a_process(rng):
    """Forged checkpoints in a process of their own, where corrupted memory is seen at its end."""
    code = f"from fuzz.files import many; many({int(rng.integers(2**32))})"
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True,
        env={**os.environ, "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165"},
    )  # fmt: skip
    demand(ended.returncode == 0, f"ended with {ended.returncode}: {ended.stderr[-300:]}")


def many(seed):
    """Some forged files after each other."""
    for number in range(12):
        outcome = judged("file", pick_file, np.random.default_rng([seed, number]))
        if outcome.verdict is Verdict.BROKE:
            raise SystemExit(f"{number}: {outcome.why}")


def pick_file(rng):
    pick(rng, [checkpoints, models])(rng)


KINDS = {
    "forged checkpoints": Kind(checkpoints, 3),
    "forged models": Kind(models, 3),
    "forged models of recordings": Kind(models_of_recordings, 1),
    "damaged checkpoints": Kind(raw_bytes, 2),
    "forged files in a process": Kind(in_a_process, 0.03),
}
