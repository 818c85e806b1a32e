"""`GrowingPause`: when to try again what did not work."""

from __future__ import annotations

import time

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 60.0


class GrowingPause:
    """Twice as long after each failure, up to `LONGEST_SECONDS`. Not thread-safe."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._until = 0.0

    @property
    def left_seconds(self) -> float:
        """How long it still lasts; 0 when it is time to try."""
        return max(0.0, self._until - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether nothing failed since it last worked."""
        return not self._seconds

    def failed(self) -> None:
        """Begin the next one."""
        self._seconds = min(LONGEST_SECONDS, max(FIRST_SECONDS, self._seconds * 2))
        self._until = time.monotonic() + self._seconds

    def worked(self) -> None:
        """Begin with a short one the next time."""
        self._seconds = self._until = 0.0
