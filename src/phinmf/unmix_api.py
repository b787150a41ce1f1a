"""`unmix`: take a recording in memory apart; `Unmixing`: look at the result, hear it, save it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import arrays, checks, storage
from phinmf._types import Array, Components, Device, RandomState
from phinmf.audio import ArraySource, Source
from phinmf.audio.frames import whole_signal
from phinmf.errors import InvalidType
from phinmf.inits import InitName
from phinmf.result import Callback, History
from phinmf.solvers import Solver, SolverName
from phinmf.unmixing.learn import learn
from phinmf.unmixing.marks import Marks, mark_from, read_marks
from phinmf.unmixing.mix import Group, with_rest
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.options import Output, Request, UnmixOptions
from phinmf.unmixing.progress import Lines, Progress, no_progress
from phinmf.unmixing.references import Sounds, check_references, references_of
from phinmf.unmixing.separate import ArraySink, separate
from phinmf.warn import say


def unmix(
    y: ArrayLike,
    sample_rate: int,
    n_components: Components | None = None,
    *,
    window: str | float = UnmixOptions.window,
    sparsity: float = UnmixOptions.sparsity,
    floor: float = UnmixOptions.floor,
    pairs: bool = UnmixOptions.pairs,
    n_atoms: int | float | None = UnmixOptions.n_atoms,
    solver: SolverName | Solver | None = UnmixOptions.solver,
    init: InitName | None = UnmixOptions.init,
    seed: RandomState = UnmixOptions.seed,
    max_time: float | None = UnmixOptions.max_time,
    learn_on: int | None = UnmixOptions.learn_on,
    n_threads: int | None = UnmixOptions.n_threads,
    device: Device = UnmixOptions.device,
    like: Sounds | None = None,
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
        Number of components, by default 24, fewer of a short recording; "auto" counts them first,
        in the DCT. If a model is given, it is that of the model, and another number is refused.
    window : str or int
        Length of a frame: "93ms", "0.093s", or a number of samples. The nearest even number of
        samples is taken.
    sparsity : float
        Weight of the penalty on activations: how strongly each moment is explained by few
        components. 0 is no penalty.
    floor : float
        Power that is part of the model, relative to the mean power of the frames: what is 30 dB
        below it, by default, hardly counts.
    pairs : bool
        Whether two atoms share their power, as the cosine and the sine of a frequency do.
    n_atoms : int, float or None
        If the transform is learned: number of atoms of the start that are learned, the strongest,
        or the share of the energy that they must hold; the others stay as they are. None learns
        all, which takes longer.
    solver : {"lbfgs", "quasi-newton", "projected-gradient", "jacobi"}, Solver or None
        How the transform is learned, as in `tl_nmf`; None, the default, keeps it: plain NMF in it.
        A learned one shows what a recording is made of, but takes music apart no better.
    init : {"dft", "dct", "random", "klt", "jd"}, optional
        The transform, or where learning it starts: by default "dft", of single atoms "dct".
    seed : int, RandomState, Generator or None
        Random seed; the same number gives the same result.
    max_time : float, optional
        Maximum seconds of learning, exceeded by a step at most; 0 is one step of NMF.
    learn_on : int, optional
        Number of frames to learn from; by default as many as are useful.
    n_threads : int, optional
        Number of threads; by default all processors.
    device : str or torch.device, optional
        Where to compute the fits: "cuda" for a GPU.
    like : dict of str to (array, int), optional
        Reference sounds by name, each with its sampling rate: the voice alone, say. The components
        of each are learned from it and stay as they are, beside free ones for the rest; all share
        `n_components` equally. ``groups`` of the result has what is like each of them.
    model : UnmixModel or path, optional
        The ``model`` of an earlier unmixing, or a file or a folder that holds one: nothing is
        learned, its components are found in this recording.
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
    signal = whole_signal(arrays.to_numpy(y) if arrays.is_tensor(y) else y)
    rate = checks.count("sample_rate", sample_rate, 1, 2**31 - 1)
    options = UnmixOptions(
        n_components=n_components,
        window=window,
        sparsity=sparsity,
        floor=floor,
        pairs=pairs,
        n_atoms=n_atoms,
        solver=solver,
        init=init,
        seed=seed,
        max_time=max_time,
        learn_on=learn_on,
        n_threads=n_threads,
        device=device,
    )
    saved = None if model is None else saved_model(model, rate, n_components)
    source = ArraySource(columns(signal), rate)
    progress = Lines("unmix", say) if verbose else no_progress
    references = references_of(like, rate)
    check_references(references, solver, saved)
    learned = learn(source, options, callback, progress, references) if saved is None else saved
    return unmixing_by(learned, signal, source, None, n_threads, progress)


def unmixing_by(
    model: UnmixModel,
    signal: Array,
    source: Source,
    marks: Marks | None = None,
    n_threads: int | None = None,
    progress: Progress = no_progress,
) -> Unmixing:
    """Take a signal, which is that of the source, apart with a model; the strongest comes first."""
    sink = ArraySink(model.K, source, signal.dtype)
    H = separate(source, model, sink, n_threads=n_threads, progress=progress, marks=marks)
    components = sink.components.reshape(model.K, *signal.shape)
    order = np.argsort([-np.square(component).sum() for component in components], kind="stable")
    return Unmixing(
        components=components[order],
        mixture=signal,
        sample_rate=source.sample_rate,
        model=model.sorted(order),
        H=H[order],
        marks=marks,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Unmixing:
    """A recording and its components, which add up to it.

    Attributes
    ----------
    components : array of shape (K, n) or (K, n, channels)
        The components, the strongest first.
    mixture : array of shape (n,) or (n, channels)
        The recording.
    sample_rate : int
        Samples per second.
    model : UnmixModel
        What was learned; it can be saved, and used on another recording.
    H : array of shape (K, N)
        Activations.
    marks : Marks or None
        Where groups sound or are silent: those of `refine`.
    """

    components: Array
    mixture: Array
    sample_rate: int
    model: UnmixModel
    H: Array
    marks: Marks | None = None

    @property
    def Phi(self) -> Array:
        """The transform, learned or not; its rows are the atoms."""
        return self.model.Phi

    @property
    def W(self) -> Array:
        """Patterns of the components over the atoms, or over pairs of them."""
        return self.model.W

    @property
    def history(self) -> History:
        """How it was learned, one row for each outer iteration."""
        return self.model.history

    @property
    def groups(self) -> dict[str, Array]:
        """The sound of each reference or marked group, and the "rest": together the recording."""
        groups = with_rest([*self.model.groups], self.model.K) if self.model.groups else []
        return {
            group.name: self.components[np.array(group.components) - 1].sum(axis=0)
            for group in groups
        }

    @property
    def exact(self) -> bool:
        """Whether the components add up to the mixture bit for bit."""
        return np.array_equal(self.components.sum(axis=0), self.mixture)

    @property
    def null_db(self) -> float:
        """Level of mixture minus components, relative to the mixture; -inf: no difference."""
        from phinmf.unmixing.null_test import level

        rest = np.square(self.components.sum(axis=0) - self.mixture).sum()
        return level(float(rest), float(np.square(self.mixture).sum()))

    def refine(
        self,
        marks: str | os.PathLike[str] | Sequence[dict[str, object]],
        groups: Mapping[str, Sequence[int]] | None = None,
        *,
        new: Sequence[str] = (),
        n_threads: int | None = None,
    ) -> Unmixing:
        """Improve groups of components with marks: where they sound, and where they are silent.

        Parameters
        ----------
        marks : path or list of dict
            A file marks.json, or marks such as ``{"group": "voice", "start": 12.0, "end": 15.5}``:
            what sounds from 12 to 15.5 s belongs to the voice. ``"low"`` and ``"high"`` in Hz limit
            it to a band; ``"silent": True`` says that the voice is silent there. A mark with
            ``"points"``, a list of seconds and Hz, and ``"seconds"`` and ``"octaves"``, the width
            and the height of a brush, is a stroke. They replace those of an earlier call.
        groups : dict of str to list of int, optional
            The numbers of the components of each group, counted from 1; by default those of the
            reference sounds. What is in none is called "rest".
        new : list of str
            Groups that do not exist yet: they get components of their own, learned from what is
            marked as theirs.
        n_threads : int, optional
            Number of threads; by default all processors.

        Returns
        -------
        Unmixing
            Other components, with these groups.
        """
        from phinmf.unmixing.refine import refine

        if n_threads is not None:
            checks.count("n_threads", n_threads, 1)
        source = ArraySource(columns(self.mixture), self.sample_rate)
        if isinstance(marks, str | os.PathLike):
            chosen = read_marks(storage.named(marks))
        else:
            items = listed("marks", marks, "a file or a list of dicts")
            boxes = [mark_from(mark, number) for number, mark in enumerate(items, 1)]
            chosen = Marks(self.sample_rate, source.length, boxes, texts("new", new))
        named = None if groups is None else groups_from(groups)
        model = refine(source, self.model, chosen, named, n_threads=n_threads)
        return unmixing_by(model, self.mixture, source, chosen, n_threads)

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        format: str | None = None,
        subtype: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write a file for each component, the model and a page to listen to into a new folder.

        Parameters
        ----------
        folder : path
            The folder; it must not exist yet.
        format : str, optional
            Format of the files, such as "WAV" (the default), "FLAC" or "MP3".
        subtype : str, optional
            Type of the samples, such as "PCM_16", "PCM_24" or "FLOAT" (the default for WAV).
        overwrite : bool
            Replace a folder that was written before, if it holds nothing else and its files were
            not changed since.

        Returns
        -------
        Path
            The folder.
        """
        from phinmf.unmix_file import unmix_file

        output = Output(storage.named(folder, "folder"), format, subtype, overwrite)
        source = ArraySource(columns(self.mixture), self.sample_rate)
        unmix_file(Request(source, output, UnmixOptions(), self.model, marks=self.marks))
        return output.folder

    def _repr_html_(self) -> str:
        """Return the player of the page, for a notebook."""
        from phinmf.report.folder import report_of_arrays
        from phinmf.report.page import fragment

        return fragment(report_of_arrays(self.components, self.model))

    def __repr__(self) -> str:
        K, n = self.components.shape[:2]
        how = "bit for bit" if self.exact else f"but for a rest of {self.null_db:.0f} dB"
        seconds = n / self.sample_rate
        return f"<Unmixing: {K} components of {seconds:.1f} s that add up to the recording {how}>"


def groups_from(groups: Mapping[str, Sequence[int]]) -> list[Group]:
    """Return the groups that a caller passes as names and numbers of components."""
    if not isinstance(groups, Mapping):
        raise InvalidType(
            f"groups is {storage.shown(groups)}, but a dict of names and lists of numbers is"
            ' needed, such as {"drums": [1, 4]}'
        )
    texts("groups", groups.keys())
    return [
        Group(name, [checks.count(f"a component of {name}", k) for k in listed(name, numbers)])
        for name, numbers in groups.items()
    ]


def texts(name: str, values: Iterable[str]) -> list[str]:
    """Return a list of texts, or raise; a single text would be a list of its letters."""
    items = listed(name, values, "a list of names")
    if not all(isinstance(item, str) for item in items):
        raise InvalidType(f"{name} has names {storage.shown(items)}, but each must be a text")
    return items


def listed(name: str, values: Iterable[Any], needed: str = "a list of numbers") -> list[Any]:
    """Return a list of what a caller passes, or raise."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidType(f"{name} is {storage.shown(values)}, but {needed} is needed")
    return [*values]


def saved_model(
    model: UnmixModel | str | os.PathLike[str], sample_rate: int, n_components: Components | None
) -> UnmixModel:
    """Return a model, or the one in a file or a folder."""
    from phinmf.unmixing.folder import model_of  # which loads soundfile

    return model_of(model, sample_rate, n_components)


def columns(signal: Array) -> Array:
    """Return a signal as (n, channels) in double precision."""
    return signal.reshape(len(signal), -1).astype(np.float64)
