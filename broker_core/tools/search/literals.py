"""Literals of the filter language: times and sizes. Text in, numbers out."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

from broker_core.local_time import instant_ms

_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_UNIT_BYTES = {
    "b": 1, "kb": 1 << 10, "kib": 1 << 10, "mb": 1 << 20, "mib": 1 << 20, "gb": 1 << 30, "gib": 1 << 30, "tb": 1 << 40,
    "tib": 1 << 40,
}  # fmt: skip

# Digits are bounded, because a float of hundreds of them is infinite.
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)([a-z]+)", re.IGNORECASE)
_BEFORE_NOW = re.compile(r"-(?:\d{1,18}(?:\.\d{1,18})?(?:ms|[smhdw])){1,10}")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?", re.IGNORECASE
)
_WHOLE = re.compile(r"\d{1,18}")


def parse_size(text: str) -> int | None:
    """Bytes of ``10KB``, ``1.5MiB`` or ``200``; a KB has 1024 bytes. None when the text is no size."""
    if _WHOLE.fullmatch(text):
        return int(text)
    found = _SIZE.fullmatch(text)
    if found is None or found[2].lower() not in _UNIT_BYTES:
        return None
    return round(float(found[1]) * _UNIT_BYTES[found[2].lower()])


def parse_time(text: str, now_ms: int, zone: tzinfo | None = None) -> int | None:
    """Milliseconds since the epoch of a time, None when the text is none.

    Args:
        text: Milliseconds since the epoch; ISO 8601 with a date alone, or with minutes, seconds or fractions, with or without
            an offset from UTC; or a time ago: ``-15m``, ``-1h30m`` (ms, s, m, h, d, w).
        now_ms: Base of ``-15m``.
        zone: Of times without an offset; None is that of this machine.

    Raises:
        UnclearTimeError: The local time comes twice, or never.
    """
    if _WHOLE.fullmatch(text):
        return int(text)
    if _BEFORE_NOW.fullmatch(text):
        return now_ms - round(sum(float(number) * _UNIT_MS[unit] for number, unit in _SPAN.findall(text)))
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return None
    day, minutes, seconds, fraction, offset = found.groups()
    digits = (fraction or "").ljust(6, "0")[:6]
    try:
        local = datetime.fromisoformat(f"{day}T{minutes or '00:00'}:{seconds or '00'}.{digits}{_offset(offset)}")
        return instant_ms(local, zone)
    except (ValueError, OverflowError, OSError):
        return None


def _offset(text: str | None) -> str:
    if not text:
        return ""
    if text in "Zz":
        return "+00:00"
    return text if ":" in text else f"{text[:3]}:{text[3:] or '00'}"
