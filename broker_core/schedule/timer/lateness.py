"""How late deliveries were in the last minute."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

WINDOW_MS = 60_000
_SAMPLES_MAX = 4_096
"""Of more deliveries within a minute only the last ones count."""


class LatenessFigures(NamedTuple):
    """Milliseconds; -1 without deliveries in the last minute."""

    p50_ms: int
    p99_ms: int
    max_ms: int


class Lateness:
    """Delays between the time a message was due and its delivery."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque(maxlen=_SAMPLES_MAX)

    def add(self, late_ms: int, now_ms: int) -> None:
        """Note one delivery."""
        self._samples.append((now_ms, late_ms))

    def figures(self, now_ms: int) -> LatenessFigures:
        """Of the last minute."""
        while self._samples and now_ms - self._samples[0][0] > WINDOW_MS:
            self._samples.popleft()
        if not self._samples:
            return LatenessFigures(-1, -1, -1)
        late = sorted(ms for _at, ms in self._samples)
        return LatenessFigures(late[len(late) // 2], late[min(len(late) - 1, len(late) * 99 // 100)], late[-1])
