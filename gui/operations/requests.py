"""`RequestChain`: several requests to the broker one after another, as one answer; `BegunLater`: any work as a `Pending`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from broker_core.api import OrbitError, RemoteError
from broker_core.worker.questions.question import Question
from gui.operations.in_turn import InTurn
from monitoring.sources.base import ClusterSource

T = TypeVar("T")
A = TypeVar("A")


class BegunLater(Generic[T]):
    """A `Pending` of work that begins at `then`: ``begin`` receives the callbacks of answer and error and calls one."""

    def __init__(self, begin: Callable[[Callable[[T], None], Callable[[OrbitError], None]], None]) -> None:
        self._begin = begin
        self._is_wanted = True

    def then(self, done: Callable[[T], None], failed: Callable[[OrbitError], None]) -> None:
        self._begin(partial(self._tell, done), partial(self._tell, failed))

    def cancel(self) -> None:
        """Call no callback; work that has begun goes on."""
        self._is_wanted = False

    def _tell(self, tell: Callable[[A], None], answer: A) -> None:
        if self._is_wanted:
            tell(answer)


class RequestChain(InTurn[A]):
    """The answers to all questions; an error says how many were done before. What is sent is executed, also when cancelled."""

    def __init__(self, source: ClusterSource, requests: Sequence[Question[A]]) -> None:
        super().__init__([partial(source.ask, request) for request in requests])

    def failure(self, error: OrbitError) -> OrbitError:
        if not self.answers:
            return error
        # English as other errors: it is translated where it is shown.
        return RemoteError(f"{len(self.answers)} of {self.count} were done before: {error.message}", **error.context)
