"""
A callback with a live plot
===========================

A callback sees every iteration. This one draws what is learned, in a window if there is a screen,
and ends the run at the lowest floor. (At a lower floor the same fit has a higher objective.)
"""

import matplotlib.pyplot as plt

import phinmf
from phinmf.analysis import strongest_atoms
from phinmf.audio.example import example

Y = phinmf.to_frames(example().mixture, 256)
plt.ion()  # a window appears now and shows at once what is drawn; without a screen nothing appears
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
figure.subplots_adjust(bottom=0.15)  # so that labels are not cut off
left.set(title="Objective per entry", xlabel="iteration", xlim=(0, 34), ylim=(0, 2.5))
right.set(title="The strongest atom", xlabel="sample", xlim=(0, 256), ylim=(-0.2, 0.2))
cost, wave, objectives, atoms = left.plot([])[0], right.plot([])[0], [], []


def watch(state):
    """Draw the state of the run; return True to stop it."""
    objectives.append(state.objective / Y.size)
    atoms.append(strongest_atoms(state.Phi, Y, 1)[0])
    cost.set_data(range(len(objectives)), objectives)
    wave.set_data(range(256), atoms[-1])
    figure.canvas.draw_idle()
    figure.canvas.flush_events()
    return state.history.floor[-1] <= 1e-8


result = phinmf.tl_nmf(Y, n_components=8, random_state=0, callback=watch)
print(f"After {result.n_iter} iterations it {result.status.value}.")
print(f"The objective rose from {objectives[0]:.2f} to {objectives[-1]:.2f} per entry,")
print(f"but the strongest atom was final after ten: |cos| = {abs(atoms[9] @ atoms[-1]):.3f}")
plt.show(block=True)  # keeps the window open
