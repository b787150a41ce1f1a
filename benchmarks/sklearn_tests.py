"""scikit-learn's own tests of NMF, and its common checks, on `TLNMF` with a fixed transform.

Its `NMF` and `non_negative_factorization` are replaced, in their test module alone, by `TLNMF` of
the square roots in the identity with nothing learned. A test that asks for what `TLNMF` does not
have does not apply, and says which. The tests come with a scikit-learn that pip installed.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.sparse
from _common import table, write_csv
from sklearn import decomposition
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import _nmf
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

import phinmf

MODULE = "sklearn.decomposition.tests.test_nmf"
BETA = {"frobenius": 2, "kullback-leibler": 1, "itakura-saito": 0}
#: why tests that never call what is replaced say nothing of phinmf
OWN = "tests another class or a private function of scikit-learn"
WORDS = "warns or raises, too, in other words"
#: why a test that fails does so: looked at one by one
REASONS = {
    "test_convergence_warning": WORDS,
    "test_nmf_custom_init_shape_error": WORDS,
    "test_non_negative_factorization_checking": WORDS,
    "test_nmf_true_reconstruction": "where X is exactly 0 the model is about the floor, not 0",
    "test_nmf_custom_init_dtype_error": "given factors are converted to the dtype of the frames",
    "test_nmf_minibatchnmf_equivalence": "H is updated before W, so the iterates differ",
    "test_nmf_w_h_not_used_warning": "given factors are always used",
    "test_parameter_checking": "there is no solver 'cd': every β can be fitted",
    "test_nmf_negative_beta_loss": "the floor makes zeros of X possible",
}


class NMF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The arguments of scikit-learn's NMF, the updates of phinmf."""

    instances = 0

    def __init__(
        self, n_components: Any = "auto", *, init: Any = None, solver: str = "cd",
        beta_loss: Any = "frobenius", tol: float = 1e-4, max_iter: int = 200,
        random_state: Any = None, alpha_W: Any = 0.0, alpha_H: Any = "same",
        l1_ratio: float = 0.0, verbose: int = 0, shuffle: bool = False,
    ) -> None:  # fmt: skip
        vars(self).update({k: v for k, v in locals().items() if k not in ("self", "__class__")})
        NMF.instances += 1

    def _frames(self, X: Any, reset: bool) -> np.ndarray:
        if scipy.sparse.issparse(X):
            pytest.skip("X is sparse: frames of sound are dense")
        if self.alpha_W or self.alpha_H not in (0, "same"):
            pytest.skip("alpha and l1_ratio: phinmf has another penalty, which is scale-free")
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=reset)
        return np.sqrt(_nmf.check_non_negative(X, "NMF (input X)") or X)

    def fit_transform(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> np.ndarray:
        Y = self._frames(X, reset=True)
        if self.init == "custom":
            K = H.shape[0] if self.n_components == "auto" else self.n_components
        else:
            K = Y.shape[1] if self.n_components == "auto" else self.n_components
            W, H = _nmf._initialize_nmf(Y**2, K, self.init, random_state=self.random_state)
        self._n_components = K
        self.model_ = phinmf.TLNMF(
            K, solver=None, init=np.eye(Y.shape[1]), divergence=self._divergence, sparsity=0,
            floor=1e-11, method=phinmf.Method(anneal=False, n_iter_nmf=1), tol=self.tol,
            max_iter=self.max_iter, components=H.astype(Y.dtype), random_state=0,
        ).fit(Y, activations=W.astype(Y.dtype), sample_weight=1)  # fmt: skip
        self.components_ = self.model_.components_
        self.n_iter_ = self.model_.n_iter_
        H = self.model_.transform(Y)
        self.reconstruction_err_ = _nmf._beta_divergence(
            Y**2, H, self.components_, BETA.get(self.beta_loss, self.beta_loss), square_root=True
        )
        return H

    @property
    def _divergence(self) -> phinmf.Divergence:
        return phinmf.Beta(BETA.get(self.beta_loss, self.beta_loss))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def fit(self, X: Any, y: Any = None, **start: Any) -> NMF:
        self.fit_transform(X, **start)
        return self

    def transform(self, X: Any) -> np.ndarray:
        return self.model_.transform(self._frames(X, reset=False))

    def inverse_transform(self, H: np.ndarray) -> np.ndarray:
        return H @ self.components_


def non_negative_factorization(
    X: Any, W: Any = None, H: Any = None, n_components: Any = "auto", *, update_H: bool = True,
    **how: Any,
) -> tuple[Any, Any, int]:  # fmt: skip
    model = NMF(n_components, **how)
    if update_H:
        return model.fit_transform(X, W=W, H=H), model.components_, model.n_iter_
    model = NMF(len(H), **{**how, "init": "custom", "max_iter": 1, "tol": 0})
    model.fit(X, W=np.ones((len(X), len(H))), H=H)
    model.model_.components_ = H
    return model.transform(X), H, 1


class Record:
    """Collects the outcome of each test, as a plugin of pytest."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        if call.when == "setup":
            self.before = NMF.instances
        report = yield
        if call.when == "call":
            name, reason = item.originalname, ""
            outcome = {"skipped": "does not apply"}.get(report.outcome, report.outcome)
            if report.skipped:
                reason = report.longrepr[2].removeprefix("Skipped: ")
            elif NMF.instances == self.before or "MiniBatch" in item.name:
                outcome, reason = "does not apply", OWN
            elif report.failed:
                reason = REASONS.get(name, str(call.excinfo.value).strip().split("\n")[0][:80])
            self.rows.append((name, outcome, reason))
        return report


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    record = Record()
    with (
        mock.patch.object(decomposition, "NMF", NMF),
        mock.patch.object(decomposition, "non_negative_factorization", non_negative_factorization),
        warnings.catch_warnings(),
    ):
        pytest.main(["--pyargs", MODULE, "-q", "-p", "no:cacheprovider", "--no-header", "-W",
                     "ignore", "--tb=no", "-c", "/dev/null"], plugins=[record])  # fmt: skip
        warnings.simplefilter("ignore", ConvergenceWarning)
        checks = check_estimator(phinmf.TLNMF(solver=None), on_fail=None, on_skip=None)
    rows = [{"test": name, "cases": n, "result": outcome, "why": why}
            for (name, outcome, why), n in Counter(record.rows).items()]  # fmt: skip
    status = Counter(check["status"] for check in checks)
    rows += [{"test": "common checks of estimators", "cases": n, "result": outcome, "why": ""}
             for outcome, n in status.items()]  # fmt: skip
    write_csv("sklearn_tests", rows)
    print(table(rows, {key: key for key in rows[0]}))


if __name__ == "__main__":
    main()
