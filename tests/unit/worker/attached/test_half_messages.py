"""Half and op queue of a broker, read from outside."""

import asyncio
import struct

from broker_core.cluster.slices import OFFSET_MAX, QueueSlice
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.names import HALF_TOPIC
from broker_core.worker.attached.transactions import HalfQueue


class EmptyBroker:
    """A link to a broker without transactions; counts how many questions are open at a time."""

    def __init__(self) -> None:
        self.open = self.open_max = 0

    async def stored_offset(self, _group: str, _queue: object) -> int:
        await self._answer()
        return -1

    async def min_offset_of(self, _address: str, _queue: MessageQueue) -> int:
        await self._answer()
        return 0

    async def max_offset_of(self, _address: str, _queue: MessageQueue) -> int:
        await self._answer()
        return 0

    def slice_of(self, queue: MessageQueue) -> QueueSlice:
        return QueueSlice(queue.topic, queue.broker_name, "127.0.0.1:1", queue.queue_id, 0, OFFSET_MAX)

    async def _answer(self) -> None:
        self.open += 1
        self.open_max = max(self.open_max, self.open)
        await asyncio.sleep(0)
        self.open -= 1


def test_looks_at_one_time_come_one_after_the_other():
    async def scenario():
        link = EmptyBroker()
        queue = HalfQueue(link, "a")
        await asyncio.gather(queue.look(), queue.look(), queue.look())
        assert (link.open_max, queue.unread, len(queue.ledger)) == (1, 0, 0)

    asyncio.run(scenario())


class BrokenBroker(EmptyBroker):
    """Its half queue has two messages, and neither is a record."""

    async def max_offset_of(self, _address: str, queue: MessageQueue) -> int:
        return 2 if queue.topic == HALF_TOPIC else 0

    async def pull_records(self, _address: str, _queue: object, offset: int, count: int) -> tuple[bytes, int]:
        return struct.pack(">i", 8) * 2 * count, offset + count


def test_records_that_cannot_be_read_are_passed_over_and_told_once(caplog):
    async def scenario():
        queue = HalfQueue(BrokenBroker(), "a")
        for _ in range(2):
            await queue.look()
            assert (queue.unread, len(queue.ledger)) == (0, 0)

    asyncio.run(scenario())
    (told,) = caplog.messages
    assert told.startswith("undecided transactions of a are shown without a record that cannot be read: ")
