"""`InTurn`: several requests one after another, as one answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from broker_core.api import OrbitError
from monitoring.sources.base import Pending

T = TypeVar("T")
Ask = Callable[[], Pending[T]]


class InTurn(Generic[T]):
    """A `Pending` of all answers in order. The first error ends it; ``told`` receives number and value of each answer."""

    def __init__(self, asks: Sequence[Ask[T]], told: Callable[[int, T], None] | None = None) -> None:
        self._asks = asks
        self._told = told
        self.count = len(asks)
        self.answers: list[T] = []
        self._open: Pending[Any] | None = None
        self._is_cancelled = False
        self._is_asking = False

    def then(self, done: Callable[[list[T]], None], failed: Callable[[OrbitError], None]) -> None:
        """Begin; immediate answers do not deepen the stack."""
        if self._is_asking:
            return
        self._is_asking = True
        while len(self.answers) < self.count and not self._is_cancelled:
            before = len(self.answers)
            self._open = self._asks[before]()
            self._open.then(lambda value: self._answered(value, done, failed), lambda error: self._refused(error, failed))
            if len(self.answers) == before:
                break
        self._is_asking = False
        if len(self.answers) == self.count and not self._is_cancelled:
            self._is_cancelled = True
            done(self.answers)

    def cancel(self) -> None:
        """Cancel the open request and send no more."""
        self._is_cancelled = True
        if self._open is not None:
            self._open.cancel()

    def _answered(self, value: T, done: Callable[[list[T]], None], failed: Callable[[OrbitError], None]) -> None:
        self.answers.append(value)
        if self._told is not None:
            self._told(len(self.answers) - 1, value)
        self.then(done, failed)

    def _refused(self, error: OrbitError, failed: Callable[[OrbitError], None]) -> None:
        if not self._is_cancelled:
            self._is_cancelled = True
            failed(self.failure(error))

    def failure(self, error: OrbitError) -> OrbitError:
        """What is reported of an error that ends it."""
        return error
