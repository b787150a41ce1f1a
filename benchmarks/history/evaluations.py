"""The parts that a fit repeats: the loss with its gradient, and frames of a sound and back."""

import numpy as np

import phinmf
from phinmf.divergences import DIVERGENCES
from phinmf.engines.blocked.engine import BlockedEngine
from phinmf.linalg.manifold import random_orthogonal

M, N, K, FLOOR = 256, 4000, 10, 1e-3


class Evaluations:
    """The loss and its gradient for each compiled divergence, in two threads."""

    params = ("itakura-saito", "gaussian", "kullback-leibler", "euclidean")
    param_names = ("divergence",)

    def setup(self, divergence: str) -> None:
        rng = np.random.default_rng(0)
        self.engine = BlockedEngine(rng.standard_normal((1, M, N)), DIVERGENCES[divergence], 2)
        self.engine.__enter__()
        self.engine.set_activations(rng.random((K, N)))
        self.objective = self.engine.objective(rng.random((M, K)), FLOOR)
        self.rotation = random_orthogonal(M, rng, np.float64)
        self.objective.at(self.rotation)  # compile

    def teardown(self, divergence: str) -> None:
        self.engine.__exit__(None, None, None)

    def time_loss_and_gradient(self, divergence: str) -> None:
        self.objective.at(self.rotation)


class Frames:
    """One minute of sound at 16 kHz."""

    def setup(self) -> None:
        self.sound = np.random.default_rng(0).standard_normal(60 * 16_000)
        self.frames = phinmf.to_frames(self.sound, 400)

    def time_to_frames(self) -> None:
        phinmf.to_frames(self.sound, 400)

    def time_from_frames(self) -> None:
        phinmf.from_frames(self.frames, len(self.sound))
