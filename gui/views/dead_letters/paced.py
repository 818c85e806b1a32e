"""`PacedResend`: dead letters sent again one after another, at a pace, up to so many failures in a row."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QTimer, Signal

from broker_core.api import OrbitError, RemoteError, may_be_stored
from broker_core.worker.questions.stored_messages import MessageDetail, ReadMessage, SendReceipt
from gui.event_loop.turns import next_turn
from monitoring.dead_letters import DeadLetter
from monitoring.resending import ResendOrder, ResendOutcome, resent_message
from monitoring.sources.base import ClusterSource, Pending

Sent = Callable[[DeadLetter, str, SendReceipt], None]
"""Told after each send: the dead letter, the topic it went to, the receipt."""
Done = Callable[[ResendOutcome], None]


class PacedResend(QObject):
    """A `Pending` of the outcome of all. It fails where failures ended it; what was sent before was told.

    Args:
        source: Carries it out.
        letters: At least one.
        order: What is asked for.
        sent: Told after each send, so that what was sent is noted also when a later one fails.
        ended: Told the outcome whatever it is.
        owner: Qt's owner; with it, what was not begun ends.
        clock: Seconds that only rise.

    Signals:
        progressed: Carries how many the broker stored.
    """

    progressed = Signal(int)

    def __init__(
        self,
        source: ClusterSource,
        letters: Sequence[DeadLetter],
        order: ResendOrder,
        *,
        sent: Sent,
        ended: Done,
        owner: QObject,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(owner)
        self._source = source
        self._letters = letters
        self._order = order
        self._sent = sent
        self._ended = ended
        self._clock = clock
        self._begun_s = 0.0
        self._last_reason = ""
        self._tried = self._in_a_row = 0
        self._stored: list[str] = []
        self._refused: list[tuple[str, str]] = []
        self._doubtful: list[tuple[str, str]] = []
        self._done: Done = _nobody
        self._failed: Callable[[OrbitError], None] = _nobody
        self._is_over = self._is_stopped = False

    def then(self, done: Done, failed: Callable[[OrbitError], None]) -> None:
        """Begin."""
        self._done, self._failed = done, failed
        self._begun_s = self._clock()
        self._go_on()

    def cancel(self) -> None:
        """Begin with none that is left; a send that has begun is noted whatever becomes of the dialog."""
        self._is_over = True

    def stop(self) -> None:
        """End after the one that is on its way: what is left is not tried."""
        self._is_stopped = True

    def _go_on(self) -> None:
        if self._is_over:
            return
        if self._has_ended:
            self._end()
            return
        due_s = self._begun_s + self._tried / self._order.rate
        wait_ms = round((due_s - self._clock()) * 1_000)
        if wait_ms > 0:
            QTimer.singleShot(wait_ms, self, self._go_on)
            return
        letter = self._letters[self._tried]
        self._tried += 1
        pending = self._source.ask(ReadMessage(letter.physical_offset))
        pending.then(lambda detail: self._send(letter, detail), lambda error: self._fail(self._refused, letter, error))

    def _send(self, letter: DeadLetter, detail: MessageDetail) -> None:
        message = resent_message(detail, letter, self._order)

        def stored(receipt: SendReceipt) -> None:
            self._in_a_row = 0
            self._stored.append(letter.offset_message_id)
            self._sent(letter, message.topic, receipt)
            self.progressed.emit(len(self._stored))
            self._later()

        pending: Pending[SendReceipt] = self._source.ask(message)
        pending.then(stored, lambda error: self._fail(self._doubtful if may_be_stored(error) else self._refused, letter, error))

    def _fail(self, failures: list[tuple[str, str]], letter: DeadLetter, error: OrbitError) -> None:
        self._in_a_row += 1
        self._last_reason = error.message
        failures.append((letter.offset_message_id, error.message))
        self._later()

    @property
    def _has_ended(self) -> bool:
        has_failed = self._in_a_row >= self._order.failures_max
        return has_failed or self._is_stopped or self._tried == len(self._letters)

    def _later(self) -> None:
        # By the loop, as answers that are there at once would deepen the stack; at once where nothing is left.
        if self._has_ended:
            self._go_on()
        else:
            next_turn(self, self._go_on)

    def _end(self) -> None:
        self._is_over = True
        left = tuple(letter.offset_message_id for letter in self._letters[self._tried :])
        outcome = ResendOutcome(tuple(self._stored), tuple(self._refused), tuple(self._doubtful), left)
        self._ended(outcome)
        if self._in_a_row >= self._order.failures_max:
            self._failed(RemoteError(self._failure_text(len(left) + len(self._refused))))
        else:
            self._done(outcome)

    def _failure_text(self, unsent: int) -> str:
        """What failures left of it, as other errors in English: it is told anew where it is shown."""
        doubt = f", {len(self._doubtful):,} without an answer may be there" if self._doubtful else ""
        return f"{len(self._stored):,} sent again{doubt}, {unsent:,} not: {self._last_reason}"


def _nobody(_told: object) -> None:
    """Nobody waits."""
