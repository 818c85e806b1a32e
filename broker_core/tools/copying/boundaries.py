"""The offsets of a queue that a copy takes: exactly those of a time range, whatever the broker's own search by time answers."""

from __future__ import annotations

from dataclasses import replace

from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice
from broker_core.cluster.time_bounds import within_times
from broker_core.tools.copying.order import CopyRange


async def copied_part(puller: Puller, whole: QueueSlice, wanted: CopyRange) -> QueueSlice:
    """The copied part of a whole queue; raises as `Puller`."""
    part = await within_times(puller, whole, wanted.since_ms, wanted.until_ms)
    first, end = part.first, part.end
    if wanted.first_offset is not None:
        first = max(first, wanted.first_offset)
    if wanted.end_offset is not None:
        end = min(end, wanted.end_offset)
    if wanted.last is not None:
        first = max(first, end - wanted.last)
    first = min(first, whole.end)
    return replace(part, first=first, end=max(first, end))
