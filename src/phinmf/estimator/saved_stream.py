"""What `partial_fit` continues from, in the file of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from phinmf import arrays
from phinmf.estimator import fitting
from phinmf.estimator.partial import EstimatorStream, lasting
from phinmf.fit.online import again
from phinmf.fit.online_options import online_fit
from phinmf.fit.stored_stream import any_number, length, pack, unpack
from phinmf.fit.stream import Learner
from phinmf.inits import GivenTransform
from phinmf.inits.given import KnownTransform
from phinmf.result import History
from phinmf.storage import Stored, shown
from phinmf.stored_values import array, is_number

PREFIX = "stream_"


def packed(model: Any) -> Stored:
    """Return the values and arrays to continue from; empty if there was no `partial_fit`."""
    stream: EstimatorStream | None = model._stream
    if stream is None:
        return Stored({}, {})
    fit, at = stream.learner.fit, stream.learner.at
    header, parts = pack(at)
    parts["start_W"] = fit.W
    init = fit.options.init
    if at.learned is None and isinstance(init, (GivenTransform, KnownTransform)):
        parts["init"] = init.Phi
    elif at.learned is None and not isinstance(model.init, str):
        raise ValueError(
            f"init is {shown(model.init)}, which a file cannot hold, and the first fit, which needs"
            " it, is not made yet: save the model after more frames"
        )
    if stream.waiting.n_frames:
        waiting = stream.copied().waiting
        Y, weights = waiting.take(waiting.n_frames)
        parts["waiting"] = Y
        parts["waiting_weights"] = np.ones(Y.shape[2]) if weights is None else weights
    header |= {
        "n_seen": stream.n_seen,
        "n_tried": stream.n_tried,
        "seconds": stream.learner.seconds,
        "history": stream.learner.history.to_json(),
        "seed": fit.seed,
        "n_components": fit.n_components,
        "columns": None if fit.columns is None else arrays.to_numpy(fit.columns).tolist(),
        "keeps_Phi": fit.keeps_Phi,
        "block_size": fit.block_size,
        "dtype": arrays.dtype_of(stream.example).name,
        "continues": stream.continues_fit,
    }
    return Stored(header, {PREFIX + name: arrays.to_numpy(a) for name, a in parts.items()})


def restored(model: Any, header: dict[str, Any], parts: dict[str, Any]) -> EstimatorStream:
    """Return what was packed, for a model that has its parameters and its transform again."""
    own = {n.removeprefix(PREFIX): a for n, a in parts.items() if n.startswith(PREFIX)}
    stored = Stored(header, own)
    for name in ("n_seen", "n_tried", "seconds", "seed"):
        whole = name == "seconds" or isinstance(header.get(name), int)
        if not (whole and is_number(header.get(name), 0)):
            raise ValueError(f"its {name} is {shown(header.get(name))}")
    for name in ("keeps_Phi", "continues"):
        if not isinstance(header.get(name), bool):
            raise ValueError(f"its {name} is {shown(header.get(name))}")
    if header.get("dtype") not in ("float32", "float64"):
        raise ValueError(f"its dtype is {shown(header.get('dtype'))}")
    M, dtype = len(model.transform_matrix_), np.dtype(header["dtype"])
    example = np.zeros((1, M, 1), dtype)
    W = array(stored, "start_W", (M, length(stored, "start_W")), np.float64, any_number)
    fit = online_fit(
        example, header["n_components"], fitting.options_of(model), W=W,
        fixed={"Phi": header["keeps_Phi"], "W": False if (c := header["columns"]) is None else c},
        forget_factor=model.forget_factor, block_size=header["block_size"],
        random_state=header["seed"],
    )  # fmt: skip
    if "init" in own:
        init = GivenTransform(array(stored, "init", (M, M), own["init"].dtype, any_number))
        continues = header["continues"] is True
        options = again(fit.options, init.Phi) if continues else replace(fit.options, init=init)
        fit = replace(fit, options=options)
    learner = Learner(fit, unpack(stored, fit, example), History.from_json(header["history"]))
    learner.seconds = float(header["seconds"])
    counts = {name: header[name] for name in ("n_seen", "n_tried")}
    stream = EstimatorStream(learner, example, **counts, lasting=lasting(model))
    if n := length(stored, "waiting"):
        Y = array(stored, "waiting", (1, M, n), dtype, any_number)
        stream.waiting.put(Y, array(stored, "waiting_weights", (n,), np.float64, lambda w: w >= 0))
    return stream
