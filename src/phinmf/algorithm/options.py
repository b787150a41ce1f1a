"""The options of a fit, each with its default and its check: the one list that all others follow.

`tl_nmf`, `TLNMF`, `learn_transform` and `unmix` write their signatures out for readers and type
checkers, with the defaults from here, and make an `Options` of their arguments. Its values are
checked: a name is replaced by the object that it names. They say nothing of the frames, so that
one `Options` serves every restart.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar, overload

from numpy.typing import ArrayLike

from phinmf import checks
from phinmf._types import Device
from phinmf.divergences import DIVERGENCES, Divergence, DivergenceName, Penalty
from phinmf.engines import ENGINES, EngineName
from phinmf.errors import InvalidType, InvalidValue
from phinmf.inits import DCT, DFT, Init, InitName, init_of
from phinmf.solvers import SOLVERS, Solver, SolverName

small_number = partial(checks.number, most=1e18)  #: its square is one of single precision

Argument = TypeVar("Argument")
Value = TypeVar("Value")


class Option(Generic[Argument, Value]):
    """A field of a dataclass: its default, and what it is replaced by when it is set.

    `check` gets the name and the argument, and returns the value or raises. An `optional` argument
    may be None, which stays None.
    """

    def __init__(
        self, default: Argument, check: Callable[..., Any], optional: bool = False
    ) -> None:
        self.default = default
        self.check = check
        self.optional = optional

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Argument: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> Argument | Value:
        if instance is None:
            return self.default
        value: Value = instance.__dict__[self.name]
        return value

    def __set__(self, instance: object, argument: Argument) -> None:
        skip = argument is None and self.optional
        instance.__dict__[self.name] = None if skip else self.check(self.name, argument)


# checks


def solver_of(name: str, solver: Any) -> Solver | None:
    """Return the solver of a name, or a solver unchanged; None learns no transform."""
    if solver is None or isinstance(solver, Solver):
        return solver
    names: list[Any] = [*SOLVERS, None]
    return SOLVERS[checks.choice(name, solver, names)]()


def divergence_of(name: str, divergence: Any) -> Divergence:
    """Return the divergence of a name, or a divergence unchanged."""
    if isinstance(divergence, str):
        return DIVERGENCES[checks.choice(name, divergence, DIVERGENCES)]
    if isinstance(divergence, Divergence):
        return divergence
    listed = ", ".join(repr(name) for name in DIVERGENCES)
    raise InvalidType(
        f"{name} is {divergence!r}, but {listed} or an object of your own is needed: subclass"
        " phinmf.Divergence and pass an instance"
    )


def number_of_atoms(name: str, n_atoms: object) -> int | float:
    """Return a number of atoms, or a share of the energy between 0 and 1."""
    if isinstance(n_atoms, numbers.Integral):
        return checks.count(name, n_atoms, 1)
    share = checks.number(name, n_atoms, 0, strict=True)
    if share >= 1:
        raise InvalidValue(
            f"{name} is {n_atoms}, but a whole number of atoms, or a share of the energy below 1"
            " such as 0.999, is needed"
        )
    return share


def annealing_of(name: str, anneal: Any) -> bool | Anneal | None:
    """Return True, False, None (as the solver prefers) or a schedule."""
    if isinstance(anneal, Anneal) or anneal is None:
        return anneal
    return bool(checks.choice(name, anneal, (True, False)))


def method_of(name: str, method: Any) -> Method:
    """Return a `Method`; None is the default one."""
    if method is None:
        return Method()
    if not isinstance(method, Method):
        raise InvalidType(f"{name} is {method!r}, but a phinmf.Method or None is needed")
    return method


# options


@dataclass(frozen=True)
class Anneal:
    """A schedule of floors: start · (knee/start)^(progress^shape), then the target at once.

    Parameters
    ----------
    start : float
        First floor, relative to the mean power.
    length : int
        Outer iterations from the start to the knee; compressed when max_iter or max_time is short.
    shape : float
        1 is a geometric schedule; if larger, the floor stays high for longer, then falls faster.
    knee : float
        Floor from which the schedule jumps to the target, since little changes below it.
    sample : float
        Number of frames of the sample, as a multiple of M, while the floor is above `all_frames`;
        0 always uses all frames.
    all_frames : float
        Floor below which all frames are used.
    coarse : float
        Only atoms of the Karhunen–Loève transform whose mean power is at least this multiple of
        the floor are learned, up to the knee; 0 always learns all of them. A run that starts from
        a given transform, W or H does so anyway.
    """

    start: float = 0.05
    length: int = 32
    shape: float = 2.5
    knee: float = 1e-6
    sample: float = 3.0
    all_frames: float = 2e-3
    coarse: float = 30.0

    def __post_init__(self) -> None:
        for name in ("start", "shape", "knee"):
            checks.number(name, getattr(self, name), 0, strict=True)
        for name in ("sample", "all_frames", "coarse"):
            checks.number(name, getattr(self, name), 0)
        checks.count("length", self.length, 1)


ANNEAL = Anneal()  #: the default schedule


@dataclass(frozen=True)
class Method:
    """The inner working of Algorithm 1: argument `method` of `tl_nmf`.

    Parameters
    ----------
    anneal : bool or Anneal, optional
        Begin at a high floor and lower it to `floor`: a learned transform ends at far better
        minima from any start, and plain NMF separates close tones better. The default is True for
        L-BFGS and for plain NMF (`solver=None`), and False for other solvers; an `Anneal` sets the
        schedule. False continues from a given W and H; the high floor forgets most of them.
    n_iter_nmf, n_iter_transform : int
        NMF updates and transform steps (the paper's L) per outer iteration; while the floor is
        annealed and still high, three times as many NMF updates.
    nmf_exponent : float
        0.5 for majorisation-minimisation (the paper), 1 for the faster majorisation-equalisation.
        Where the updates of a divergence are monotone only up to a smaller exponent, that one is
        the maximum: 1/(2-β) if β < 0, 1/(β-1) if β > 2.

    Examples
    --------
    >>> import phinmf
    >>> phinmf.Method(anneal=False, nmf_exponent=0.5)
    Method(anneal=False, n_iter_nmf=3, n_iter_transform=2, nmf_exponent=0.5)
    """

    anneal: Option[bool | Anneal | None, bool | Anneal | None] = Option(None, annealing_of)
    n_iter_nmf: Option[int, int] = Option(3, checks.count)
    n_iter_transform: Option[int, int] = Option(2, partial(checks.count, least=1))
    nmf_exponent: Option[float, float] = Option(1.0, partial(checks.number, strict=True, most=1))


@dataclass(frozen=True)
class Options:
    """The checked options of a fit; `tl_nmf` explains each of them."""

    solver: Option[SolverName | Solver | None, Solver | None] = Option("lbfgs", solver_of)
    init: Option[InitName | Init | ArrayLike | None, Init] = Option(None, init_of, optional=True)
    divergence: Option[DivergenceName | Divergence, Divergence] = Option(
        "itakura-saito", divergence_of
    )
    sparsity: Option[float | None, float | None] = Option(None, small_number, optional=True)
    smoothness: Option[float, float] = Option(0.0, small_number)
    n_atoms: Option[int | float | None, int | float | None] = Option(
        None, number_of_atoms, optional=True
    )
    pairs: Option[bool, bool] = Option(False, partial(checks.choice, choices=(False, True)))
    floor: Option[float, float] = Option(1e-8, small_number)
    method: Option[Method | None, Method] = Option(None, method_of)
    max_iter: Option[int, int] = Option(100, checks.count)
    max_time: Option[float | None, float | None] = Option(None, checks.number, optional=True)
    tol: Option[float, float] = Option(2e-4, checks.number)
    engine: EngineName = "auto"
    device: Device = None  #: of a cluster's workers
    n_threads: Option[int | None, int | None] = Option(
        None, partial(checks.count, least=1), optional=True
    )

    def __post_init__(self) -> None:
        """Choose the start of Φ if none is named; refuse options that exclude each other."""
        if self.init is None:
            vars(self)["init"] = DFT() if self.pairs else DCT()
        checks.choice("engine", self.engine, ["auto", *ENGINES])
        if self.method.n_iter_nmf and not self.divergence.has_nmf_split:
            raise InvalidValue(
                f"divergence is {self.divergence!r}, which has no nmf_split and serves"
                " learn_transform only: NMF needs one that has it"
            )
        if self.n_atoms is not None and self.solver is None:
            raise InvalidValue(
                f"n_atoms is {self.n_atoms}, but solver is None, which learns no atoms: leave"
                " n_atoms out, or name a solver"
            )
        if self.smoothness and not self.divergence.smooth_updates:
            raise InvalidValue(
                f"smoothness is {self.smoothness:g}, but the updates of {self.divergence!r} cannot"
                " be combined with it: use a β-divergence with β from 0 to 1 or 'gaussian', or"
                " leave smoothness out"
            )

    @property
    def penalty(self) -> Penalty:
        """The penalty at unit power; its sparsity is that of the divergence by default."""
        sparsity = self.divergence.default_sparsity if self.sparsity is None else self.sparsity
        return Penalty(sparsity, self.smoothness)

    @property
    def anneal(self) -> Anneal | None:
        """The schedule of floors, if it begins above the target; None keeps to that.

        By default plain NMF has one, and solvers that declare it.
        """
        anneal = self.method.anneal
        if anneal is None:
            anneal = self.solver is None or self.solver.anneals_by_default
        if not isinstance(anneal, Anneal):
            anneal = ANNEAL if anneal else None
        return anneal if anneal is not None and anneal.start > self.floor else None

    @property
    def nmf_exponent(self) -> float:
        """The exponent γ with which the updates of this divergence never raise the objective."""
        return min(self.method.nmf_exponent, self.divergence.max_exponent)

    @property
    def atoms_per_power(self) -> int:
        """2 if atoms share their power in pairs, so that W has half as many rows as Φ; else 1."""
        return 2 if self.pairs else 1

    def after(self, seconds: float) -> Options:
        """Return the same options with less time, if time is limited."""
        if self.max_time is None:
            return self
        return replace(self, max_time=max(0.0, self.max_time - seconds))

    def with_anneal(self, anneal: Anneal | None) -> Options:
        """Return the same options with another schedule of floors; None: no schedule."""
        return replace(self, method=replace(self.method, anneal=anneal or False))

    def keeping_Phi(self) -> Options:
        """Return the same options, and the same schedule, without a solver."""
        return replace(self.with_anneal(self.anneal), solver=None, n_atoms=None)
