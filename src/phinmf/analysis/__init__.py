"""Properties of a learned transform and of a fit: energy, atoms, prediction of unseen frames."""

from phinmf.analysis.energy import (
    atom_energies,
    atoms_for_energy,
    energy_curve,
    karhunen_loeve,
    strongest_atoms,
)
from phinmf.analysis.frequencies import Frequencies, atom_frequencies
from phinmf.analysis.matching import Matching, match_atoms
from phinmf.analysis.rank import RankPath, rank_path
from phinmf.analysis.unseen import HeldOut, held_out, split_frames

__all__ = [
    "Frequencies",
    "HeldOut",
    "Matching",
    "RankPath",
    "atom_energies",
    "atom_frequencies",
    "atoms_for_energy",
    "energy_curve",
    "held_out",
    "karhunen_loeve",
    "match_atoms",
    "rank_path",
    "split_frames",
    "strongest_atoms",
]
