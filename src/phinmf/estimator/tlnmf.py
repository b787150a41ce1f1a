"""TL-NMF as a scikit-learn transformer: rows are frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array

from phinmf import arrays, checks
from phinmf._types import Array, Components, Device, Fixed, RandomState
from phinmf.algorithm.options import Method, Options
from phinmf.arrays import lazy
from phinmf.divergences import Divergence, DivergenceName
from phinmf.engines import EngineName
from phinmf.estimator import encoding, fitting, model_file, validation
from phinmf.estimator.callbacks import CallbackSupportMixin
from phinmf.estimator.partial import FORGET_FACTOR, PartialFitMixin, check_is_fitted
from phinmf.fit import devices, weights
from phinmf.fit.advice import refuse_transposed
from phinmf.fit.checkpoint import Checkpoint, File
from phinmf.inits import Init, InitName
from phinmf.result import Callback, History
from phinmf.solvers import Solver, SolverName


class TLNMF(
    PartialFitMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
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
    solver, init, divergence, sparsity, smoothness, n_atoms, floor, method, max_iter, max_time, tol
        As in `tl_nmf`.
    components : array of shape (n_components, n_features), optional
        Start of the components: Wᵀ of `tl_nmf`, or its first rows.
    fixed : str, sequence or dict, optional
        What is not updated: "Phi" (`init`), "W" (`components`, or some of them:
        ``{"W": [0, 1]}``), "H" (the activations given to `fit`).
    warm_start : bool
        Whether `fit` starts where the last one ended; then it anneals only if `method` says so.
    forget_factor : float
        Of `partial_fit`: how much earlier frames count after each block, > 0 and ≤ 1. With 0.95 a
        frame counts half after 14 blocks; with 1 all frames count the same.
    block_size : int, optional
        Of `partial_fit`: number of frames in each step, by default 2M. Memory grows with it.
    n_init : int
        Number of restarts; the one with the lowest objective is kept.
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
        Wᵀ: the spectral pattern of each component over the atoms, of sum 1.
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

    components_: Array
    transform_matrix_: Array
    atom_energies_: Array
    reconstruction_err_: float
    objective_: float
    scale_: float
    floor_: float
    n_iter_: int
    history_: History
    stop_reason_: str
    converged_: bool
    objectives_: Array
    n_atoms_: int
    energy_: float
    n_steps_: int
    n_frames_seen_: int
    n_components_: int
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    @checks.advises_names
    def __init__(
        self,
        n_components: Components = 10,
        *,
        solver: SolverName | Solver | None = Options.solver,
        init: InitName | Init | ArrayLike = Options.init,
        divergence: DivergenceName | Divergence = Options.divergence,
        sparsity: float | None = Options.sparsity,
        smoothness: float = Options.smoothness,
        n_atoms: int | float | None = Options.n_atoms,
        floor: float = Options.floor,
        method: Method | None = Options.method,
        max_iter: int = Options.max_iter,
        max_time: float | None = Options.max_time,
        tol: float = Options.tol,
        components: ArrayLike | None = None,
        fixed: Fixed = None,
        warm_start: bool = False,
        forget_factor: float = FORGET_FACTOR,
        block_size: int | None = None,
        n_init: int = 1,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: bool = False,
        checkpoint: File | Checkpoint | None = None,
        engine: EngineName = Options.engine,
        device: Device = None,
        n_threads: int | None = Options.n_threads,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.init = init
        self.divergence = divergence
        self.sparsity = sparsity
        self.smoothness = smoothness
        self.n_atoms = n_atoms
        self.floor = floor
        self.method = method
        self.max_iter = max_iter
        self.max_time = max_time
        self.tol = tol
        self.components = components
        self.fixed = fixed
        self.warm_start = warm_start
        self.forget_factor = forget_factor
        self.block_size = block_size
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.engine = engine
        self.device = device
        self.n_threads = n_threads

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
        with validation.all_or_nothing(self):
            self._forget_learner()
            frames = validation.validated(self, X)
            others: dict[str, object] = {
                "sample_weight": sample_weight,
                "activations": activations,
                "components": self.components,
                "init": self.init,
            }
            devices.check_same_device("X", frames, others)
            refuse_transposed(frames.T[None], sample_weight)
            frame_weights = weights.weights_of(sample_weight, len(frames))
            H = fitting.fit(self, frames, frame_weights, activations).H.T
            return lazy.like(H, frames) if lazy.is_lazy(frames) else H

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
        check_is_fitted(self)
        frames = validation.validated(self, X, reset=False)
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
        check_is_fitted(self)
        if lazy.is_lazy(X):
            H = lazy.rows(X)
        elif arrays.is_tensor(X):
            H = checks.real_array("X", X)
        else:
            H = check_array(X, dtype=(np.float64, np.float32))
        if H.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {H.shape[1]} columns, but activations of {self.n_components_} components"
                " are needed"
            )
        dtype = arrays.dtype_of(H)
        return H @ arrays.like(self.components_, H, dtype) + float(dtype.type(self.floor_))

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return how well the model predicts coefficients that it has not seen: higher is better.

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
        check_is_fitted(self)
        frames = validation.validated(self, X, reset=False)
        devices.check_same_device("X", frames, {"sample_weight": sample_weight})
        frame_weights = weights.weights_of(sample_weight, len(frames))
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
        check_is_fitted(self)
        model_file.save(self, path)

    @classmethod
    def load(cls, path: File, *, divergence: DivergenceName | Divergence | None = None) -> TLNMF:
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
        return model_file.load(cls, path, fitting.check_parameters, divergence)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
