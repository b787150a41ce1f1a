"""What a listener points at, and what is learned from it: spectrograms, and drafts of versions.

A draft is a version that was refined with its marks, in memory only: any stretch of its groups can
be heard, until it is kept as a version of its own or another one takes its place.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from phinmf._types import Array
from phinmf.audio import files
from phinmf.audio.files import Excerpt
from phinmf.studio.library import Version
from phinmf.studio.requests import NotFound, Refusal
from phinmf.unmixing.folder import component_sounds, model_of
from phinmf.unmixing.marks import Marks, grouped_with_new
from phinmf.unmixing.mix import Mix, with_rest
from phinmf.unmixing.model import UnmixModel
from phinmf.unmixing.refine import NEW, hear, refine
from phinmf.unmixing.spectrogram import spectrogram

LONGEST = 10.0  #: seconds of a draft that are computed at a time
MOST_COMPONENTS = 64
MOST_PICTURES = 32  #: that are remembered


@dataclass(frozen=True, eq=False)
class Draft:
    """A model that was refined with marks; its groups are in it."""

    version: Version
    source: Excerpt
    model: UnmixModel
    marks: Marks


class Pointing:
    """Computes one thing at a time of each kind, and remembers what was asked for last."""

    def __init__(self) -> None:
        self._draft: Draft | None = None
        self._model: tuple[Version, UnmixModel] | None = None  #: as it was before marks
        self._pictures: dict[tuple[object, ...], NDArray[np.uint8]] = {}  #: the oldest first
        self._learning, self._drawing = threading.Lock(), threading.Lock()

    def forget(self, version: Version) -> None:
        """Let go of a version that is removed."""
        with self._learning:
            if self._model is not None and self._model[0] is version:
                self._model = None
            if self._draft is not None and self._draft.version is version:
                self._draft = None

    # ---- learning from marks ---------------------------------------------------------------------

    def learn(self, version: Version, source: Excerpt) -> Draft:
        """Refine a version with the marks and groups that are saved; the draft before is gone."""
        marks, K = version.marks, len(version.record.components)
        groups = [group for group in version.record.mix.coloured() if group.components]
        if not marks.marks:
            raise Refusal("there is no mark yet: mark where a group sounds, or where it is silent")
        marked = grouped_with_new(marks, groups, K, NEW)
        total = K + NEW * (len(marked) - len(groups))
        if total > MOST_COMPONENTS:
            raise Refusal(
                f"new groups need {NEW} components each, which makes {total}, but at most"
                f" {MOST_COMPONENTS} can be listened to: put some of {K} components together"
            )
        if len(with_rest(marked, total)) < 2:
            raise Refusal("marks divide groups: make two of them, or mark a new one")
        with self._learning:
            model = refine(source, self._loaded(version), marks, groups)
            self._draft = Draft(version, source, coloured(model), marks)
            return self._draft

    def prepare(self, version: Version) -> None:
        """Load the model of a version in the background: marks are likely to be learned soon."""

        def load() -> None:
            with self._learning, suppress(OSError, ValueError):  # learning says what is wrong
                self._loaded(version)

        if self._model is None or self._model[0] is not version:
            threading.Thread(target=load, daemon=True).start()

    def _loaded(self, version: Version) -> UnmixModel:
        """Return the model of a version; the last one stays in memory."""
        if self._model is None or self._model[0] is not version:
            self._model = version, model_of(version.folder, version.sample_rate)
        return self._model[1]

    def draft(self, version: Version) -> Draft:
        """Return what was learned from the marks of a version."""
        draft = self._draft
        if draft is None or draft.version is not version:
            raise NotFound("nothing was learned from these marks yet: hear them first")
        return draft

    def sound(self, version: Version, start: int, count: int) -> Array:
        """Return samples (1 + groups, channels, n) of a draft, the recording first."""
        draft, length = self.draft(version), version.record.length
        most = round(LONGEST * version.sample_rate)
        if not (0 <= start <= length and 0 <= count <= most):
            raise Refusal(
                f"start is {start} and count is {count}, but this version has {length} samples, of"
                f" which at most {most} are computed at a time"
            )
        count = min(count, length - start)
        if not count:
            return np.zeros((0, 0, 0), np.float32)
        parts = [*hear(draft.source, draft.model, draft.marks, start, count).values()]
        return np.stack([sum(parts), *parts]).transpose(0, 2, 1)

    # ---- spectrograms ----------------------------------------------------------------------------

    def picture(
        self, version: Version, start: int, count: int, components: tuple[int, ...]
    ) -> NDArray[np.uint8]:
        """Return the spectrogram of a stretch: of the recording, or of a sum of components."""
        K, length = len(version.record.components), version.record.length
        if not (start >= 0 and 1 <= count <= length - start):
            raise Refusal(
                f"start is {start} and count is {count}, but this version has {length} samples"
            )
        if not set(components) <= set(range(1, K + 1)):
            raise Refusal(f"components are numbers from 1 to {K}")
        key = version.id, start, count, components
        with self._drawing:
            if key not in self._pictures:
                blocks = blocks_of(version, start, count, components)
                self._pictures[key] = spectrogram(blocks, count, version.sample_rate)
            picture = self._pictures[key] = self._pictures.pop(key)  # it is now the newest
            while len(self._pictures) > MOST_PICTURES:
                del self._pictures[next(iter(self._pictures))]
        return picture


def coloured(model: UnmixModel) -> UnmixModel:
    """Return a model whose groups have colours, as the page gives them to new ones."""
    return replace(model, groups=tuple(Mix([*model.groups]).coloured()))


def blocks_of(
    version: Version, start: int, count: int, components: tuple[int, ...]
) -> Iterator[Array]:
    """Yield blocks of the recording, if it is here, or of the sum of components."""
    if not components and version.original is not None:
        version.original.check_unchanged()
        sound = version.original.sound
        yield from files.blocks(sound, version.original.first + start, count)
        return
    sounds = component_sounds(version.folder, version.record)
    chosen = [sounds[k - 1] for k in components] or sounds
    for blocks in zip(*(files.blocks(sound, start, count) for sound in chosen), strict=True):
        yield sum(blocks[1:], blocks[0])
