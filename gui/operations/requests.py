"""Requests as one `Pending`: `InTurn` and `RequestChain` (several), `Steps`, `ReadAnswer` (converted), `BegunLater`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from broker_core.api import OrbitError, RemoteError
from broker_core.worker.questions.administration import BrokerAnswer
from broker_core.worker.questions.question import Question
from gui.operations.background import BackgroundCall
from monitoring.sources.base import ClusterSource, Pending

T = TypeVar("T")
A = TypeVar("A")
Ask = Callable[[], Pending[T]]


class InTurn(Generic[T]):
    """A `Pending` of all answers in order. The first error ends it; ``each`` gets number and value of every answer."""

    def __init__(self, asks: Sequence[Ask[T]], each: Callable[[int, T], None] | None = None) -> None:
        self._asks = asks
        self._each = each
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
        if self._each is not None:
            self._each(len(self.answers) - 1, value)
        self.then(done, failed)

    def _refused(self, error: OrbitError, failed: Callable[[OrbitError], None]) -> None:
        if not self._is_cancelled:
            self._is_cancelled = True
            failed(self.failure(error))

    def failure(self, error: OrbitError) -> OrbitError:
        """What is reported of an error that ends it."""
        return error


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


AT_ONCE_BYTES = 128 * 1024
"""Longest body that is read in the turn of its arrival: about 5 ms."""


class ReadAnswer(Generic[A, T]):
    """A `Pending` of the result of ``read`` for an answer; an `OrbitError` that ``read`` raises is the error of the request.

    A long body is read on a thread, so ``read`` touches no Qt object.
    """

    def __init__(self, pending: Pending[A], read: Callable[[A], T]) -> None:
        self._pending = pending
        self._read = read
        self._call: BackgroundCall | None = None
        self._is_cancelled = False

    def then(self, done: Callable[[T], None], failed: Callable[[OrbitError], None]) -> None:
        def answered(answer: A) -> None:
            if _body_bytes(answer) > AT_ONCE_BYTES:
                self._read_later(partial(self._read, answer), done, failed)
                return
            try:
                value = self._read(answer)
            except OrbitError as error:
                failed(error)
            else:
                done(value)

        self._pending.then(answered, failed)

    def cancel(self) -> None:
        self._is_cancelled = True
        self._pending.cancel()

    def _read_later(self, read: Callable[[], T], done: Callable[[T], None], failed: Callable[[OrbitError], None]) -> None:
        def tell(report: Callable[[Any], None], result: object) -> None:
            self._call = None
            if not self._is_cancelled:
                report(result)

        self._call = BackgroundCall()
        self._call.done.connect(partial(tell, done))
        self._call.failed.connect(partial(tell, failed))
        self._call.start(read)


def _body_bytes(answer: object) -> int:
    """Length of the bodies of an answer of brokers; 0 of another answer."""
    if not isinstance(answer, BrokerAnswer):
        return 0
    return max(len(answer.body), sum(map(len, answer.bodies.values())))


class Steps(ABC, Generic[T]):
    """A `Pending` of work in several steps; a subclass begins in `_begin`, and ends by `_done` or `_failed`."""

    def __init__(self) -> None:
        self._open: Pending[Any] | None = None
        self._callbacks: tuple[Callable[[T], None], Callable[[OrbitError], None]] | None = None

    def then(self, done: Callable[[T], None], failed: Callable[[OrbitError], None]) -> None:
        self._callbacks = (done, failed)
        self._begin()

    def cancel(self) -> None:
        """Send no more requests; those already sent are still executed."""
        self._callbacks = None
        if self._open is not None:
            self._open.cancel()

    @abstractmethod
    def _begin(self) -> None: ...

    def _ask(self, pending: Pending[A], take: Callable[[A], None], failed: Callable[[OrbitError], None] | None = None) -> None:
        """Wait for the next answer; an error ends the work where ``failed`` is None."""
        self._open = pending
        pending.then(take, failed or self._failed)

    def _done(self, value: T) -> None:
        callbacks, self._callbacks = self._callbacks, None
        if callbacks is not None:
            callbacks[0](value)

    def _failed(self, error: OrbitError) -> None:
        callbacks, self._callbacks = self._callbacks, None
        if callbacks is not None:
            callbacks[1](error)
