"""`RequestChain`: several requests to the broker one after another, as one answer; `BegunLater`: any work as a `Pending`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from broker_core.api import OrbitError, RemoteError
from broker_core.worker.questions.question import Question
from monitoring.sources.base import ClusterSource, Pending

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


class RequestChain(Generic[A]):
    """A `Pending` of the answers to all questions; it ends at the first refusal and reports how many were done before."""

    def __init__(self, source: ClusterSource, requests: Sequence[Question[A]]) -> None:
        self._source = source
        self._requests = list(requests)
        self._answers: list[A] = []
        self._open: Pending[A] | None = None
        self._callbacks: tuple[Callable[[list[A]], None], Callable[[OrbitError], None]] | None = None

    def then(self, done: Callable[[list[A]], None], failed: Callable[[OrbitError], None]) -> None:
        self._callbacks = (done, failed)
        self._next()

    def cancel(self) -> None:
        """Send no more; the broker still executes those already sent."""
        self._callbacks = None
        if self._open is not None:
            self._open.cancel()

    def _next(self) -> None:
        callbacks = self._callbacks
        if callbacks is None:
            return
        if len(self._answers) == len(self._requests):
            self._callbacks = None
            callbacks[0](self._answers)
            return
        self._open = self._source.ask(self._requests[len(self._answers)])
        self._open.then(self._answered, self._refused)

    def _answered(self, answer: A) -> None:
        self._answers.append(answer)
        self._next()

    def _refused(self, error: OrbitError) -> None:
        callbacks, self._callbacks = self._callbacks, None
        if callbacks is None:
            return
        done = len(self._answers)
        if done:
            # English as other errors: it is translated where it is shown.
            error = RemoteError(f"{done} of {len(self._requests)} were done before: {error.message}", **error.context)
        callbacks[1](error)
