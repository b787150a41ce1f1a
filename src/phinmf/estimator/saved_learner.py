"""What `partial_fit` continues from, in the file of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from phinmf import arrays
from phinmf._types import Array
from phinmf.algorithm.window import Window
from phinmf.estimator import encoding
from phinmf.estimator.partial import lasting, online_fit
from phinmf.fit.automatic import checked_components
from phinmf.fit.online import Learned, Learner, Progress
from phinmf.inits import ArrayInit, Continuation
from phinmf.result import History
from phinmf.storage import Stored, shown
from phinmf.stored_values import array, is_number, orthogonal

PREFIX = "stream_"
NUMBERS = ("step", "n_frames", "evaluations", "clock", "energy", "count", "divergence", "penalty")
COUNTS = ("step", "n_frames", "evaluations", "fitted_at", "n_seen", "n_tried", "seed")


def packed(model: Any) -> Stored:
    """Return the values and arrays to continue from; empty if there was no `partial_fit`."""
    learner: Learner | None = model._learner
    if learner is None:
        return Stored({}, {})
    fit, at, init = learner.fit, learner.at, learner.fit.options.init
    parts: dict[str, Array] = {"start_W": fit.W}
    fitted_at = 0
    if at.window is not None:
        parts |= {f"window_{name}": value for name, value in vars(at.window).items()}
    if at.learned is not None:
        fitted_at = at.learned.fitted_at
        parts |= {"Phi": at.learned.Phi, "W": at.learned.W}
    elif isinstance(init, (ArrayInit, Continuation)):
        parts["init"] = init.Phi
    elif not isinstance(model.init, str):
        raise ValueError(
            f"init is {shown(model.init)}, which a file cannot hold, and the first fit, which needs"
            " it, is not made yet: save the model after more frames"
        )
    if learner.waiting.n_frames:
        Y, weights = learner.copied().waiting.take(learner.waiting.n_frames)
        weights = np.ones(Y.shape[2]) if weights is None else weights
        parts |= {"waiting": Y, "waiting_weights": weights}
    header = {name: getattr(at, name) for name in NUMBERS} | {
        "fitted_at": fitted_at,
        "n_seen": learner.n_seen,
        "n_tried": learner.n_tried,
        "seconds": learner.seconds,
        "history": learner.history.to_json(),
        "seed": fit.seed,
        "n_components": fit.n_components,
        "columns": None if fit.columns is None else arrays.to_numpy(fit.columns).tolist(),
        "keeps_Phi": fit.keeps_Phi,
        "dtype": arrays.dtype_of(learner.example).name,
        "continues": learner.fit.continues_fit,
    }
    return Stored(header, {PREFIX + name: arrays.to_numpy(a) for name, a in parts.items()})


def restored(model: Any, header: dict[str, Any], parts: dict[str, Any]) -> Learner:
    """Return what was packed, for a model that has its parameters and its transform again."""
    stored = Stored(header, {name.removeprefix(PREFIX): a for name, a in parts.items()})
    for name in (*NUMBERS, *COUNTS, "seconds"):
        value = header[name]
        whole = name not in COUNTS or isinstance(value, int)
        if not (whole and is_number(value, -np.inf if name in ("divergence", "penalty") else 0)):
            raise ValueError(f"its {name} is {shown(value)}")
    if header["dtype"] not in ("float32", "float64"):
        raise ValueError(f"its dtype is {shown(header['dtype'])}")
    if header["step"] and not (header["energy"] > 0 and header["count"] > 0):
        raise ValueError("it has seen frames, but no sound")
    M, dtype = len(model.transform_matrix_), np.dtype(header["dtype"])

    def numbers(name: str, *shape: int, dtype: Any = np.float64, least: float = -np.inf) -> Any:
        return array(stored, name, shape, dtype, lambda a: a >= least)

    def length(name: str) -> int:
        return stored.arrays[name].shape[-1] if name in stored.arrays else 0

    init = encoding.options_of(model).init
    if "init" in stored.arrays:
        init = ArrayInit(stored.arrays["init"])
        init = Continuation(init.Phi) if header["continues"] is True else init
    columns = header["columns"]
    columns = None if columns is None else np.array(columns, np.int64)
    if columns is not None and not ((columns >= 0) & (columns < length("start_W"))).all():
        raise ValueError(f"its columns are {shown(header['columns'])}")
    fit = online_fit(
        model, checked_components(header["n_components"]), init, header["seed"],
        numbers("start_W", M, length("start_W")), header["keeps_Phi"] is True, columns,
    )  # fmt: skip
    at = Progress(**{name: header[name] for name in NUMBERS})
    if n := length("window_Y"):
        window = Window(
            numbers("window_Y", 1, M, n, dtype=dtype), numbers("window_weights", n),
            numbers("window_keys", n), numbers("window_births", n, dtype=np.int64),
        )  # fmt: skip
        at = replace(at, window=window)
    if K := length("W"):
        Phi, W = orthogonal(stored, "Phi", M, dtype), numbers("W", M, K, least=0)
        at = replace(at, learned=Learned(Phi, W, header["fitted_at"]))
    learner = Learner(fit, np.zeros((1, M, 1), dtype), lasting(model), at)
    learner.history = History.from_json(header["history"])
    learner.seconds = float(header["seconds"])
    learner.n_seen, learner.n_tried = header["n_seen"], header["n_tried"]
    if n := length("waiting"):
        Y, weights = (
            numbers("waiting", 1, M, n, dtype=dtype),
            numbers("waiting_weights", n, least=0),
        )
        learner.waiting.put(Y, weights)
    return learner
