"""The offset of a queue at a time: the search for SEARCH_OFFSET_BY_TIMESTAMP and resets.

A request that names a boundary gets 5.x's exact bounds. A request without one is a 4.x tool's and gets the message whose store
time is nearest, as the tool expects.

Source: docs/spec/remoting.md §2.2.5.
"""

from __future__ import annotations

from broker_core.engine.store.message_store import MessageStore


def offset_by_time(store: MessageStore, topic: str, queue_id: int, timestamp_ms: int, boundary: str | None) -> int:
    """Queue offset for a store time; 0 for an empty or unknown queue.

    ``boundary`` is, in any case, ``LOWER`` for the first message at or after the time (the max offset past the end), or
    ``UPPER`` for the last at or before it; None or empty for the nearest: the last message past the end, the earlier one on a
    tie.
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
