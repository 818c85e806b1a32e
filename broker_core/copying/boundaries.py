"""Which offsets of a queue a copy takes: exactly those of a time range, whatever the broker's own search by time answers.

4.x brokers answer with the nearest message, 5.x ones with the first at or after a time; so the answer is a guess that is looked
at, and where it is wrong the store times of single messages decide.

Source: spec remoting §2.2.5; broker §11.2 (search by time).
"""

from __future__ import annotations

from broker_core.client.admin import AdminClient
from broker_core.copying.order import Wanted
from broker_core.errors import CodecError
from broker_core.message.record import decode_record
from broker_core.remoting.json_body import MessageQueue


class QueueReader:
    """Reads single places of one queue; moves no group's offset.

    Every method raises `NetworkError`, `RemoteError` and `CodecError`.
    """

    def __init__(self, admin: AdminClient, queue: MessageQueue, address: str) -> None:
        self._admin = admin
        self._queue = queue
        self._address = address

    async def range_of(self, wanted: Wanted, low: int, high: int) -> tuple[int, int]:
        """First offset and end of what is wanted of a queue that holds ``low`` up to, not with, ``high``."""
        first, end = low, high
        if wanted.since_ms is not None:
            first = await self.first_at(wanted.since_ms, first, end)
        if wanted.until_ms is not None:
            end = await self.first_at(wanted.until_ms, first, end)
        if wanted.first_offset is not None:
            first = max(first, wanted.first_offset)
        if wanted.end_offset is not None:
            end = min(end, wanted.end_offset)
        if wanted.last is not None:
            first = max(first, end - wanted.last)
        first = min(first, high)
        return first, max(first, end)

    async def first_at(self, time_ms: int, low: int, high: int) -> int:
        """The first offset stored at or after a time; ``high`` where there is none."""
        if low >= high:
            return high
        guess = min(max(await self._admin.offset_by_time(self._queue, time_ms), low), high)
        while low < high:
            stored_ms = await self._stored_ms(guess) if guess < high else None
            if stored_ms is not None and stored_ms < time_ms:
                low = guess + 1
                guess = low if low < high and await self._stored_ms(low) >= time_ms else (low + high) // 2
            else:
                high = guess
                guess = high - 1 if low < high and await self._stored_ms(high - 1) < time_ms else (low + high) // 2
        return low

    async def _stored_ms(self, offset: int) -> int:
        """Store time of the message at an offset; -1 where none is readable there, so that what follows decides."""
        body, following = await self._admin.pull_records(self._address, self._queue, offset, 1)
        if body:
            return decode_record(body).store_timestamp_ms
        if following > offset:
            return -1
        raise CodecError(f"queue {self._queue.queue_id} of {self._queue.topic} gives no message at offset {offset:,}")
