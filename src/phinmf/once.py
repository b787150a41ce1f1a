"""Properties that are computed once, when they are first needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class once(Generic[Value]):
    """A property that keeps its value in the instance.

    Before Python 3.12, that of functools computes the value while it holds a lock. A child that is
    forked meanwhile would wait for this lock forever.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: Any, owner: type) -> once[Value] | Value:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.compute(instance)  # found first from now on
        return value
