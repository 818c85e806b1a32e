"""`TopicImportRun`: creates and changes topics one after another; a failure does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import CancelledByUserError, OrbitError
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer
from gui.operations.in_turn import InTurn
from monitoring.sources.base import ClusterSource, Pending


class _Tried:
    """A `Pending` of None after success, else of the error."""

    def __init__(self, pending: Pending[BrokerAnswer]) -> None:
        self._pending = pending

    def then(self, done: Callable[[OrbitError | None], None], failed: Callable[[OrbitError], None]) -> None:  # noqa: ARG002
        self._pending.then(lambda _answer: done(None), done)

    def cancel(self) -> None:
        self._pending.cancel()


class _Left:
    """A `Pending` of a request that is not tried any more."""

    def then(self, done: Callable[[OrbitError | None], None], failed: Callable[[OrbitError], None]) -> None:  # noqa: ARG002
        done(CancelledByUserError("it was stopped before this one"))

    def cancel(self) -> None:
        """Does nothing: no request is open."""


class TopicImportRun(QObject):
    """Sends requests in their order, one for each topic.

    Signals:
        told: A request ended; carries its number and None or the error, `CancelledByUserError` where it was not tried.
        ended: All requests ended.
    """

    told = Signal(int, object)
    ended = Signal()

    def __init__(self, source: ClusterSource, requests: Sequence[AskBroker], parent: QObject) -> None:
        super().__init__(parent)
        asks = [partial(self._try, request) for request in requests]
        self._source = source
        self._is_stopped = False
        self._turn: InTurn[OrbitError | None] = InTurn(asks, self.told.emit)
        self.is_running = False

    def start(self) -> None:
        self.is_running = True
        self._turn.then(self._end, self._end)

    def stop(self) -> None:
        """Send no more requests after the current one."""
        self._is_stopped = True

    def _end(self, _answers: object) -> None:
        self.is_running = False
        self.ended.emit()

    def _try(self, request: AskBroker) -> Pending[OrbitError | None]:
        return _Left() if self._is_stopped else _Tried(self._source.ask(request))
