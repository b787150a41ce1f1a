"""Ways to separate a mixture with the same window, number of components and sparsity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from _common import DEFAULTS, timed
from _source_scores import component_signals

import phinmf
from phinmf.algorithm.options import DEFAULT_SPARSITY
from phinmf.analysis import atoms_for_energy
from phinmf.linalg.manifold import dct
from phinmf.result.masks import component_frames

FLOOR = DEFAULTS["floor"]
NMF: dict[str, Any] = {"solver": None, "floor": FLOOR, "max_iter": 200, "tol": 1e-5}


class Setting(NamedTuple):
    """Options shared by the methods, and how a transform is learned."""

    window: float = 0.04
    sparsity: float = DEFAULT_SPARSITY
    start: float = 3e-4  #: first floor of the annealing
    length: int = 6
    max_iter: int = 9
    learn: bool = True  #: False keeps the DCT
    n_atoms: float | int | None = None  #: atoms that `unmix` learns; None: all


class Mixture(NamedTuple):
    """What is separated, and into how many components."""

    y: np.ndarray  #: (n,) or (n, channels)
    rate: int
    M: int
    K: int

    @property
    def frames(self) -> np.ndarray:
        return phinmf.to_frames(self.y, self.M)


class Separation(NamedTuple):
    """Components, atoms for 95 % of the energy where there are atoms, seconds of fitting."""

    components: np.ndarray
    atoms: int | None
    seconds: float


Separator = Callable[[Mixture, Setting, int], Separation]  #: the number is the seed


def even(seconds: float, rate: int) -> int:
    return 2 * round(seconds * rate / 2)


def in_the_dct(mixture: Mixture, setting: Setting, seed: int) -> Separation:
    """The same fits and schedules, but the DCT stays."""
    return learned(mixture, setting._replace(learn=False), seed)


def learned(mixture: Mixture, setting: Setting, seed: int) -> Separation:
    """Learning starts from the NMF in the DCT, whose seconds are included."""
    Y, K = mixture.frames, mixture.K
    how: dict[str, Any] = {"sparsity": setting.sparsity, "random_state": seed, "floor": FLOOR}
    first, before = _fit_in_the_dct(Y, K, setting.sparsity, seed)
    how |= {"W": first.W, "H": first.H}
    if not setting.learn:
        how["fixed"] = "Phi"
    schedule = phinmf.Anneal(start=setting.start, length=setting.length)
    learning = {"method": phinmf.Method(anneal=schedule), "max_iter": setting.max_iter}
    fit, seconds = timed(lambda: phinmf.tl_nmf(Y, K, **learning, **how))
    how |= {
        "solver": None,
        "method": phinmf.Method(anneal=False),
        "init": fit.Phi,
        "W": fit.W,
        "H": fit.H,
    }  # the last fit is of the factors alone
    fit, after = timed(lambda: phinmf.tl_nmf(Y, K, **how))
    return _separation(Y, fit, len(mixture.y), before + seconds + after)


def unmixed(mixture: Mixture, setting: Setting, seed: int) -> Separation:
    """What users get. The schedule of the setting is not used: `unmix` has its own."""
    y, rate, M, K = mixture
    how = {
        "window": M,
        "sparsity": setting.sparsity,
        "seed": seed,
        "n_atoms": setting.n_atoms,
    }
    u, seconds = timed(lambda: phinmf.unmix(y, rate, K, **how))
    atoms = int(atoms_for_energy(u.Phi, mixture.frames)[1])
    return Separation(u.components, atoms, seconds)


def unmixed_with(n_atoms: float | int) -> Separator:
    """`unmix` with this number of atoms, or atoms for this share of the energy."""
    return lambda mixture, setting, seed: unmixed(mixture, setting._replace(n_atoms=n_atoms), seed)


_fits: dict[Any, tuple[phinmf.Result, float]] = {}  # shared by two methods and many settings


def _fit_in_the_dct(
    Y: np.ndarray, K: int, sparsity: float, seed: int
) -> tuple[phinmf.Result, float]:
    key = (hash(Y.tobytes()), K, sparsity, seed)
    if key not in _fits:
        how = {"sparsity": sparsity, "random_state": seed, **NMF}
        fit, seconds = timed(lambda: phinmf.tl_nmf(Y, K, **how))
        _fits[key] = replace(fit, Phi=_one_dct(Y.shape[-2])), seconds
    return _fits[key]


@cache
def _one_dct(M: int) -> np.ndarray:
    """The DCT, kept once: 25 MB at 44.1 kHz."""
    return dct(M)


def in_the_stft(mixture: Mixture, setting: Setting, seed: int) -> Separation:
    """Real and imaginary parts are channels: they share masks, and their mean is the power."""
    y, _, M, K = mixture
    spectrum = np.fft.rfft(phinmf.to_frames(y.reshape(len(y), -1), M), axis=1, norm="ortho")
    C, F, _ = spectrum.shape
    Z = np.concatenate([spectrum.real, spectrum.imag])
    how = {"init": np.eye(F), "sparsity": setting.sparsity, "random_state": seed}
    fit, seconds = timed(lambda: phinmf.tl_nmf(Z, K, **how, **NMF))
    parts = component_frames(Z, fit.Phi, fit.W, fit.H, FLOOR * fit.scale**2)
    components = [
        phinmf.from_frames(np.fft.irfft(part[:C] + 1j * part[C:], M, axis=1, norm="ortho"), len(y))
        for part in parts
    ]
    return Separation(np.stack(components), None, seconds)


def _separation(Y: np.ndarray, fit: phinmf.Result, length: int, seconds: float) -> Separation:
    components = component_signals(Y, fit, length, FLOOR)
    return Separation(components, int(atoms_for_energy(fit.Phi, Y)[1]), seconds)


LEARNED, DCT, STFT = "TL-NMF", "DCT IS-NMF", "STFT IS-NMF"
METHODS: dict[str, Separator] = {LEARNED: learned, DCT: in_the_dct, STFT: in_the_stft}


def dct_atoms(mixture: Mixture) -> int:
    """Atoms that the DCT needs for 95 % of the energy."""
    return int(atoms_for_energy(_one_dct(mixture.M), mixture.frames)[1])
