"""How well models fit and predict held-out frames, which frames to hold out, and which rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phinmf import checks
from phinmf._types import AnyArray, Array, Indices, RandomState
from phinmf.algorithm.options import Options
from phinmf.api import tl_nmf
from phinmf.errors import InvalidType, InvalidValue
from phinmf.estimator import encoding
from phinmf.estimator.tlnmf import TLNMF
from phinmf.fit.data import weights_of
from phinmf.fit.encode import Learned, encode
from phinmf.fit.prediction import predict
from phinmf.result import Result

STRETCH = 16  #: consecutive frames that are held out, because neighbours overlap


@dataclass(frozen=True)
class HeldOut:
    """How well a model fits frames that were not in its fit; all values are per entry.

    Attributes
    ----------
    nll : float
        Negative log-likelihood of held-out coefficients in nats, where the frames have unit power.
        Compare models by it: lower is better. White noise has 1.44 if no component is found in it.
    noise : float
        The noise ε of the predictions, relative to the power of the frames.
    divergence : float
        Divergence of the frames from the model, with activations computed from all coefficients,
        as `TLNMF.transform` does. It decreases with every component and with less sparsity, even
        if these describe nothing but noise.
    objective : float
        The same and the penalty: compare it with the objective of the fit per entry.
    """

    nll: float
    noise: float
    divergence: float
    objective: float


def held_out(
    model: Result | TLNMF,
    Y: AnyArray,
    *,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = 0,
) -> HeldOut:
    """Evaluate what was learned on frames that were not in the fit.

    The coefficients Φy of each frame are cut at random into four parts. Activations h are computed
    from three of them, by the divergence and the penalty of the fit, and predict the power
    v̂ = g Wh + ε of the fourth; so for each part in turn. The factor g of a frame is fitted to the
    three parts, because a penalty makes Wh too small; the noise ε is one number, the best for all
    frames. (Activations that are computed from all coefficients fit these the better, the more
    components there are.)

    The likelihood is that of Student's distribution with 4 degrees of freedom: of Gaussian
    coefficients whose variance v̂ is not known exactly. It does not depend on how the model was
    fitted, so that numbers of components, sparsities, divergences and fits to frames of another
    level can be compared; so can transforms, because an orthogonal one keeps densities. The
    Itakura–Saito divergence cannot compare transforms, also not on held-out frames: it is lower
    where fewer coefficients are close to zero, however well the power is predicted.

    Parameters
    ----------
    model : Result or TLNMF
        A result of `tl_nmf`, or a fitted estimator.
    Y : array of shape (M, N) or (C, M, N)
        Frames, as for `tl_nmf`: also a tensor, or a dask array.
        Frames that are exactly silent do not count in the likelihood.
    sample_weight : array of shape (N,), optional
        How often each frame counts.
    random_state : None, int, RandomState or Generator
        Cuts the coefficients into parts; the same ones by default.

    Returns
    -------
    HeldOut
        The loss of predictions, and the fit of the frames.

    Examples
    --------
    >>> import numpy as np
    >>> from phinmf import tl_nmf
    >>> from phinmf.analysis import held_out, split_frames
    >>> Y = np.random.default_rng(0).standard_normal((16, 400))
    >>> learn, out = split_frames(400, random_state=0)
    >>> result = tl_nmf(Y[:, learn], 2, max_iter=5, tol=0, random_state=0)
    >>> held_out(result, Y[:, out]).nll > 1.4  # of noise nothing can be predicted
    True
    """
    learned = learned_by(model)
    frames = checks.frames(Y)
    M, N = frames.shape[1:]
    if len(learned.Phi) != M:
        raise InvalidValue(f"Y has frames of {M} samples, but the model of {len(learned.Phi)}")
    counts = weights_of(sample_weight, N)
    predicted = predict(frames, learned, checks.generator(random_state), counts)
    fit = encode(frames, learned, counts)
    entries = M * (N if counts is None else float(counts.sum()))
    return HeldOut(
        predicted.nll,
        predicted.noise,
        fit.divergence / entries,
        (fit.divergence + fit.penalty) / entries,
    )


def learned_by(model: Result | TLNMF) -> Learned:
    """Return the part of a result or of an estimator that activations of new frames depend on."""
    if isinstance(model, Result):
        if model.W is None or model.terms is None:
            raise InvalidValue("the result has no components to predict with: pass one of tl_nmf")
        divergence, penalty = model.terms
        options = Options(
            divergence=divergence, sparsity=penalty.sparsity, smoothness=penalty.smoothness,
            floor=model.floor / model.scale**2,
        )  # fmt: skip
        return Learned(model.Phi, model.W, model.scale, options)
    if not isinstance(model, TLNMF):
        raise InvalidType(f"model is {model!r}, but a result of tl_nmf or a TLNMF is needed")
    encoding.check_is_fitted(model)
    return encoding.learned(model)


def split_frames(
    N: int,
    share: float = 0.5,
    *,
    stretch: int = STRETCH,
    gap: int = 1,
    random_state: RandomState = 0,
) -> tuple[Indices, Indices]:
    """Choose frames to learn from and frames to hold out, in stretches of consecutive frames.

    Neighbouring frames of a recording overlap. If single frames were held out, half of the samples
    of each would be in the fit, too.

    Parameters
    ----------
    N : int
        Number of frames.
    share : float
        Share of the frames to hold out.
    stretch : int
        Number of consecutive frames that are held out together.
    gap : int
        Number of frames on each side of a stretch that are used for nothing: 1 if frames overlap
        by half, as those of `to_frames`; 0 if they do not overlap.
    random_state : None, int, RandomState or Generator
        Chooses the stretches.

    Returns
    -------
    learn : array of int
        Indices of the frames to learn from.
    out : array of int
        Indices of the frames to hold out. Several such pairs are a `cv` of ``GridSearchCV``.

    Examples
    --------
    >>> from phinmf.analysis import split_frames
    >>> learn, out = split_frames(1000, 0.2, random_state=0)
    >>> len(learn), len(out)
    (776, 200)
    """
    N, stretch = checks.count("N", N, 1), checks.count("stretch", stretch, 1)
    share, gap = checks.number("share", share, 0, strict=True), checks.count("gap", gap, 0)
    n_out = round(share * N)
    stretch = min(stretch, n_out)
    out = np.zeros(N, bool)
    for start in checks.generator(random_state).permutation(np.arange(0, N, max(stretch, 1))):
        out[start : start + min(stretch, n_out - int(out.sum()))] = True
        if out.sum() == n_out:
            break
    near = out.copy()
    for frame in np.flatnonzero(out):
        near[max(frame - gap, 0) : frame + gap + 1] = True
    if not out.any() or near.all():
        raise InvalidValue(
            f"{N} frames with share={share:g}, stretch={stretch} and gap={gap} cannot be split: at"
            " least one frame to learn from and one frame to hold out are needed"
        )
    return np.flatnonzero(~near), np.flatnonzero(out)


@dataclass(frozen=True, eq=False)
class RankPath:
    """Result of `rank_path`; one entry for each rank.

    Attributes
    ----------
    ranks : (R,) array
        Numbers of components.
    fit : (R,) array
        Objective of the fit, per entry: it decreases with every component.
    held_out : (R,) array
        Negative log-likelihood of held-out coefficients, per entry, as `held_out` explains it: it
        increases again when components are fitted to noise.
    """

    ranks: Indices
    fit: Array
    held_out: Array

    @property
    def best(self) -> int:
        """The rank of the best prediction."""
        return int(self.ranks[np.argmin(self.held_out)])


def rank_path(
    Y: ArrayLike,
    ranks: Sequence[int],
    *,
    share: float = 0.2,
    random_state: RandomState = None,
    **options: Any,
) -> RankPath:
    """Fit with each number of components, and predict held-out frames with it.

    Some stretches of consecutive frames are held out of the fit (`split_frames`), and each fit is
    evaluated on them (`held_out`), as in a grid search of `TLNMF`. This takes one fit for each
    rank. The number that predicts best is not that of sounds: it is lower where components are too
    similar to be separated in a frame, and higher where sounds do not fit the model.

    Parameters
    ----------
    Y : array of shape (M, N) or (C, M, N)
        Frames.
    ranks : sequence of int
        Numbers of components to try.
    share : float
        Share of the frames to hold out.
    random_state : None, int, RandomState or Generator
        Chooses the frames and the parts of the coefficients, and seeds the fits.
    **options
        Further arguments of `tl_nmf`, such as a `Divergence`.

    Returns
    -------
    RankPath
        The fit and the loss of predictions for each rank.
    """
    frames = checks.frames(Y)
    _, M, N = frames.shape
    numbers = np.array([checks.count("ranks", K, 1) for K in ranks])
    if M < 2 or len(numbers) == 0:
        raise InvalidValue(
            f"ranks {list(numbers)} on frames of {M} samples cannot be compared: at least one rank"
            " and two samples in a frame are needed"
        )
    rng = checks.generator(random_state)
    learn, out = split_frames(N, share, random_state=rng)
    parts, seed = rng.integers(2**63, size=2).tolist()
    fit, prediction = [], []
    for K in numbers:
        result = tl_nmf(frames[:, :, learn], int(K), random_state=seed, **options)
        fit.append(result.objective / (M * len(learn)))
        loss = predict(frames[:, :, out], learned_by(result), np.random.default_rng(parts)).nll
        prediction.append(loss)
    return RankPath(numbers, np.array(fit), np.array(prediction))
