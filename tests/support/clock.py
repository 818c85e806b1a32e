"""A clock that a test moves."""

from __future__ import annotations


class ManualClock:
    """Milliseconds since the epoch, standing still until `advance`."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, milliseconds: int) -> None:
        """Let time pass, or go back."""
        self.now_ms += milliseconds
