"""scikit-learn's callback framework (1.9 and later); on older versions callbacks do nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phinmf._types import AnyArray

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A base class without methods."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged."""
        return method


__all__ = ["CallbackSupportMixin", "Task", "with_callbacks"]

Attributes = Callable[[], dict[str, Any]]


class Task:
    """A task that callbacks are called for: the fit, a restart or an outer iteration."""

    def __init__(self, estimator: Any, X: AnyArray, context: Any) -> None:
        self.estimator = estimator
        self.X = X
        self.context = context
        if context is not None:
            context.call_on_fit_task_begin(estimator=estimator, X=X, y=X)

    @property
    def has_callbacks(self) -> bool:
        """Whether any callback is registered."""
        return self.context is not None and bool(getattr(self.context, "_callbacks", True))

    @classmethod
    def of_fit(cls, estimator: Any, X: AnyArray, n_subtasks: int) -> Task:
        """Begin the task of a whole fit."""
        context = None
        if hasattr(estimator, "_init_callback_context"):
            context = estimator._init_callback_context(
                max_subtasks=n_subtasks, sequential_subtasks=False
            )
        return cls(estimator, X, context)

    def subtask(self, name: str, number: int, n_subtasks: int = 0) -> Task:
        """Begin a subtask."""
        context = None
        if self.context is not None:
            context = self.context.subcontext(
                name, task_id=number, max_subtasks=n_subtasks, sequential_subtasks=False
            )
        return Task(self.estimator, self.X, context)

    def end(self, attributes: Attributes | None = None) -> bool:
        """Call the callbacks at the end of the task; return True if one asks the fit to stop."""
        if self.context is None:
            return False
        return bool(
            self.context.call_on_fit_task_end(
                estimator=self.estimator,
                X=self.X,
                y=self.X,  # without a target, callbacks compute no score
                reconstruction_attributes=attributes,
            )
        )
