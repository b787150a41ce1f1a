"""What `partial_fit` continues from, in the file of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from phinmf import arrays
from phinmf._types import Array
from phinmf.entries import Entry, checked, packed, prefixed, without_prefix
from phinmf.estimator.partial import lasting, online_fit
from phinmf.fit.automatic import checked_components
from phinmf.fit.blocks import Window
from phinmf.fit.online import Factors, Learner, Progress
from phinmf.inits import ArrayInit, Continuation
from phinmf.result import History
from phinmf.storage import shown

PREFIX = "learner_"  #: of the names in the file
PROGRESS = {
    "step": Entry("", "int64", "nonnegative"),
    "n_frames": Entry("", "int64", "nonnegative"),
    "evaluations": Entry("", "int64", "nonnegative"),
    "clock": Entry("", "float64", "nonnegative"),
    "energy": Entry("", "float64", "nonnegative"),
    "count": Entry("", "float64", "nonnegative"),
    "divergence": Entry("", "float64"),
    "penalty": Entry("", "float64"),
}
COUNTS = {
    "n_seen": Entry("", "int64", "nonnegative"),
    "n_tried": Entry("", "int64", "nonnegative"),
    "seconds": Entry("", "float64", "nonnegative"),
}
TABLE = {
    **PROGRESS,
    **COUNTS,
    "window_Y": Entry("C M n", group="window"),
    "window_weights": Entry("n", "float64", "nonnegative", group="window"),
    "window_keys": Entry("n", "float64", group="window"),
    "window_births": Entry("n", "int64", "nonnegative", group="window"),
    "example": Entry("C M C"),  # (1, M, 1): the precision of the frames
    "waiting": Entry("C M m", group="waiting"),
    "waiting_weights": Entry("m", "float64", "nonnegative", group="waiting"),
    "Phi": Entry("M M", rule="orthogonal", group="learned"),
    "W": Entry("M K", "float64", "nonnegative", group="learned"),
    "fitted_at": Entry("", "int64", "nonnegative", group="learned"),
    "init": Entry("M M", "float64", "orthogonal", group="init"),
    "start_W": Entry("M c", "float64", "nonnegative", group="start"),
    "columns": Entry("c", "bool", group="columns"),  # of start_W: those that stay
    "fixes_Phi": Entry("", "bool"),
    "continues": Entry("", "bool"),
}


def packed_learner(model: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of what a model continues from."""
    learner: Learner = model._learner
    fit, progress, init = learner.fit, learner.progress, learner.fit.options.init
    values = dict.fromkeys(TABLE) | {name: getattr(progress, name) for name in PROGRESS}
    values |= {name: getattr(learner, name) for name in COUNTS}
    values |= {
        "example": learner.example, "fixes_Phi": fit.fixes_Phi, "continues": fit.continues_fit
    }  # fmt: skip
    if fit.W.shape[1]:
        values["start_W"] = fit.W
        if fit.columns is not None:
            n_columns = np.arange(fit.W.shape[1])
            values["columns"] = np.isin(n_columns, arrays.to_numpy(fit.columns))
    if progress.window is not None:
        values |= prefixed("window_", vars(progress.window))
    if progress.factors is not None:
        values |= vars(progress.factors)
    elif isinstance(init, (ArrayInit, Continuation)):
        values["init"] = arrays.cast(init.Phi, np.float64)
    elif not isinstance(model.init, str):
        raise ValueError(
            f"init is {shown(model.init)}, which a file cannot hold, and the first fit, which needs"
            " it, is not made yet: save the model after more frames"
        )
    if n := learner.queue.n_frames:
        Y, weights = learner.copied().queue.take(n)
        values["waiting"] = Y
        values["waiting_weights"] = np.ones(Y.shape[2]) if weights is None else weights
    header = {
        "seed": fit.seed, "n_components": fit.n_components, "history": learner.history.to_json()
    }  # fmt: skip
    return header, prefixed(PREFIX, packed(values, TABLE))


def restored_learner(model: Any, header: Mapping[str, Any], parts: Mapping[str, Array]) -> Learner:
    """Return what was packed, for a model that has its parameters and its transform again."""
    M, seed = len(model.transform_matrix_), header["seed"]
    values = checked(without_prefix(PREFIX, parts), TABLE, M=M, C=1)
    if not isinstance(seed, int) or seed < 0:
        raise ValueError(f"its seed is {shown(seed)}")
    if values["step"] and not values["energy"] * values["count"] > 0:
        raise ValueError("it has learned from frames that hold no sound")
    start_W, columns = values["start_W"], values["columns"]
    init = model._options().init
    if values["init"] is not None:
        init = (Continuation if values["continues"] else ArrayInit)(values["init"])
    fit = online_fit(
        model, checked_components(header["n_components"]), init, seed,
        np.zeros((M, 0)) if start_W is None else start_W, values["fixes_Phi"],
        None if columns is None or start_W is None else np.flatnonzero(columns),
    )  # fmt: skip
    progress = Progress(**{name: values[name] for name in PROGRESS})
    if values["window_Y"] is not None:
        progress = replace(progress, window=Window(**without_prefix("window_", values)))
    if values["W"] is not None:
        factors = Factors(values["Phi"], values["W"], values["fitted_at"])
        progress = replace(progress, factors=factors)
    learner = Learner(fit, values["example"], lasting(model), progress)
    learner.history = History.from_json(header["history"])
    for name in COUNTS:
        setattr(learner, name, values[name])
    if values["waiting"] is not None:
        learner.queue.put(values["waiting"], values["waiting_weights"])
    return learner
