"""Properties of a learned transform and of a fit: energy, atoms, prediction of unseen frames."""

from phinmf.analysis.atoms import (
    Frequencies,
    Matching,
    atom_energies,
    atom_frequencies,
    atoms_for_energy,
    energy_curve,
    karhunen_loeve,
    match_atoms,
    strongest_atoms,
)
from phinmf.analysis.evaluation import HeldOut, RankPath, held_out, rank_path, split_frames

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
