"""Rows and pictures of the Delay page. Pure: no widget, no text, no I/O. Times in ms since the epoch of the broker's clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from broker_core.worker.questions.delays import DelayedMessages, PendingTimers
from gui.models.table import WaitingLane
from monitoring.delay import LATE_MS, Lateness
from monitoring.payload.listed import MaskOf
from monitoring.state import ClusterState, Floats, Ints

PAGE_MESSAGES = 200
TIMER = 0
"""Level of a message with a time of its own."""
DOTS_MAX = 130
"""A lane with more messages shows their density instead of single dots."""
DENSITY_PARTS = 64


@dataclass(frozen=True, slots=True)
class LevelRow:
    """One delay level. -1 and NaN are unknown or none."""

    level: int
    delay_ms: int
    pending: int
    next_due_ms: int
    overdue_ms: int
    delivered: int
    skipped: int
    late_p50_ms: float
    late_p99_ms: float
    late_ms: float
    delivered_rate: float
    now_ms: int

    @property
    def is_late(self) -> bool:
        return self.late_ms > LATE_MS


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A pending message of a delay level or timer; ``topic`` and ``queue_id`` are its destination."""

    level: int
    """`TIMER` for a timer."""
    position: tuple[int, int]
    """Its name in commands: queue and physical offset, of a timer second and place in it."""
    physical_offset: int
    due_ms: int
    store_ms: int
    topic: str
    queue_id: int
    tag: str
    keys: str
    unique_key: str
    body_bytes: int
    is_cancelled: bool = False


def level_rows(state: ClusterState) -> list[LevelRow]:
    known = state.delays
    columns = (
        known.level, known.delay_ms, known.pending, known.next_due_ms, known.overdue_ms, known.delivered, known.skipped,
        known.late_p50_ms, known.late_p99_ms, known.late_ms, known.delivered_rate,
    )  # fmt: skip
    taken_ms = [state.taken_ms] * len(known.level)
    return [LevelRow(*row) for row in zip(*(column.tolist() for column in columns), taken_ms, strict=True)]


def waiting_rows(page: DelayedMessages, mask_of: MaskOf) -> list[WaitingRow]:
    tags, keys = _masked(page, mask_of)
    columns = zip(
        page.queue_offset, page.physical_offset, page.due_ms, page.store_ms, page.topic, page.queue_id, tags, keys,
        page.unique_key, page.body_bytes, strict=True,
    )  # fmt: skip
    return [WaitingRow(page.level, (offset, physical), physical, *rest) for offset, physical, *rest in columns]


def timer_rows(page: PendingTimers, mask_of: MaskOf) -> list[WaitingRow]:
    tags, keys = _masked(page, mask_of)
    columns = zip(
        page.slot_ms, page.position, page.physical_offset, page.due_ms, page.store_ms, page.topic, page.queue_id, tags,
        keys, page.unique_key, page.body_bytes, page.is_cancelled, strict=True,
    )  # fmt: skip
    return [WaitingRow(TIMER, (slot_ms, position), *rest) for slot_ms, position, *rest in columns]


def _masked(page: DelayedMessages | PendingTimers, mask_of: MaskOf) -> Iterator[list[str]]:
    """Tags and keys of the messages of a page, masked."""
    for texts in (page.tag, page.keys):
        yield [mask_of(topic).text(text) for topic, text in zip(page.topic, texts, strict=True)]


@dataclass(frozen=True, slots=True)
class WaitingPage:
    """A page of pending messages; ``next_start`` is the start of the next page, None at the end."""

    rows: list[WaitingRow]
    next_start: tuple[int, int] | None
    notice: str = ""


def level_page(page: DelayedMessages, mask_of: MaskOf) -> WaitingPage:
    is_end = page.next_offset >= page.max_offset
    return WaitingPage(waiting_rows(page, mask_of), None if is_end else (page.next_offset, -1), page.notice)


def timer_page(page: PendingTimers, mask_of: MaskOf) -> WaitingPage:
    is_end = page.next_slot_ms < 0
    return WaitingPage(timer_rows(page, mask_of), None if is_end else (page.next_slot_ms, page.next_position))


@dataclass(frozen=True, slots=True)
class TimerTotals:
    """Messages with a time of their own. Not served or not known: negative and NaN."""

    is_served: bool
    pending: int
    next_due_ms: int
    overdue_ms: int
    late_p99_ms: float
    delivered_rate: float
    now_ms: int
    is_from_outside: bool = False
    """Whether an attached cluster reports them; some figures are then missing."""

    @property
    def has_none(self) -> bool:
        """Whether the broker is known to serve no timers; an attached cluster may just not report them."""
        return not self.is_served and not self.is_from_outside


def timer_figures(state: ClusterState) -> TimerTotals:
    known, nan = state.timers, float("nan")
    return TimerTotals(
        is_served=bool(known),
        pending=int(known.get("pending", -1)),
        next_due_ms=int(known.get("next_due_ms", -1)),
        overdue_ms=int(known.get("overdue_ms", -1)),
        late_p99_ms=known.get("late_p99_ms", nan),
        delivered_rate=known.get("delivered_rate", nan),
        now_ms=state.taken_ms,
        is_from_outside=state.is_from_outside,
    )


def next_due(rows: Sequence[LevelRow]) -> LevelRow | None:
    return min((row for row in rows if row.next_due_ms >= 0), key=lambda row: row.next_due_ms, default=None)


def busiest(rows: Sequence[LevelRow]) -> LevelRow | None:
    """The level with most pending messages, of those that are late if some are; None when nothing is pending."""
    return max((row for row in rows if row.pending > 0), key=lambda row: (row.is_late, row.pending), default=None)


def latest(rows: Sequence[LevelRow]) -> LevelRow | None:
    """The level with the latest deliveries; None when there was none in the last minute."""
    return max((row for row in rows if row.late_p99_ms == row.late_p99_ms), key=lambda row: row.late_p99_ms, default=None)


@dataclass(frozen=True, slots=True)
class LateBucket:
    """Deliveries between two delays after their time; ``to_ms`` -1: no upper bound."""

    from_ms: int
    to_ms: int
    levels: int
    timers: int

    @property
    def count(self) -> int:
        return self.levels + self.timers

    @property
    def is_late(self) -> bool:
        return self.from_ms >= LATE_MS


def late_buckets(lateness: Lateness) -> list[LateBucket]:
    """The histogram of the last hour, from the earliest delay on."""
    ends = [*lateness.from_ms[1:], -1]
    return [LateBucket(*row) for row in zip(lateness.from_ms, ends, lateness.levels, lateness.timers, strict=True)]


# ---- what is ahead -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DueSample:
    """Due times of some messages of a level.

    Attributes:
        due_ms: int64[N], rising.
        number: int64[N], how many messages of the level are due before each.
        is_whole: Whether every message is in it.
    """

    due_ms: Ints
    number: Ints
    is_whole: bool


def sample_of(points: Iterable[tuple[int, int]], *, is_whole: bool) -> DueSample:
    """A sample from (due time, number) pairs; due times are sorted, because those of moved messages are out of order."""
    pairs = list(points)
    return DueSample(
        np.sort(np.array([due for due, _ in pairs], np.int64)), np.array([number for _, number in pairs], np.int64), is_whole
    )


def sample_of_parts(parts: Iterable[Sequence[tuple[int, int]]]) -> DueSample:
    """One sample of several queues: of each (due time, number) pairs as for `sample_of`, with the numbers of that queue."""
    samples = [sample_of(points, is_whole=False) for points in parts if points]
    due = np.unique(np.concatenate([one.due_ms for one in samples])) if samples else np.empty(0, np.int64)
    numbers = [np.interp(due, one.due_ms, one.number, left=0.0) for one in samples]
    return DueSample(due, np.rint(sum(numbers, start=np.zeros(len(due)))).astype(np.int64), is_whole=False)


def due_between(sample: DueSample, edges_ms: Floats) -> Floats:
    """Messages due between neighbouring times; they lie evenly between two points of a sample.

    Args:
        sample: Their due times.
        edges_ms: float64[N], rising.

    Returns:
        float64[N - 1]. Overdue messages count in the first part.
    """
    if not len(sample.due_ms):
        return np.zeros(len(edges_ms) - 1)
    if sample.is_whole:
        before = np.searchsorted(sample.due_ms, edges_ms, side="left").astype(np.float64)
    else:
        before = np.interp(edges_ms, sample.due_ms, sample.number, left=0.0)
    before[0] = 0.0
    counts: Floats = np.diff(before)
    return counts


def lane_of(sample: DueSample | None, delay_ms: int, now_ms: int) -> WaitingLane:
    if sample is None or not len(sample.due_ms) or delay_ms <= 0:
        return WaitingLane()
    if sample.is_whole:
        shares = np.clip((sample.due_ms - now_ms) / delay_ms, 0.0, 1.0)
        return WaitingLane(dots=tuple(shares.tolist()))
    edges: NDArray[np.float64] = np.linspace(now_ms, now_ms + delay_ms, DENSITY_PARTS + 1)
    return WaitingLane(density=tuple(due_between(sample, edges).tolist()))


@dataclass(frozen=True, slots=True)
class Ahead:
    """Messages due in each part of the time ahead."""

    start_ms: int
    part_ms: int
    levels: tuple[float, ...]
    timers: tuple[float, ...]


def ahead_of(samples: Iterable[DueSample], timers: Sequence[int], start_ms: int, part_ms: int, parts: int) -> Ahead:
    """Messages of delay levels and timers due in ``parts`` parts of ``part_ms`` from ``start_ms`` on."""
    edges = start_ms + part_ms * np.arange(parts + 1, dtype=np.float64)
    levels = sum((due_between(sample, edges) for sample in samples), start=np.zeros(parts))
    padded = [*timers[:parts], *[0] * (parts - len(timers))]
    return Ahead(start_ms, part_ms, tuple(levels.tolist()), tuple(map(float, padded)))
