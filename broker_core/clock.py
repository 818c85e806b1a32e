"""The clock that is passed to code that needs the time, in a module that imports no engine."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def wall_clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def utc_text(at_ms: int) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
