"""`TopicImportRun`: creates and changes topics one after another; a failure does not stop the others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import CancelledByUserError, OrbitError
from broker_core.worker.questions.administration import AskBroker
from gui.operations.in_turn import InTurn
from gui.operations.requests import BegunLater
from monitoring.sources.base import ClusterSource, Pending


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
        """A `Pending` that never fails: of None after success, else of the error."""
        if self._is_stopped:
            return BegunLater(lambda done, _failed: done(CancelledByUserError("it was stopped before this one")))
        pending = self._source.ask(request)
        return BegunLater(lambda done, _failed: pending.then(lambda _answer: done(None), done))
