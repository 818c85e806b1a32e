"""`TopicImportRun`: topics made and changed one after another; what fails is noted, and the others go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import CancelledByUserError, OrbitError
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer
from gui.operations.in_turn import InTurn
from monitoring.sources.base import ClusterSource, Pending


class _Tried:
    """A `Pending` of None where it was done, and of the error where it was not."""

    def __init__(self, pending: Pending[BrokerAnswer]) -> None:
        self._pending = pending

    def then(self, done: Callable[[OrbitError | None], None], failed: Callable[[OrbitError], None]) -> None:  # noqa: ARG002
        """Set what is called at the end; it never fails."""
        self._pending.then(lambda _answer: done(None), done)

    def cancel(self) -> None:
        self._pending.cancel()


class _Left:
    """A `Pending` of what is not tried any more."""

    def then(self, done: Callable[[OrbitError | None], None], failed: Callable[[OrbitError], None]) -> None:  # noqa: ARG002
        """Tell it at once."""
        done(CancelledByUserError("it was stopped before this one"))

    def cancel(self) -> None:
        """There is nothing under way."""


class TopicImportRun(QObject):
    """Sends requests in their order.

    Args:
        source: Carries them out.
        requests: One for each topic.
        parent: Qt's owner.

    Signals:
        told: What became of a request; carries its number and None or the error, `CancelledByUserError` where it was not tried.
        ended: All were told.
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
        """Begin."""
        self.is_running = True
        self._turn.then(self._end, self._end)

    def stop(self) -> None:
        """Send no more after the one that is under way."""
        self._is_stopped = True

    def _end(self, _answers: object) -> None:
        self.is_running = False
        self.ended.emit()

    def _try(self, request: AskBroker) -> Pending[OrbitError | None]:
        return _Left() if self._is_stopped else _Tried(self._source.ask(request))
