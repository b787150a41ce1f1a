"""Properties of a learned transform: energy, atoms, and whether other starts find the same."""

from phinmf.analysis.blocks import Block, atom_blocks, block_order
from phinmf.analysis.canonical import Canonical, canonical
from phinmf.analysis.consensus import average_transform, consensus
from phinmf.analysis.energy import (
    atom_energies,
    atoms_for_energy,
    energy_curve,
    karhunen_loeve,
    strongest_atoms,
)
from phinmf.analysis.frequencies import Frequencies, atom_frequencies
from phinmf.analysis.matching import Matching, match_atoms, subspace_overlap
from phinmf.analysis.rank import RankPath, rank_path
from phinmf.analysis.stability import Stability, stability
from phinmf.analysis.unseen import HeldOut, held_out, split_frames

__all__ = [
    "Block",
    "Canonical",
    "Frequencies",
    "HeldOut",
    "Matching",
    "RankPath",
    "Stability",
    "atom_blocks",
    "atom_energies",
    "atom_frequencies",
    "atoms_for_energy",
    "average_transform",
    "block_order",
    "canonical",
    "consensus",
    "energy_curve",
    "held_out",
    "karhunen_loeve",
    "match_atoms",
    "rank_path",
    "split_frames",
    "stability",
    "strongest_atoms",
    "subspace_overlap",
]
