"""Reading what a report was told: times and topics.

Times: ISO 8601 (local time where it names no zone), epoch milliseconds, ``now``, or relative to now: ``-90s``, ``-30m``,
``-2h``, ``-7d``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from broker_core.errors import UsageError

_RELATIVE = re.compile(r"-(\d+)([smhd])")
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_EPOCH_MS_MAX = 253_402_300_799_999  # the end of year 9999, the last that dates can show


@dataclass(frozen=True, slots=True)
class ReportParameters:
    """What a report covers. Store times in epoch milliseconds, from ≤ time < to; no topics means all."""

    from_ms: int | None = None
    to_ms: int | None = None
    topics: tuple[str, ...] = ()


def read_parameters(from_text: str | None, to_text: str | None, topics: list[str], *, now_ms: int) -> ReportParameters:
    """Parameters from their text forms.

    Raises:
        UsageError: A time cannot be read, or the range is empty.
    """
    from_ms = parse_time(from_text, now_ms=now_ms) if from_text else None
    to_ms = parse_time(to_text, now_ms=now_ms) if to_text else None
    if from_ms is not None and to_ms is not None and from_ms >= to_ms:
        raise UsageError(
            f"the range is empty: --from {time_text(from_ms)} is not before --to {time_text(to_ms)}. Exchange the two, "
            "or leave one away.",
            from_ms=from_ms,
            to_ms=to_ms,
        )
    return ReportParameters(from_ms, to_ms, tuple(dict.fromkeys(topics)))


def parse_time(text: str, *, now_ms: int) -> int:
    """Epoch milliseconds of a time in text.

    Args:
        text: See the module.
        now_ms: What relative times refer to.

    Raises:
        UsageError: It is none of the forms.
    """
    text = text.strip()
    if text == "now":
        return now_ms
    relative = _RELATIVE.fullmatch(text)
    if relative:
        return max(0, now_ms - int(relative[1]) * _UNIT_MS[relative[2]])
    if re.fullmatch(r"\d{5,}", text) and int(text) <= _EPOCH_MS_MAX:
        return int(text)
    try:
        return round(datetime.fromisoformat(text).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"“{text}” is not a time. Use ISO 8601 (2026-03-01T08:00 or 2026-03-01T08:00:00Z), epoch milliseconds, now, "
            "or a time before now such as -30m, -2h, -7d.",
            text=text,
        ) from error


def time_text(epoch_ms: int) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
