"""The order of the examples in the gallery: from the first steps to more machines."""

from __future__ import annotations

from sphinx_gallery.sorting import FileNameSortKey

ORDER = [
    "sound_to_atoms", "sound_to_parts", "two_notes", "few_atoms", "choosing_k", "new_frames",
    "denoising", "heartbeats", "ica", "live_plot", "stream", "cluster", "gpu",
]  # fmt: skip


class FromEasyToLarge(FileNameSortKey):
    """Sorts the files of examples; new ones come last."""

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the place of a file."""
        name = filename.removesuffix(".py")
        return (ORDER.index(name) if name in ORDER else len(ORDER)), name
