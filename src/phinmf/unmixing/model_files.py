"""A learned model in a file: the format of `TLNMF.save`, with the sampling rate beside it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from phinmf.estimator import model_file
from phinmf.estimator.tlnmf import TLNMF
from phinmf.fit import storage
from phinmf.linalg.manifold import exactly_orthogonal
from phinmf.unmixing.learning import Learned


def save_model(learned: Learned, path: Path) -> None:
    """Write a model; `TLNMF.load` reads it as well."""
    model = TLNMF(learned.K, sparsity=learned.sparsity, floor=learned.floor / learned.scale**2)
    model.transform_matrix_ = learned.Phi
    model.components_ = np.ascontiguousarray(learned.W.T)
    model.scale_, model.floor_ = learned.scale, learned.floor
    model.history_, model.stop_reason_ = learned.history, learned.stop_reason
    last = learned.history[-1].target_objective if len(learned.history) else learned.history.start
    model.objective_ = model.reconstruction_err_ = last
    model.n_iter_, model.converged_ = len(learned.history), "converged" in learned.stop_reason
    model.atom_energies_, model.objectives_ = np.zeros(learned.M), np.array([last])
    model_file.save(model, path, sample_rate=learned.sample_rate)


def load_model(path: str | os.PathLike[str], sample_rate: int) -> Learned:
    """Read a model for recordings of this sampling rate."""
    model = TLNMF.load(path)
    rate = storage.read(path, "model").header.get("sample_rate")
    if rate is None:
        raise ValueError(f"{path} does not say its sampling rate: it was not made by unmix")
    if rate != sample_rate:
        raise ValueError(
            f"{path} was learned at {storage.shown(rate)} Hz, but the recording has {sample_rate}"
            " Hz: resample it"
        )
    if model.n_features_in_ % 2:
        raise ValueError(
            f"{path} has windows of {model.n_features_in_} samples, but an even number is needed:"
            " it was not made by unmix"
        )
    return Learned(
        Phi=exactly_orthogonal(model.transform_matrix_, np.float64),  # so that parts add up
        W=model.components_.T.astype(np.float64),
        scale=float(model.scale_),
        floor=float(model.floor_),
        sparsity=float(model.sparsity),
        sample_rate=sample_rate,
        history=model.history_,
        stop_reason=model.stop_reason_,
    )
