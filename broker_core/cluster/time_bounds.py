"""The part of a slice that belongs to a range of times, exactly (`broker_core.client.time_bounds`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from broker_core.client.time_bounds import first_checked, time_of_answer
from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice


async def first_stored_from(puller: Puller, part: QueueSlice, at_ms: int) -> int:
    """The first offset of a slice stored at or after ``at_ms``; its end if there is none. Raises as `Puller`."""
    near, store_ms = partial(puller.offset_near, part, at_ms), partial(_store_ms, puller, part)
    return await first_checked(near, store_ms, at_ms, part.first, part.end)


async def within_times(puller: Puller, part: QueueSlice, from_ms: int | None, to_ms: int | None) -> QueueSlice:
    """The part of a slice stored at or after ``from_ms`` and before ``to_ms``; raises as `first_stored_from`."""
    if from_ms is not None:
        part = replace(part, first=await first_stored_from(puller, part, from_ms))
    if to_ms is not None:
        part = replace(part, end=await first_stored_from(puller, part, to_ms))
    return part


async def _store_ms(puller: Puller, part: QueueSlice, offset: int) -> int:
    record, following = await puller.records(part, offset, 1)
    return time_of_answer(record, offset, following, name=part.name)
