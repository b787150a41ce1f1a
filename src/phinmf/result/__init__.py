"""The result of a run: the factors, its history, why it stopped, and what can be done with it."""

from phinmf.result.history import Callback, History, Row, State
from phinmf.result.result import Result, Status
from phinmf.result.terms import Terms

__all__ = ["Callback", "History", "Result", "Row", "State", "Status", "Terms"]
