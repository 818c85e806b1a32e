"""Columns of the tables on the Delay page."""

from __future__ import annotations

from collections.abc import Callable

from gui.models.delay import LevelRow, WaitingRow
from gui.models.table import CellKind, Column, WaitingLane, known_number, number_column
from gui.theme.tokens import State
from gui.words.text import (
    LATENCY_MAX_MS,
    UNKNOWN,
    QueueText,
    TimeZoneChoice,
    bytes_text,
    count_text,
    duration_text,
    rate_number,
    span_text,
    tr,
)
from monitoring.delay import LATE_MS

EMBEDDED_ONLY = frozenset({"p50", "p99"})
"""Columns that an attached cluster cannot fill."""


def countdown_text(milliseconds: float) -> str:
    """A remaining time, in ms: ``00:04.2``, ``12:30``, ``1:02:30``, ``3 d``."""
    if milliseconds < 0:
        return UNKNOWN
    tenths = int(milliseconds // 100)
    minutes, tenths = divmod(tenths, 600)
    if minutes < 10:
        return f"{minutes:02d}:{tenths // 10:02d}.{tenths % 10}"
    if minutes < 60:
        return f"{minutes:02d}:{tenths // 10:02d}"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{tenths // 10:02d}" if hours < 100 else duration_text(milliseconds)


def level_columns(lane: Callable[[LevelRow], WaitingLane | None]) -> list[Column[LevelRow]]:
    """Columns of the lanes. ``lane`` returns the picture of a level, None while unknown."""
    return [
        number_column("level", "Level", lambda row: row.level, str, dim=True, width=56),
        number_column("delay", "Delay", lambda row: row.delay_ms, span_text, kind=CellKind.STRONG, width=70),
        number_column("pending", "Pending", lambda row: row.pending, kind=CellKind.STRONG, width=72),
        Column("next", "Next due", _next_due_text, sort=lambda row: known_number(row.next_due_ms),
               state=_overdue, tip=_next_due_tip, right=True, width=84),
        Column("lane", "due … stored", lambda row: UNKNOWN if lane(row) is None else "",
               sort=lambda row: row.pending, kind=CellKind.LANE,
               value=lane, state=lambda row: State.WARNING if row.is_late else None,
               tip=lambda row: tr("{count} messages wait {delay} each", count=count_text(row.pending),
                                  delay=span_text(row.delay_ms))),
        number_column("out", "Delivered /s", lambda row: row.delivered_rate, rate_number,
                      tip=lambda row: tr("{count} delivered since the start", count=count_text(row.delivered)), width=94),
        number_column("p50", "Late p50", lambda row: row.late_p50_ms, _late_text, dim=True, width=76, gives_way=1),
        number_column("p99", "p99 ms", lambda row: row.late_p99_ms, _late_text,
                      state=lambda row: State.WARNING if row.late_p99_ms > LATE_MS else None,
                      tip=lambda _row: tr("Milliseconds after the due time, over the last minute"), width=66),
    ]  # fmt: skip


def _late_text(milliseconds: float) -> str:
    return duration_text(milliseconds) if milliseconds >= LATENCY_MAX_MS else count_text(milliseconds)


def _next_due_text(row: LevelRow) -> str:
    if row.next_due_ms < 0:
        return UNKNOWN
    if row.overdue_ms > LATE_MS:
        return tr("late {time}", time=duration_text(row.overdue_ms))
    return countdown_text(max(0, row.next_due_ms - row.now_ms))


def _next_due_tip(row: LevelRow) -> str:
    if row.overdue_ms > LATE_MS:
        return tr("The oldest message that is due waits for its delivery since {time}", time=duration_text(row.overdue_ms))
    if row.pending < 0:
        return tr("not known while a broker does not answer")
    if row.pending > 0 and row.next_due_ms < 0:
        return tr("The oldest message was not read yet")
    return tr("Nothing waits in this level") if row.next_due_ms < 0 else tr("Time until the next message is delivered")


def _overdue(row: LevelRow) -> State | None:
    return State.WARNING if row.overdue_ms > LATE_MS else None


def waiting_columns(times: TimeZoneChoice, queue_text: QueueText, now_ms: Callable[[], int]) -> list[Column[WaitingRow]]:
    """Columns of waiting messages. ``now_ms`` is the broker's clock."""
    return [
        Column("due", "Due at", lambda row: times.seconds_near(row.due_ms, now_ms()), sort=lambda row: row.due_ms,
               state=lambda row: State.IDLE if row.is_cancelled else None,
               tip=lambda row: times.full(row.due_ms), width=78, whole=True),
        Column("in", "Due in", lambda row: _in_text(row, now_ms()), sort=lambda row: row.due_ms, right=True, width=90),
        Column("topic", "Real topic", lambda row: row.topic, kind=CellKind.STRONG,
               tip=lambda row: tr("{topic}, queue {queue}, {size}", topic=row.topic, queue=queue_text(row.queue_id),
                                  size=bytes_text(row.body_bytes))),
        Column("key", "Key", lambda row: row.keys or row.unique_key or UNKNOWN, kind=CellKind.KEYS),
        Column("tag", "Tag", lambda row: row.tag or UNKNOWN, kind=CellKind.MONO, dim=True, width=72, gives_way=1),
    ]  # fmt: skip


def _in_text(row: WaitingRow, now_ms: int) -> str:
    if row.is_cancelled:
        return tr("cancelled")
    if row.due_ms < 0:
        return UNKNOWN
    return tr("due now") if row.due_ms <= now_ms else duration_text(row.due_ms - now_ms)
