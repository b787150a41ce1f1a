"""TL-NMF as a scikit-learn transformer: rows are frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array

from phinmf import arrays, checks
from phinmf._types import Array
from phinmf.arrays import lazy
from phinmf.divergences import Divergence
from phinmf.errors import InvalidValue
from phinmf.estimator import encoding, fitting, model_file, partial
from phinmf.estimator.fitting import CallbackSupportMixin
from phinmf.estimator.parameters import Parameters
from phinmf.fit import devices
from phinmf.fit.advice import refuse_transposed
from phinmf.fit.checkpoint import File
from phinmf.fit.data import weights_of


class TLNMF(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    Parameters,
):
    """Nonnegative factorisation of the power of frames in a transform that is learned too.

    Each row of X is a frame y of M samples of any sign. The orthogonal transform Φ and the
    nonnegative components W are learned so that the power |Φy|² of every frame is close to Wh + ε,
    where h are the activations of the frame (`tl_nmf` explains the mathematics). ``transform``
    returns the activations.

    Parameters
    ----------
    n_components : int or "auto"
        Number of components; "auto" counts them first, as in `tl_nmf`, once for all restarts. It
        may exceed the number of frames or of features, as scikit-learn expects.
    solver, init, divergence, sparsity, smoothness, n_atoms, pairs, floor, method, max_iter
        As in `tl_nmf`.
    max_time, tol
        As in `tl_nmf`.
    components : array of shape (n_components, n_features), optional
        Start of the components: Wᵀ of `tl_nmf`, or its first rows.
    fixed : str, sequence or dict, optional
        What is not updated: "Phi" (`init`), "W" (`components`, or columns:
        ``{"W": [0, 1]}``), "H" (the activations given to `fit`).
    warm_start : bool
        Whether `fit` starts where the last one ended; then it anneals only if `method` says so.
    forget_factor : float
        Of `partial_fit`: how much earlier frames count after each block, > 0 and ≤ 1. With 0.95 a
        frame counts half after 14 blocks; with 1 all frames count the same.
    block_size : int, optional
        Of `partial_fit`: number of frames in each step, by default 2M. Memory grows with it.
    n_init : int
        Number of restarts; the result is that with the lowest objective.
    n_jobs : int, optional
        Number of restarts that run at the same time, in threads that share the processors.
    random_state, callback, verbose, checkpoint, engine
        As in `tl_nmf`.
    device : str, optional
        Where to compute, as in `tl_nmf`. Frames may be a tensor of PyTorch: what is learned and
        what is returned are then tensors on its device.
    n_threads : int, optional
        As in `tl_nmf`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Wᵀ: the spectral pattern of each component over the atoms, of sum 1; over the n_features / 2
        pairs of atoms if `pairs` is True.
    transform_matrix_ : array of shape (n_features, n_features)
        Φ; its rows are the atoms.
    atom_energies_ : array of shape (n_features,)
        Energy of the training frames in each atom.
    reconstruction_err_ : float
        Divergence of the training frames from the model.
    objective_ : float
        The divergence and the penalty, with the activations that `transform` finds.
    scale_, floor_ : float
        Root mean square of the training frames, and ε in the units of their power.
    n_iter_, history_, stop_reason_, converged_
        Number of outer iterations, their history, why they ended, and whether the fit converged.
    objectives_ : array of shape (n_init,)
        Final objective of each restart.
    n_atoms_, energy_ : int, float
        Number of atoms that were learned, and the share of the energy that they hold.
    n_steps_, n_frames_seen_ : int
        After `partial_fit`: number of blocks that were learned from, and of frames that were given.
    n_components_, n_features_in_, feature_names_in_
        As in other estimators of scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from phinmf import TLNMF, to_frames
    >>> y = np.sin(0.1 * np.arange(4000)) * np.exp(-0.001 * np.arange(4000))
    >>> model = TLNMF(n_components=2, max_iter=5, tol=0).fit(to_frames(y, 64).T)
    >>> model.transform(to_frames(y, 64).T).shape
    (126, 2)
    """

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        activations: ArrayLike | None = None,
    ) -> TLNMF:
        """Learn the transform and the components.

        Parameters
        ----------
        X : array of shape (n_frames, n_features)
            Frames, as ``to_frames(...).T``; a dask array, chunked along frames, is not loaded as a
            whole: it is fitted on the workers of the current ``distributed.Client``, or from disk.
        y : None
            Ignored.
        sample_weight : array of shape (n_frames,), optional
            How often each frame counts; 0 leaves it out. X that looks transposed is refused unless
            weights, or 1 for all frames, say which axis these have.
        activations : array of shape (n_frames, n_components), optional
            Start of the activations, in the units of X².

        Returns
        -------
        TLNMF
            The estimator itself.
        """
        self.fit_transform(X, sample_weight=sample_weight, activations=activations)
        return self

    def fit_transform(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        activations: ArrayLike | None = None,
    ) -> Array:
        """Learn and return the activations of the frames; the same as `fit`, then `transform`.

        Parameters
        ----------
        X, y, sample_weight, activations
            As in `fit`.

        Returns
        -------
        array of shape (n_frames, n_components)
            Activations, as `transform` returns them.
        """
        with encoding.all_or_nothing(self):
            partial.forget(self)
            frames = encoding.validated(self, X)
            others: dict[str, object] = {
                "sample_weight": sample_weight,
                "activations": activations,
                "components": self.components,
                "init": self.init,
            }
            devices.check_same_device("X", frames, others)
            refuse_transposed(frames.T[None], sample_weight)
            frame_weights = weights_of(sample_weight, len(frames))
            H = fitting.fit(self, frames, frame_weights, activations).H.T
            return lazy.like(H, frames) if lazy.is_lazy(frames) else H

    def partial_fit(
        self, X: ArrayLike, y: Any = None, *, sample_weight: ArrayLike | None = None
    ) -> TLNMF:
        """Learn from some more frames, in constant memory.

        A step is made when `block_size` frames have arrived; frames that do not fill a block wait
        for the next call, so that the result does not depend on how frames are divided among calls.
        A sample of the frames so far is kept, in which recent ones prevail. The transform and the
        components are fitted to it when it has its first blocks, and again whenever enough of it is
        new; in between, blocks are only measured.

        If `fit` was called before, its transform and components are the start, and are kept until
        the first step. The history has a row for each step, the last 10,000 at most: what a block
        costs before anything is learned from it. The objective and `reconstruction_err_` are sums
        over steps. `verbose` prints a line after each step. `n_init`, `warm_start`, `max_time`
        and `checkpoint` have no effect here, nor has what a callback returns: to stop and continue
        later, `save` and `load` the model.

        Parameters
        ----------
        X : array of shape (n_frames, n_features)
            Frames, any number of them; silent ones are left out.
        y : ignored
            Not used; it is there for pipelines.
        sample_weight : array of shape (n_frames,), optional
            How often each frame counts; 0 leaves it out. What was learned before fades by
            `forget_factor` whenever the weights of new frames add up to `block_size`.

        Returns
        -------
        TLNMF
            The estimator itself.
        """
        with encoding.all_or_nothing(self):
            partial.learn_more(self, X, sample_weight)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the activations of frames; the transform and the components are fixed.

        If `smoothness` is not 0, the activations of a frame depend on its neighbours: then pass the
        frames of each recording on their own.

        Parameters
        ----------
        X : array of shape (n_frames, n_features)
            Frames, on the same scale as those of the fit.

        Returns
        -------
        array of shape (n_frames, n_components)
            Activations, in the units of X²; a dask array if X is one, computed on demand (at once
            if they are smooth).
        """
        encoding.check_is_fitted(self)
        frames = encoding.validated(self, X, reset=False)
        if lazy.is_lazy(frames) and not self.smoothness:
            return encoding.encoded_lazily(self, frames)
        H = encoding.encoded(self, frames).H.T
        return lazy.like(H, frames) if lazy.is_lazy(frames) else H

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the power that activations model: the expected |Φy|² of each atom.

        The model does not include the signs of coefficients, so this is not a frame. To take a
        recording apart, multiply its coefficients by the share of each component in this power.

        Parameters
        ----------
        X : array of shape (n_frames, n_components)
            Activations.

        Returns
        -------
        array of shape (n_frames, n_features)
            Wh + ε for each frame.
        """
        encoding.check_is_fitted(self)
        if lazy.is_lazy(X):
            H = lazy.rows(X)
        elif arrays.is_tensor(X):
            H = checks.real_array("X", X)
        else:
            H = check_array(X, dtype=(np.float64, np.float32))
        if H.shape[1] != self.n_components_:
            raise InvalidValue(
                f"X has {H.shape[1]} columns, but activations of {self.n_components_} components"
                " are needed"
            )
        dtype = arrays.dtype_of(H)
        W = arrays.for_each_atom(arrays.like(self.components_.T, H, dtype), self.n_features_in_)
        return H @ W.mT + float(dtype.type(self.floor_))

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return how well the model predicts held-out coefficients: higher is better.

        A quarter of the coefficients of each frame is predicted from the others, for each quarter
        in turn. So neither more components nor less sparsity is better by construction, and a
        search such as ``GridSearchCV`` can choose both, and the transform, too.

        Parameters
        ----------
        X : array of shape (n_frames, n_features)
            Frames that were not in the fit; for the frames of the fit the score is too high.
        y : None
            Ignored.
        sample_weight : array of shape (n_frames,), optional
            How often each frame counts.

        Returns
        -------
        float
            Mean log-likelihood of a coefficient, in nats, where the frames X have unit power:
            minus the `nll` of `phinmf.analysis.held_out`, which explains it. 0 if all are silent.
        """
        encoding.check_is_fitted(self)
        frames = encoding.validated(self, X, reset=False)
        devices.check_same_device("X", frames, {"sample_weight": sample_weight})
        frame_weights = weights_of(sample_weight, len(frames))
        return -encoding.predicted(self, frames, frame_weights).nll

    def save(self, path: File) -> None:
        """Write the fitted model to one .npz file, without pickle; `load` reads it.

        A model that was saved there before is replaced; any other file is not, nor is a model of
        `unmix`.

        Parameters
        ----------
        path : path
            The file, usually with the ending .npz.
        """
        encoding.check_is_fitted(self)
        model_file.save(self, path)

    @classmethod
    def load(cls, path: File, *, divergence: Divergence | None = None) -> TLNMF:
        """Read a model that `save` wrote; any other file raises a ValueError.

        Parameters
        ----------
        path : path
            The file.
        divergence : Divergence, optional
            A divergence of your own is not in the file: pass it again. Its name and its values at a
            few entries are compared with those of the fit.

        Returns
        -------
        TLNMF
            The fitted model.
        """
        model: TLNMF = model_file.load(cls, path, divergence)
        return model

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
