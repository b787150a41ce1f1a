"""Levels of the components that were written, as result.json states them."""

from __future__ import annotations

import numpy as np

from phinmf._types import Indices
from phinmf.unmixing.null_test import Measured
from phinmf.unmixing.record import ComponentRecord


def component_records(
    names: list[str], measured: Measured, order: Indices
) -> list[ComponentRecord]:
    """Return what result.json says about the components, the strongest first."""
    energies = [float(measured.energies[k]) for k in order]
    peaks = [float(measured.peaks[k]) for k in order]
    total = float(measured.energies.sum())
    return [
        ComponentRecord(
            file=name,
            share=energy / total if total else 0.0,
            rms_db=decibels(energy / max(measured.samples, 1), 10),
            peak_db=decibels(peak, 20),
        )
        for name, energy, peak in zip(names, energies, peaks, strict=True)
    ]


def decibels(value: float, factor: int) -> float | None:
    """Return the level of a power (factor 10) or an amplitude (20); None for silence."""
    return round(factor * float(np.log10(value)), 2) if value > 0 else None
