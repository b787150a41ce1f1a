"""`unmix`: take a recording in memory apart."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks
from phinmf._types import Components, Device, RandomState
from phinmf.audio.frames import whole_signal
from phinmf.audio.sources import ArraySource
from phinmf.fit.automatic import AUTO
from phinmf.inits import InitName
from phinmf.result import Callback
from phinmf.solvers import Solver, SolverName
from phinmf.unmixed import Unmixing, columns
from phinmf.unmixing.learn import learn
from phinmf.unmixing.model import UnmixModel, model_for
from phinmf.unmixing.options import UnmixOptions
from phinmf.unmixing.progress import Lines, no_progress
from phinmf.unmixing.separate import ArraySink, separate
from phinmf.warn import say


def unmix(
    y: ArrayLike,
    sample_rate: int,
    n_components: Components | None = None,
    *,
    window: str | float = UnmixOptions.window,
    sparsity: float = UnmixOptions.sparsity,
    n_atoms: int | float | None = UnmixOptions.n_atoms,
    solver: SolverName | Solver | None = UnmixOptions.solver,
    init: InitName = UnmixOptions.init,
    seed: RandomState = UnmixOptions.seed,
    max_time: float | None = UnmixOptions.max_time,
    learn_on: int | None = UnmixOptions.learn_on,
    n_threads: int | None = UnmixOptions.n_threads,
    device: Device = UnmixOptions.device,
    model: UnmixModel | str | os.PathLike[str] | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
) -> Unmixing:
    """Take a recording apart into components that add up to it.

    Parameters
    ----------
    y : array of shape (n,) or (n, channels)
        The recording, as soundfile reads it: in ±1. Integers keep their scale, and so do the
        components.
    sample_rate : int
        Samples per second.
    n_components : int or "auto", optional
        Number of components, by default 8; "auto" counts them first, in the DCT. If a model is
        given, it is that of the model, and another number is refused.
    window : str or int
        Length of a frame: "40ms", "0.04s", or a number of samples. The nearest even number of
        samples is taken.
    sparsity : float
        Weight of the penalty on activations: how strongly each moment is explained by few
        components. 0 is no penalty.
    n_atoms : int, float or None
        Number of atoms of the start that are learned, the strongest, or the share of the energy
        that they must hold; the others stay as they are. None learns all, which takes longer.
    solver : {"lbfgs", "quasi-newton", "projected-gradient", "jacobi"}, Solver or None
        How the transform is learned, as in `tl_nmf`; None keeps the transform: plain NMF in it.
    init : {"dct", "random", "klt", "jd"}
        Transform that learning starts from.
    seed : int, RandomState, Generator or None
        Random seed; the same number gives the same result.
    max_time : float, optional
        Maximum seconds of learning, exceeded by a step at most. If they are few, it learns from
        fewer frames, then keeps the transform; 0 is one step of NMF on the fewest frames.
    learn_on : int, optional
        Number of frames to learn from, whatever `max_time` is; by default as many as are useful.
    n_threads : int, optional
        Number of threads; by default all processors.
    device : str or torch.device, optional
        Where to learn: "cuda" for a GPU.
    model : UnmixModel or path, optional
        The ``model`` of an earlier unmixing, or a file that holds one: nothing is learned, its
        components are found in this recording.
    callback : callable, optional
        Called with a `State` after each outer iteration; stops learning by returning True.
    verbose : bool
        Print to standard error what is being done.

    Returns
    -------
    Unmixing
        The components, the model, and ways to look at them, listen to them and save them.

    Examples
    --------
    >>> import phinmf
    >>> from phinmf.audio.example import example
    >>> sound = example()
    >>> u = phinmf.unmix(sound.mixture[:16000], sound.sample_rate, 3, max_time=1, seed=0)
    >>> u.components.shape
    (3, 16000)
    >>> again = phinmf.unmix(sound.mixture[16000:], sound.sample_rate, model=u.model)
    >>> again.components.shape
    (3, 144000)
    """
    signal = whole_signal("y", arrays.to_numpy(y) if arrays.is_tensor(y) else y)
    rate = checks.count("sample_rate", sample_rate, 1, 2**31 - 1)
    options = UnmixOptions(
        n_components=UnmixOptions.n_components if n_components is None else n_components,
        window=window,
        sparsity=sparsity,
        n_atoms=n_atoms,
        solver=solver,
        init=init,
        seed=seed,
        max_time=max_time,
        learn_on=learn_on,
        n_threads=n_threads,
        device=device,
    )
    saved = None if model is None else model_for(model, rate)
    if saved is not None and n_components not in (None, AUTO, saved.K):
        raise ValueError(
            f"n_components is {n_components}, but the model has {saved.K} components: leave"
            " n_components out, or leave model out to learn others"
        )
    source = ArraySource(columns(signal), rate)
    progress = Lines("unmix", say) if verbose else no_progress
    learned = learn(source, options, callback, progress) if saved is None else saved
    sink = ArraySink(learned.K, source, signal.dtype)
    H = separate(source, learned, sink, n_threads=n_threads, progress=progress)
    components = sink.components.reshape(learned.K, *signal.shape)
    order = np.argsort([-np.square(component).sum() for component in components], kind="stable")
    return Unmixing(
        components=components[order],
        mixture=signal,
        sample_rate=rate,
        model=learned.in_order(order),
        H=H[order],
    )
