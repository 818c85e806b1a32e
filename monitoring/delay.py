"""Delay levels: what waits, how late deliveries are, how many a second. Pure; times are those of the snapshots.

Shapes: L delay levels, in the order of their numbers. Counts and times are int64 with -1 = unknown or none, rates and lateness
float64 with NaN = unknown. Arrays are read-only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from broker_core.api import CodecError
from broker_core.worker.questions.figures import Columns
from monitoring.series import Floats, Ints, SlidingRate


@dataclass(frozen=True, slots=True)
class DelayState:
    """The delay levels at one moment."""

    level: Ints
    delay_ms: Ints
    pending: Ints
    """Messages that wait."""
    next_due_ms: Ints
    """When the next one is due, ms since the epoch; -1 when none waits."""
    overdue_ms: Ints
    """How long the oldest one that is due has waited for its delivery; 0 when none has."""
    delivered: Ints
    """Since the worker started, as the next."""
    skipped: Ints
    """Messages that could not be delivered."""
    late_p50_ms: Floats
    """Of the last minute, as the next."""
    late_p99_ms: Floats
    delivered_rate: Floats
    """Messages/s."""


@dataclass(frozen=True, slots=True)
class Lateness:
    """How often deliveries of the last hour were how late.

    Attributes:
        from_ms: Where each bucket begins, rising from 0; it ends where the next begins, the last has no end.
        levels: Deliveries of the delay levels, one count a bucket.
        timers: Of timers; zeros where none are served.
        counted_s: How long of the hour was counted, in seconds.
    """

    from_ms: tuple[int, ...]
    levels: tuple[int, ...]
    timers: tuple[int, ...]
    counted_s: int


def lateness_of(columns: Columns) -> Lateness | None:
    """From a snapshot's columns; None where the source does not tell.

    Raises:
        CodecError: The columns do not fit each other.
    """
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
    """The state of a source without delay levels, or one that does not tell."""
    return _state(dict.fromkeys((*_INTS, *_FLOATS), b""), np.array([], np.float64))


def _state(raw: Columns, rate: Floats) -> DelayState:
    return DelayState(
        level=np.frombuffer(raw["level"], "<i8"),
        delay_ms=np.frombuffer(raw["delay_ms"], "<i8"),
        pending=np.frombuffer(raw["pending"], "<i8"),
        next_due_ms=np.frombuffer(raw["next_due_ms"], "<i8"),
        overdue_ms=np.frombuffer(raw["overdue_ms"], "<i8"),
        delivered=np.frombuffer(raw["delivered"], "<i8"),
        skipped=np.frombuffer(raw["skipped"], "<i8"),
        late_p50_ms=np.frombuffer(raw["late_p50_ms"], "<f8"),
        late_p99_ms=np.frombuffer(raw["late_p99_ms"], "<f8"),
        delivered_rate=rate,
    )


class DelayFigures:
    """Follows the delay levels of one source."""

    def __init__(self) -> None:
        self._rate = SlidingRate()

    def reset(self) -> None:
        """A new worker begins to count at 0."""
        self._rate.reset()

    def derive(self, taken_ms: int, columns: Columns) -> DelayState:
        """Figures of a snapshot's columns; none for an older worker, which sends no columns.

        Raises:
            CodecError: A column is missing or has another length than the others.
        """
        if not columns:
            return no_delays()
        length = len(columns.get("level", b""))
        raw = {name: columns.get(name, b"") for name in (*_INTS, *_FLOATS)}
        wrong = next((name for name, data in raw.items() if len(data) != length or length % 8), None)
        if wrong is not None:
            raise CodecError(f"the worker's column {wrong} of the delay levels has {len(raw[wrong])} bytes, expected {length}")
        rate = self._rate.add(taken_ms, np.frombuffer(raw["delivered"], "<i8"))
        rate.flags.writeable = False
        return _state(raw, rate)
