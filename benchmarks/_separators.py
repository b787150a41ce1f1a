"""Three ways to separate a mixture with the same window, number of components and sparsity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _common import DEFAULTS, timed

import phinmf
from phinmf.analysis import atoms_for_energy
from phinmf.linalg.manifold import dct
from phinmf.scores.oracles import component_signals
from phinmf.unmixing.masks import component_frames

FLOOR = DEFAULTS["floor"]
NMF: dict[str, Any] = {"solver": None, "floor": FLOOR, "max_iter": 200, "tol": 1e-5}


class Setting(NamedTuple):
    """Options shared by the methods, and how a transform is learned."""

    window: float = 0.04
    sparsity: float = DEFAULTS["sparsity"]
    start: float = 3e-4  #: first floor of the annealing; 0 does not anneal
    length: int = 6
    max_iter: int = 9
    divergence: str = "itakura-saito"
    from_dct: bool = True  #: W and H start from the NMF in the DCT, not at random
    learn: bool = True  #: False keeps the DCT, as a control


class Separation(NamedTuple):
    """Components, atoms for 95 % of the energy where there are atoms, seconds of fitting."""

    components: np.ndarray
    atoms: int | None
    seconds: float


def even(seconds: float, rate: int) -> int:
    return 2 * round(seconds * rate / 2)


def in_the_dct(y: np.ndarray, M: int, K: int, setting: Setting, seed: int) -> Separation:
    Y = phinmf.to_frames(y, M)
    fit, seconds = _fit_in_the_dct(Y, K, setting.sparsity, seed)
    return _separation(Y, fit, len(y), seconds)


def learned(y: np.ndarray, M: int, K: int, setting: Setting, seed: int) -> Separation:
    """Learning starts from the NMF in the DCT, whose seconds are included."""
    Y = phinmf.to_frames(y, M)
    how: dict[str, Any] = {"sparsity": setting.sparsity, "random_state": seed, "floor": FLOOR}
    before = 0.0
    if setting.from_dct:
        first, before = _fit_in_the_dct(Y, K, setting.sparsity, seed)
        how |= {"W": first.W, "H": first.H}
    if not setting.learn:
        how["fixed"] = "Phi"
    schedule = phinmf.Anneal(start=setting.start, length=setting.length) if setting.start else False
    learning = {"anneal": schedule, "max_iter": setting.max_iter, "divergence": setting.divergence}
    fit, seconds = timed(lambda: phinmf.tl_nmf(Y, K, **learning, **how))
    how |= {
        "solver": None,
        "init": fit.Phi,
        "W": fit.W,
        "H": fit.H,
    }  # the last fit is of the factors alone
    fit, after = timed(lambda: phinmf.tl_nmf(Y, K, **how))
    return _separation(Y, fit, len(y), before + seconds + after)


_fits: dict[Any, tuple[phinmf.Result, float]] = {}  # shared by two methods and many settings


def _fit_in_the_dct(
    Y: np.ndarray, K: int, sparsity: float, seed: int
) -> tuple[phinmf.Result, float]:
    key = (hash(Y.tobytes()), K, sparsity, seed)
    if key not in _fits:
        how = {"sparsity": sparsity, "random_state": seed, **NMF}
        _fits[key] = timed(lambda: phinmf.tl_nmf(Y, K, **how))
    return _fits[key]


def in_the_stft(y: np.ndarray, M: int, K: int, setting: Setting, seed: int) -> Separation:
    """Real and imaginary parts are two channels: they share masks, and their mean is the power."""
    spectrum = np.fft.rfft(phinmf.to_frames(y, M), axis=0, norm="ortho")
    Z = np.stack([spectrum.real, spectrum.imag])
    how = {"init": np.eye(len(spectrum)), "sparsity": setting.sparsity, "random_state": seed}
    fit, seconds = timed(lambda: phinmf.tl_nmf(Z, K, **how, **NMF))
    parts = component_frames(Z, fit.Phi, fit.W, fit.H, FLOOR * fit.scale**2)
    components = [
        phinmf.from_frames(np.fft.irfft(re + 1j * im, M, axis=0, norm="ortho"), len(y))
        for re, im in parts
    ]
    return Separation(np.stack(components), None, seconds)


def _separation(Y: np.ndarray, fit: phinmf.Result, length: int, seconds: float) -> Separation:
    components = component_signals(Y, fit, length, FLOOR)
    return Separation(components, int(atoms_for_energy(fit.Phi, Y)[1]), seconds)


LEARNED, DCT, STFT = "TL-NMF", "DCT IS-NMF", "STFT IS-NMF"
METHODS: dict[str, Callable[[np.ndarray, int, int, Setting, int], Separation]] = {
    LEARNED: learned,
    DCT: in_the_dct,
    STFT: in_the_stft,
}


def dct_atoms(y: np.ndarray, M: int) -> int:
    """Atoms that the DCT needs for 95 % of the energy."""
    return int(atoms_for_energy(dct(M), phinmf.to_frames(y, M))[1])
