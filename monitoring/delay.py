"""Delay levels: pending messages, lateness of deliveries, delivery rates. Pure; times are those of the snapshots.

Shapes: L delay levels, in the order of their numbers. Counts and times are int64 with -1 = unknown or none, rates and lateness
float64 with NaN = unknown. Arrays are read-only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from broker_core.api import CodecError
from broker_core.worker.questions.figures import Columns
from monitoring.series import Floats, Ints, SlidingRate

LATE_MS = 1_000
"""A level is late by more than this; the levels have steps of whole seconds."""


@dataclass(frozen=True, slots=True)
class DelayState:
    """The delay levels at one moment."""

    level: Ints
    delay_ms: Ints
    pending: Ints
    next_due_ms: Ints
    """Due time of the next message, ms since the epoch; -1 if none is pending."""
    overdue_ms: Ints
    """How late the oldest due message is; 0 if none is due, -1 if that is unknown."""
    delivered: Ints
    """Since the worker started; `skipped` too."""
    skipped: Ints
    """Messages that could not be delivered."""
    late_p50_ms: Floats
    """Of the last minute; `late_p99_ms` too."""
    late_p99_ms: Floats
    delivered_rate: Floats
    """Messages/s."""

    @property
    def late_ms(self) -> Floats:
        """How late each level is: its oldest due message, or p99 of the deliveries of the last minute if that is more."""
        return np.fmax(np.where(self.overdue_ms < 0, np.nan, self.overdue_ms), self.late_p99_ms)


@dataclass(frozen=True, slots=True)
class Lateness:
    """Histogram of the lateness of deliveries in the last hour.

    Attributes:
        from_ms: Lower bound of each bucket, rising from 0; the last bucket has no upper bound.
        levels: Deliveries of the delay levels, one count a bucket.
        timers: Of timers; zeros if the broker has none.
        counted_s: Seconds of the hour that were counted.
    """

    from_ms: tuple[int, ...]
    levels: tuple[int, ...]
    timers: tuple[int, ...]
    counted_s: int


def lateness_of(columns: Columns) -> Lateness | None:
    """Read a snapshot's columns; None if the source sends none. Raises `CodecError` if they do not fit each other."""
    if not columns:
        return None
    known = {name: columns.get(name, b"") for name in ("from_ms", "levels", "counted_s")}
    known["timers"] = columns.get("timers") or bytes(len(known["from_ms"]))
    length = len(known["from_ms"])
    lengths = {"levels": length, "timers": length, "counted_s": 8}
    wrong = next((name for name, expected in lengths.items() if len(known[name]) != expected or length % 8), None)
    if wrong is not None:
        expected = lengths[wrong]
        raise CodecError(f"the worker's column {wrong} of the lateness has {len(known[wrong])} bytes, expected {expected}")
    from_ms, levels, timers, (counted_s,) = (
        tuple(np.frombuffer(known[name], "<i8").tolist()) for name in ("from_ms", "levels", "timers", "counted_s")
    )
    return Lateness(from_ms, levels, timers, counted_s)


_INTS = ("level", "delay_ms", "pending", "next_due_ms", "overdue_ms", "delivered", "skipped")
_FLOATS = ("late_p50_ms", "late_p99_ms")


def no_delays() -> DelayState:
    """The state of a source without delay levels, or without figures of them."""
    return _state(dict.fromkeys((*_INTS, *_FLOATS), b""), np.array([], np.float64))


def _state(raw: Columns, rate: Floats) -> DelayState:
    columns: dict[str, Any] = {name: np.frombuffer(raw[name], "<i8") for name in _INTS}
    columns |= {name: np.frombuffer(raw[name], "<f8") for name in _FLOATS}
    return DelayState(**columns, delivered_rate=rate)


def delays_of(rate: SlidingRate, taken_ms: int, columns: Columns) -> DelayState:
    """Figures of a snapshot's columns; no levels for an older worker, which sends no columns.

    Raises:
        CodecError: A column is missing or its length differs from the others.
    """
    if not columns:
        return no_delays()
    length = len(columns.get("level", b""))
    raw = {name: columns.get(name, b"") for name in (*_INTS, *_FLOATS)}
    wrong = next((name for name, data in raw.items() if len(data) != length or length % 8), None)
    if wrong is not None:
        raise CodecError(f"the worker's column {wrong} of the delay levels has {len(raw[wrong])} bytes, expected {length}")
    delivered = rate.add(taken_ms, np.frombuffer(raw["delivered"], "<i8"))
    delivered.flags.writeable = False
    return _state(raw, delivered)
