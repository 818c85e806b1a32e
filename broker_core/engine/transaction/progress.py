"""The progress of half and op queue, reported only when the log is on disk that far.

Progress passes a half message because a copy of it, its real message or its op record is in the log. If the progress file
reached the disk before those, a power cut would leave a half message that nobody reads again.
"""

from __future__ import annotations

from typing import NamedTuple

from broker_core.engine.transaction.ledger import TransactionLedger


class TransactionProgress(NamedTuple):
    """First offsets that are still needed."""

    half: int
    op: int


class DurableProgress:
    """Holds progress back until the log is on disk as far as it was when the progress was made."""

    def __init__(self) -> None:
        self._staged: tuple[TransactionProgress, int] | None = None

    def stage(self, ledger: TransactionLedger, log_end: int) -> None:
        """Record the current progress, unless an earlier one is still held back."""
        if self._staged is None:
            self._staged = (TransactionProgress(ledger.half_progress, ledger.op_progress), log_end)

    def take(self, flushed: int) -> TransactionProgress | None:
        """The recorded progress, once, as soon as the log is on disk that far."""
        if self._staged is None or self._staged[1] > flushed:
            return None
        progress, self._staged = self._staged[0], None
        return progress
