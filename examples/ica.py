"""
Independent component analysis is a special case
================================================

With a fixed density in place of the factors, the same solver does ICA. The density is a
``Divergence`` of four formulas. Three voices, recorded by three microphones, are heard alone again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA, FastICA

import phinmf
from phinmf.audio.example import example


class LogCosh(phinmf.Divergence):  # f(x) = -log of the density 1/cosh(x), and v is x²
    has_nmf_split = False  # there are no factors to update
    value = staticmethod(lambda v, v_hat, eps: np.log(np.cosh(np.sqrt(v))))
    slope = staticmethod(lambda v, v_hat, eps: np.tanh(np.sqrt(v)) / np.sqrt(v))  # f'(x)/x
    curvature = staticmethod(lambda v, v_hat, eps: np.cosh(np.sqrt(v)) ** -2)  # f''(x)
    bound = staticmethod(lambda v, v_hat, eps: np.ones_like(v))  # at least f''(x)


voices = np.array(list(example().stems.values()))[:, :80_000]
microphones = np.random.default_rng(0).standard_normal((3, 3)) @ voices
white = PCA(whiten=True).fit_transform(microphones.T).T
how = {"init": np.eye(3), "method": phinmf.Method(anneal=False), "tol": 1e-8}
result = phinmf.learn_transform(white, np.ones_like(white), divergence=LogCosh(), **how)
theirs = FastICA(whiten=False, tol=1e-8, random_state=0).fit(white.T).components_
agree = np.abs(theirs @ result.Phi.T).max(axis=1).min()
print(f"The rows of FastICA's matrix and of ours agree: least |cos| {agree:.6f}")
figure, axes = plt.subplots(2, 1, sharex=True, figsize=(9, 4.5), layout="constrained")
for ax, name, y in zip(axes, ("mixed", "unmixed"), (microphones, result.Phi @ white), strict=True):
    like = np.abs(np.corrcoef(y, voices)[:3, 3:]).max(axis=0)
    print(f"Correlation with the voices, {name}:", *[f"{c:.4f}" for c in like])
    ax.plot(np.arange(80_000) / 16_000, (y.T / np.abs(y).max(axis=1)) + [4, 2, 0], lw=0.5)
    ax.set(title=f"{name}, in s: correlation with the voices at least {like.min():.4f}", yticks=())
plt.show()
