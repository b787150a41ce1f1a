"""Properties of a learned transform and of a fit: energy, atoms, prediction of unseen frames."""

from phinmf.analysis.atoms import Frequencies, Matching, atom_frequencies, match_atoms
from phinmf.analysis.energy import (
    atom_energies,
    atoms_for_energy,
    energy_curve,
    karhunen_loeve,
    strongest_atoms,
)
from phinmf.analysis.evaluation import HeldOut, held_out, split_frames
from phinmf.analysis.rank import RankPath, rank_path

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
