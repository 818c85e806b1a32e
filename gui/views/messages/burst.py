"""`Burst`: several messages one after another, at a rate; can be stopped at any time."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from broker_core.api import OrbitError, may_be_stored
from broker_core.worker.questions.stored_messages import SendMessage, SendReceipt
from monitoring.sources.base import ClusterSource, Pending

TURN_MS = 20
UNANSWERED_MAX = 64
"""With so many unanswered it waits for answers, so that the broker sets the pace."""


class Burst(QObject):
    """Sends until all are sent, one is refused, or `stop` is called; pending answers are always awaited.

    Signals:
        progressed: Carries how many are stored.
        finished: Carries how many are stored and the refusal, or None.
    """

    progressed = Signal(int)
    finished = Signal(int, object)

    def __init__(
        self,
        source: ClusterSource,
        make: Callable[[int], SendMessage],
        *,
        count: int,
        rate: float,
        clock: Callable[[], float] = time.monotonic,
        parent: QObject | None = None,
    ) -> None:
        """Prepare it.

        Args:
            source: Receives the messages.
            make: Returns the message of a number, from 1.
            count: How many.
            rate: Messages per second at most.
            clock: Monotonic seconds.
            parent: Qt's owner.
        """
        super().__init__(parent)
        self._source = source
        self._make = make
        self._count = count
        self._rate = rate
        self._clock = clock
        self._begun_s = 0.0
        self._asked = 0
        self._stored = 0
        self._unanswered = 0
        self.doubtful = 0
        """Messages that may be stored: they were sent, and no answer says the result."""
        self._error: OrbitError | None = None
        self._pending: list[Pending[SendReceipt]] = []
        self._is_stopped = False
        self._timer = QTimer(self)
        self._timer.setInterval(TURN_MS)
        self._timer.timeout.connect(self.turn)
        pending = self._pending
        if parent is not None:
            parent.destroyed.connect(lambda: _cancel_all(pending))

    @property
    def is_running(self) -> bool:
        return self._timer.isActive() or self._unanswered > 0

    def start(self) -> None:
        """Begin."""
        self._begun_s = self._clock()
        self._timer.start()
        self.turn()

    def stop(self) -> None:
        """Send no more."""
        if not self._is_stopped:
            self._is_stopped = True
            self._timer.stop()
            if not self._unanswered:
                self.finished.emit(self._stored, self._error)

    def turn(self) -> None:
        """Send what is due."""
        due = min(self._count, 1 + int((self._clock() - self._begun_s) * self._rate))
        while not self._is_stopped and self._asked < due and self._unanswered < UNANSWERED_MAX:
            self._asked += 1
            self._unanswered += 1
            self._ask(self._source.ask(self._make(self._asked)))
        if not self._is_stopped:
            self.progressed.emit(self._stored)

    def _ask(self, pending: Pending[SendReceipt]) -> None:
        def over(then: Callable[[], None]) -> None:
            self._pending.remove(pending)
            then()

        self._pending.append(pending)
        pending.then(lambda _receipt: over(self._answered), lambda error: over(lambda: self._refused(error)))

    def _answered(self) -> None:
        self._unanswered -= 1
        self._stored += 1
        if self._stored == self._count:
            self.stop()
        else:
            self._end_if_over()

    def _refused(self, error: OrbitError) -> None:
        self._unanswered -= 1
        self.doubtful += may_be_stored(error)
        first = self._error is None
        self._error = self._error or error
        if first and not self._is_stopped:
            self.stop()
        else:
            self._end_if_over()

    def _end_if_over(self) -> None:
        if self._is_stopped and not self._unanswered:
            self.finished.emit(self._stored, self._error)


def _cancel_all(pending: list[Pending[SendReceipt]]) -> None:
    for one in pending:
        one.cancel()
