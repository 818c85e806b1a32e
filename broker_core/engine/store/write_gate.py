"""Whether the store accepts messages, and if not, why, in words for the user."""

from __future__ import annotations

import threading
from enum import IntEnum


class WriteRefusal(IntEnum):
    """Kinds of reasons, the most lasting first, which is the one reported."""

    READ_ONLY = 0
    SYNC_FAILED = 1
    CLOSED = 2
    DISK_USE = 3
    QUEUE_SPACE = 4
    INDEX_SPACE = 5
    LOG_SPACE = 6
    """The log could not grow for one put; the next one tries again."""


class WriteGate:
    """Reasons to refuse puts, set from any thread; each put reads ``is_shut``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reasons: dict[WriteRefusal, str] = {}
        self.is_shut = False
        """Puts are refused without a try."""
        self.has_reasons = False
        """There is a reason, which may be one that the next put can remove."""

    def refuse(self, kind: WriteRefusal, text: str) -> None:
        """Add a reason, in place of an earlier one of its kind."""
        with self._lock:
            self._reasons = {**self._reasons, kind: text}
            self._judge()

    def withdraw(self, kind: WriteRefusal) -> None:
        with self._lock:
            self._reasons = {other: text for other, text in self._reasons.items() if other is not kind}
            self._judge()

    def holds(self, kind: WriteRefusal) -> bool:
        return kind in self._reasons

    @property
    def text(self) -> str:
        """The foremost reason; empty while puts are accepted."""
        reasons = self._reasons
        return reasons[min(reasons)] if reasons else ""

    def _judge(self) -> None:
        self.has_reasons = bool(self._reasons)
        self.is_shut = any(kind is not WriteRefusal.LOG_SPACE for kind in self._reasons)
