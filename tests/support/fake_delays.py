"""Messages of the shop that wait: delay levels and timers."""

from __future__ import annotations

import numpy as np

from broker_core.worker.questions.delays import DelayedMessages, PendingTimers, TimerForecast
from monitoring.delay import DelayState, Lateness
from tests.support.fake_shop import TAKEN_MS

DELAYS_MS = tuple(
    seconds * 1_000 for seconds in (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1_200, 1_800, 3_600, 7_200)
)
DELAY_PENDING = (38, 166, 240, 618, 402, 188, 97, 64, 86, 41, 38, 36, 35, 112, 204, 1_288, 179, 72)
"""Messages in each delay level; 3,904 in all."""
DELAY_FIRST_OFFSET = 1_000


def fake_delays(taken_ms: int) -> DelayState:
    """18 levels with 3,904 messages; level 16 comes late."""
    pending = np.array(DELAY_PENDING, np.int64)
    late = np.full(len(pending), 31.0)
    late[15] = 1_212.0
    return DelayState(
        level=np.arange(1, len(pending) + 1),
        delay_ms=np.array(DELAYS_MS, np.int64),
        pending=pending,
        next_due_ms=taken_ms + np.array(DELAYS_MS, np.int64) // pending,
        overdue_ms=np.zeros(len(pending), np.int64),
        delivered=pending * 40,
        skipped=np.zeros(len(pending), np.int64),
        late_p50_ms=np.full(len(pending), 12.0),
        late_p99_ms=late,
        delivered_rate=pending / np.array(DELAYS_MS) * 1_000,
    )


def fake_lateness() -> Lateness:
    """1,500 deliveries of 25 minutes; 14 of them later than a second, one of those a timer."""
    starts = (0, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
    levels = (20, 80, 300, 700, 320, 66, 10, 3, 0, 0)
    return Lateness(starts, levels, (*(0,) * 8, 1, 0), 1_500)


def fake_delayed(level: int, start_offset: int, count: int) -> DelayedMessages:
    """Waiting messages of a level, evenly over its delay; the first has offset 1,000."""
    pending, delay_ms = DELAY_PENDING[level - 1], DELAYS_MS[level - 1]
    end = DELAY_FIRST_OFFSET + pending
    offsets = list(range(max(start_offset, DELAY_FIRST_OFFSET), end))[:count]
    due = [TAKEN_MS + delay_ms * (offset - DELAY_FIRST_OFFSET + 1) // pending for offset in offsets]
    return DelayedMessages(
        level=level,
        queue_offset=offsets,
        physical_offset=[level * 1_000_000 + offset * 256 for offset in offsets],
        due_ms=due,
        store_ms=[at - delay_ms for at in due],
        topic=[("order-timeout", "coupon-grant")[offset % 2] for offset in offsets],
        queue_id=[offset % 4 for offset in offsets],
        tag=["TIMEOUT"] * len(offsets),
        keys=[f"SO-20261121-{offset:05d}" for offset in offsets],
        unique_key=[f"7F0000010F2A18B4AAC2{offset:012X}" for offset in offsets],
        body_bytes=[640] * len(offsets),
        reconsume_times=[0] * len(offsets),
        next_offset=offsets[-1] + 1 if offsets else end,
        max_offset=end,
    )


def fake_forecast() -> TimerForecast:
    """312 timers: one in each of the next minutes and hours, the rest on the day after."""
    return TimerForecast(TAKEN_MS, [1] * 60, [60] + [1] * 47, TAKEN_MS // 86_400_000, [100, 212])


def fake_timers(count: int) -> PendingTimers:
    """Three timers, the last of them cancelled."""
    rows = min(3, count)
    slots = [TAKEN_MS + 5_938_000 + number * 30_000 for number in range(rows)]
    return PendingTimers(
        slot_ms=slots,
        position=[number * 52 for number in range(rows)],
        due_ms=slots,
        store_ms=[TAKEN_MS - 60_000] * rows,
        physical_offset=[70_000 + number for number in range(rows)],
        topic=["order-timeout", "coupon-grant", "user-points"][:rows],
        queue_id=[0] * rows,
        tag=["REMIND"] * rows,
        keys=["SO-004", "CP-88121", "U-530017"][:rows],
        unique_key=[f"7F0000010F2A18B4AAC2{number:012X}" for number in range(rows)],
        body_bytes=[640] * rows,
        is_cancelled=[False, False, True][:rows],
        next_slot_ms=-1,
        next_position=-1,
    )
