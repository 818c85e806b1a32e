"""Delay levels of a cluster from outside: what is pending in the schedule queues of its brokers. Pure.

    pending        end of the queue of a level less the offset that its broker reports with GET_ALL_DELAY_OFFSET
    due            store time of the message there and the delay of its level (``messageDelayLevel`` of the broker)

Only the broker itself knows lateness and skipped messages. Deliveries are counted here, from the first look on.

Source: docs/spec/broker.md §3.2, §3.5, docs/spec/remoting.md §2.5.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from broker_core.engine.schedule.delay_console import LevelFigures
from broker_core.protocol.admin.offsets import QueueOffsets
from broker_core.protocol.delay_levels import DelayLevels

_UNKNOWN = -1


@dataclass(slots=True)
class BrokerLevels:
    """What one broker reported of its levels.

    Attributes:
        table: Delays of its levels; None before it reported.
        offsets: Level → next offset to deliver; a level that delivered nothing yet is missing.
        heads: Level → an offset and the store time of the message there, in ms since the epoch.
        delivered: Level → messages delivered since the first look.
        offsets_ms: When ``offsets`` were read, ms since the epoch.
    """

    table: DelayLevels | None = None
    offsets: dict[int, int] = field(default_factory=dict)
    heads: dict[int, tuple[int, int]] = field(default_factory=dict)
    delivered: dict[int, int] = field(default_factory=dict)
    offsets_ms: int = 0

    def take_offsets(self, offsets: Mapping[int, int], read_ms: int) -> None:
        """Take over the offsets reported at this time."""
        for level, offset in offsets.items():
            if level in self.offsets:
                self.delivered[level] = self.delivered.get(level, 0) + max(offset - self.offsets[level], 0)
        self.offsets, self.offsets_ms = dict(offsets), read_ms

    def next_offset(self, level: int, held: QueueOffsets) -> int:
        """Offset of the message of a level that is delivered next."""
        return max(self.offsets.get(level, 0), held.min_offset)

    def unread_heads(self, queues: Mapping[int, QueueOffsets]) -> list[tuple[int, int]]:
        """Level and offset of the next messages whose store time is unknown."""
        found = []
        for queue_id, held in sorted(queues.items()):
            level = queue_id + 1
            wanted = self.next_offset(level, held)
            if wanted < held.max_offset and self.heads.get(level, (_UNKNOWN, 0))[0] != wanted:
                found.append((level, wanted))
        return found

    def due_ms(self, level: int, held: QueueOffsets) -> int:
        """When the next message of a level is due; -1 where none is pending or the time is unknown."""
        at, store_ms = self.heads.get(level, (_UNKNOWN, _UNKNOWN))
        wanted = self.next_offset(level, held)
        if self.table is None or wanted >= held.max_offset or at != wanted or store_ms < 0:
            return _UNKNOWN
        return store_ms + self.table.delay_ms(level)


def level_figures(
    brokers: Iterable[tuple[BrokerLevels, Mapping[int, QueueOffsets]]], now_ms: int, *, all_answer: bool = True
) -> list[LevelFigures]:
    """The levels of all brokers together; each broker with its queues of the schedule topic.

    Without ``all_answer`` only the levels are known: figures of some brokers would be taken for all.
    """
    told = [(levels, queues) for levels, queues in brokers if levels.table is not None]
    count = max((levels.table.count for levels, _queues in told if levels.table is not None), default=0)
    figures = [_figures(level, told, now_ms) for level in range(1, count + 1)]
    return figures if all_answer else [_unknown(one) for one in figures]


def _unknown(figures: LevelFigures) -> LevelFigures:
    return figures._replace(pending=_UNKNOWN, next_due_ms=_UNKNOWN, overdue_ms=_UNKNOWN, delivered=_UNKNOWN)


def _figures(level: int, brokers: list[tuple[BrokerLevels, Mapping[int, QueueOffsets]]], now_ms: int) -> LevelFigures:
    pending, delay_ms, due, overdue_ms, is_unread = 0, 0, [], 0, False
    for levels, queues in brokers:
        if levels.table is None or level > levels.table.count:
            continue
        delay_ms = max(delay_ms, levels.table.delay_ms(level))
        held = queues.get(level - 1)
        if held is not None:
            waiting = max(held.max_offset - levels.next_offset(level, held), 0)
            pending += waiting
            at = levels.due_ms(level, held)
            is_unread |= bool(waiting) and at < 0
            if at >= 0:
                due.append(at)
                # What was delivered after the offsets were read is not late.
                overdue_ms = max(overdue_ms, min(now_ms, levels.offsets_ms) - at)
    first = min(due, default=_UNKNOWN)
    return LevelFigures(
        level=level,
        delay_ms=delay_ms,
        pending=pending,
        next_due_ms=first,
        # What one broker has is late whatever the others have; that nothing is late needs all.
        overdue_ms=_UNKNOWN if is_unread and not overdue_ms else overdue_ms,
        delivered=sum(levels.delivered.get(level, 0) for levels, _queues in brokers),
        skipped=0,
        late_p50_ms=math.nan,
        late_p99_ms=math.nan,
    )
