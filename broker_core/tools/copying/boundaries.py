"""Which offsets of a queue a copy takes: exactly those of a time range, whatever the broker's own search by time answers."""

from __future__ import annotations

from broker_core.client.admin import AdminClient
from broker_core.cluster.time_bounds import queue_first_from
from broker_core.protocol.json_body import MessageQueue
from broker_core.tools.copying.order import Wanted


async def range_of(
    admin: AdminClient, address: str, queue: MessageQueue, wanted: Wanted, *, low: int, high: int
) -> tuple[int, int]:
    """First offset and end of what is wanted of a queue that holds ``low`` up to, not with, ``high``.

    Raises as `queue_first_from`.
    """
    first, end = low, high
    if wanted.since_ms is not None:
        first = await queue_first_from(admin, address, queue, wanted.since_ms, first=first, end=end)
    if wanted.until_ms is not None:
        end = await queue_first_from(admin, address, queue, wanted.until_ms, first=first, end=end)
    if wanted.first_offset is not None:
        first = max(first, wanted.first_offset)
    if wanted.end_offset is not None:
        end = min(end, wanted.end_offset)
    if wanted.last is not None:
        first = max(first, end - wanted.last)
    first = min(first, high)
    return first, max(first, end)
