"""
From a sound file to its parts
==============================

``unmix`` takes a recording apart into components that add up to it. The built-in example comes
with its true voices, so that we can measure which components belong to which voice.
"""

import matplotlib.pyplot as plt
import numpy as np

import phinmf
from phinmf.audio.example import example

sound = example()  # or: y, sample_rate = soundfile.read("song.flac")
y, sample_rate = sound.mixture, sound.sample_rate
unmixing = phinmf.unmix(y, sample_rate, n_components=12, seed=0)
# unmixing.save("out/song") writes a sound file of each component and a page to listen to.
print(f"Null test: recording minus components is at {unmixing.null_db:.0f} dB.")

# %%
# Give each component to the voice that it resembles most, and compare the sums with the voices.
voices = np.array(list(sound.stems.values()))
unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (unmixing.components, voices)]
owner = np.abs(unit[0] @ unit[1].T).argmax(axis=1)
figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 5), layout="constrained")
for ax, name, i in zip(axes, sound.stems, range(3), strict=True):
    estimate = unmixing.components[owner == i].sum(axis=0)
    error = [np.sum((voices[i] - x) ** 2) for x in (y, estimate)]
    before, after = 10 * np.log10(np.sum(voices[i] ** 2) / error)
    print(f"{name}: {before:.1f} dB in the recording, {after:.1f} dB in its components")
    t = np.arange(len(y)) / sample_rate
    ax.plot(t, voices[i], color="silver", label="true voice")
    ax.plot(t, estimate, lw=0.5, label=f"{sum(owner == i)} components")
    ax.set(title=f"{name}: {after - before:.1f} dB better than the recording")
    ax.legend(loc="upper right")
axes[2].set(xlabel="s")
plt.show()
