"""How far half and op queue are done with, told only when all that it rests on is on disk.

Progress passes a half message because a copy of it, its real message or its op record is in the log. Were the progress file on
disk before those, a power cut would leave a half message behind that nobody looks at any more.
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
        """Note the progress of this moment, unless an earlier one is not told yet."""
        if self._staged is None:
            self._staged = (TransactionProgress(ledger.half_progress, ledger.op_progress), log_end)

    def take(self, flushed: int) -> TransactionProgress | None:
        """The noted progress, once, as soon as the log is on disk that far."""
        if self._staged is None or self._staged[1] > flushed:
            return None
        progress, self._staged = self._staged[0], None
        return progress
