"""Where a queue stood at a time: the search behind SEARCH_OFFSET_BY_TIMESTAMP and resets.

A request that names a boundary gets 5.x's exact bounds. One that names none comes from a 4.x tool and gets what that expects:
the message whose store time is nearest.

Source: docs/spec/remoting.md §2.2.5.
"""

from __future__ import annotations

from broker_core.engine.store.message_store import MessageStore


def offset_by_time(store: MessageStore, topic: str, queue_id: int, timestamp_ms: int, boundary: str | None) -> int:
    """Queue offset for a time; 0 for an empty or unknown queue.

    Args:
        store: Where to look.
        topic: Name as stored.
        queue_id: Number.
        timestamp_ms: Store time.
        boundary: ``LOWER`` gives the first message at or after the time (the max offset past the end), ``UPPER`` the last at or
            before it, in any case; None or empty gives the nearest: the last message past the end, the earlier one on a tie.
    """
    if boundary:
        return max(store.offset_by_time(topic, queue_id, timestamp_ms, upper=boundary.lower() == "upper"), 0)
    first, end = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
    if first >= end:
        return max(0, end)
    after = store.offset_by_time(topic, queue_id, timestamp_ms)
    if after >= end:
        return end - 1
    if after <= first:
        return first
    before = after - 1
    late_ms = store.store_time(topic, queue_id, after) - timestamp_ms
    early_ms = timestamp_ms - store.store_time(topic, queue_id, before)
    return after if late_ms < early_ms or late_ms == 0 else before
