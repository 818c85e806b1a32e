from __future__ import annotations

import time

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 60.0


class GrowingPause:
    """Pauses between attempts: each failure doubles the pause, up to `LONGEST_SECONDS`. Not thread-safe."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._until = 0.0

    @property
    def left_seconds(self) -> float:
        return max(0.0, self._until - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether nothing has failed since the last success."""
        return not self._seconds

    def failed(self) -> None:
        self._seconds = min(LONGEST_SECONDS, max(FIRST_SECONDS, self._seconds * 2))
        self._until = time.monotonic() + self._seconds

    def worked(self) -> None:
        self._seconds = self._until = 0.0
