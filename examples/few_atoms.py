"""
Few atoms
=========

Most atoms of a recording are almost silent. ``n_atoms=0.99`` learns only the atoms that hold 99 %
of the energy: a fifth of them here, in a fraction of the time, and the strong ones are the same.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import phinmf
from phinmf.analysis import energy_curve, match_atoms, strongest_atoms
from phinmf.audio.example import example

Y = phinmf.to_frames(example().mixture, 640)
phinmf.tl_nmf(Y, 8, n_atoms=16, max_iter=4, tol=0)  # compiles what is compiled, so it is not timed
results, seconds = [], []
for n_atoms in (None, 0.99):
    start = time.process_time()
    results.append(phinmf.tl_nmf(Y, 8, n_atoms=n_atoms, random_state=0))
    seconds.append(time.process_time() - start)
everything, few = results
strong = [strongest_atoms(result.Phi, Y, 12) for result in results]
alike = match_atoms(*strong)  # pairs of rows of both, and their |cos|
print(f"{everything.n_atoms} atoms: {seconds[0]:.2f} s of processor time")
print(f"{few.n_atoms} atoms: {seconds[1]:.2f} s, with {100 * few.energy:.1f} % of the energy")
print(f"The twelve strongest atoms of both agree: median |cos| {np.median(alike.similarity):.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for result, atoms, pair, style in zip(results, strong, alike[:2], ("-", "--"), strict=True):
    left.plot(100 * energy_curve(result.Phi, Y), style, label=f"{result.n_atoms} atoms are learned")
    right.plot(atoms[pair[0]] * np.sign(atoms[pair[0]].sum()), style)
left.set(title="Energy in the strongest atoms", xlabel="atoms", ylabel="%", xlim=(0, 200))
left.legend(loc="lower right")
right.set(title="The same atom in both", xlabel="sample")
plt.show()
