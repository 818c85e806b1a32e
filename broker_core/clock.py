"""The clock that is passed to what needs the time. Knows nothing else, so that nobody imports an engine for it."""

from __future__ import annotations

import time


def wall_clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
