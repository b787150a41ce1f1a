"""Reference sounds: components that are learned from a sound alone, to find its like elsewhere.

The components of each reference come from NMF of that sound alone, in the transform of the
recording. In the fit to the recording they stay as they are, beside free components for the rest.
(If they may follow the recording, they lose what they are like: docs/measurements/separation.md.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from phinmf import checks
from phinmf.audio import ArraySource, Source
from phinmf.audio.frames import whole_signal
from phinmf.errors import InvalidType, InvalidValue
from phinmf.unmixing.mix import REST, Group, check_name, folded

Sounds: TypeAlias = Mapping[str, tuple[ArrayLike, int]]  #: by name, with their sampling rates


@dataclass(frozen=True, eq=False)
class Reference:
    """A sound alone, at the sampling rate of the recording in which its like is looked for."""

    name: str  #: of the group of its components
    source: Source


def references_of(like: Sounds | None, sample_rate: int) -> list[Reference]:
    """Return references from sounds (n,) or (n, channels) and their sampling rates, by name."""
    named = isinstance(like, Mapping | None) and all(isinstance(name, str) for name in like or ())
    if not named:
        raise InvalidType(
            f"like is {type(like).__name__}, but sounds by name are needed, such as"
            ' {"voice": (y, sample_rate)}'
        )
    references: list[Reference] = []
    for name, sound in (like or {}).items():
        if not isinstance(sound, tuple) or len(sound) != 2:
            raise InvalidType(
                f"like has {type(sound).__name__} for {name!r}, but a sound and its sampling rate"
                " are needed: (y, sample_rate)"
            )
        rate = checks.count("sample_rate", sound[1], 1, 2**31 - 1)
        y = whole_signal(sound[0])
        source = ArraySource(y.reshape(len(y), -1).astype(np.float64), rate)
        references.append(Reference(name, resampled(source, sample_rate)))
    return references


def resampled(source: Source, sample_rate: int) -> Source:
    """Return a sound at another sampling rate; at its own one, the sound itself."""
    if source.sample_rate == sample_rate:
        return source
    import soxr

    samples = source.read(0, source.length)
    return ArraySource(soxr.resample(samples, source.sample_rate, sample_rate), sample_rate)


def check_references(references: Sequence[Reference], solver: object, model: object) -> None:
    """Raise ValueError if names cannot be those of groups, or what else is asked for does not fit.

    Patterns of components belong to one transform, so it cannot be learned from there.
    """
    if references and model is not None:
        raise InvalidValue(
            "model and reference sounds do not go together: a model has its components already"
        )
    if references and solver is not None:
        raise InvalidValue(
            "solver is to learn the transform, but reference sounds need one that stays: leave"
            " it out"
        )
    names = [folded(reference.name) for reference in references]
    for reference in references:
        check_name(reference.name)
        if names.count(folded(reference.name)) > 1:
            raise InvalidValue(f"two references are called {reference.name!r}: choose other names")
    if REST in names:
        raise InvalidValue(
            f"a reference is called {REST}, but that is the name for what is like none: choose"
            " another name"
        )


def check_number(references: Sequence[Reference], K: int) -> None:
    """Raise ValueError if K components are too few for all references and the rest."""
    if references and len(references) >= K:
        raise InvalidValue(
            f"n_components is {K}, but {len(references)} references and the rest need at least"
            f" {len(references) + 1}"
        )


def groups_of(references: Sequence[Reference], K: int) -> list[Group]:
    """Return the numbers of the components of each reference: all have as many as the rest.

    What is left over belongs to the rest, which comes last.
    """
    each = K // (len(references) + 1)
    return [
        Group(reference.name, list(range(i * each + 1, (i + 1) * each + 1)))
        for i, reference in enumerate(references)
    ]
