"""Two of our own brokers, and copies from one to the other in one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broker_core.client.admin import AdminClient
from broker_core.client.message import RawMessage, SendResult
from broker_core.client.producer import Producer
from broker_core.cluster.records import split_records
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record
from broker_core.tools.commands.store_end import serving_store
from broker_core.tools.copying.control import CopyControl, CopySurroundings
from broker_core.tools.copying.ends import Ends, opened
from broker_core.tools.copying.order import CopyOrder
from broker_core.tools.copying.plan import CopyPlan
from broker_core.tools.copying.planner import CopyPlanner
from broker_core.tools.copying.receipt import CopyReceipt
from broker_core.tools.copying.runner import CopyRunner
from broker_core.tools.replay.send_batch import RawSender
from tests.support.embedded import started

NAMES = ("source-a", "target-b")


@dataclass
class Pair:
    """Name servers of two brokers, and clients of both."""

    source: str
    target: str
    admins: tuple[AdminClient, AdminClient]
    producer: Producer
    """Of the source."""
    said: list[str] = field(default_factory=list)

    def order(self, *topics: str, **more: Any) -> CopyOrder:
        """A copy of topics, all they hold."""
        return CopyOrder(**{"source": self.source, "target": self.target, "topics": topics, **more})

    async def fill(self, topic: str, count: int, *, queues: int = 2, **properties: str) -> None:
        """Send numbered messages in turn to the queues of a new topic of the source, each born in a second of its own.

        Each is stored in a millisecond of its own, too.
        """
        await self.admins[0].create_topic(topic, queues=queues)
        for number in range(count):
            values = {"UNIQ_KEY": f"U{number}", "KEYS": f"k{number}", "TAGS": "a", **properties}
            await self.send(topic, number % queues, b"%d" % number, values, born_ms=1_000 * number + 1)
            await asyncio.sleep(0.002)

    async def send(
        self, topic: str, queue: int, body: bytes, properties: dict[str, str], *, born_ms: int = 1, flag: int = 0
    ) -> None:
        """Send one message to a queue of the source."""
        message = RawMessage(
            topic=topic, body=body, properties=encode_properties(properties), flag=flag, born_timestamp_ms=born_ms
        )
        await self.producer.send_raw(message, MessageQueue(topic, NAMES[0], queue))

    async def plan(self, order: CopyOrder) -> CopyPlan:
        """What a copy would do."""
        async with opened(order, source=None, target=None, serve=serving_store) as ends:
            return await CopyPlanner(order, ends.source, ends.target).plan()

    async def copy(self, order: CopyOrder, path: Path) -> CopyReceipt:
        """Carry a copy out; its receipt, closed."""
        async with opened(order, source=None, target=None, serve=serving_store) as ends:
            plan = await CopyPlanner(order, ends.source, ends.target).plan()
            return await self.carry_out(CopyReceipt(path, plan), ends)

    async def go_on(self, path: Path) -> CopyReceipt:
        """Go on from a receipt."""
        receipt = CopyReceipt(path)
        async with opened(receipt.plan.order, source=None, target=None, serve=serving_store) as ends:
            return await self.carry_out(receipt, ends)

    async def carry_out(
        self, receipt: CopyReceipt, ends: Ends, *, sender: RawSender | None = None, control: CopyControl | None = None
    ) -> CopyReceipt:
        """One run of a receipt, which is closed behind it."""
        with receipt:
            runner = CopyRunner(receipt, ends.source.admin, ends.target.admin, sender or ends.sender, control or self.control())
            await runner.run()
            return receipt

    def control(self, *, rate: float | None = None) -> CopyControl:
        """Waits of no length, 1,000 s at most by a clock that they move."""
        return CopyControl(StoppedClock(self.said).surroundings, rate=rate, wait_max_s=1_000.0)

    async def stored(self, topic: str, queue: int, *, of_target: bool = True) -> list[StoredMessage]:
        """All messages of a queue."""
        admin = self.admins[of_target]
        route = await admin.readable_route(topic)
        place = MessageQueue(topic, NAMES[of_target], queue)
        address = route.address_of(place.broker_name) or ""
        offset, end = await admin.min_offset(place), await admin.max_offset(place)
        found: list[StoredMessage] = []
        while offset < end:
            body, offset = await admin.pull_records(address, place, offset, 32)
            found += [decode_record(record) for record in split_records(body)]
        return found


class StoppedClock:
    """A clock that only waits move, and that others get their turn in."""

    def __init__(self, said: list[str]) -> None:
        self.now_s = 0.0
        self.surroundings = CopySurroundings(lambda: self.now_s, self._wait, said.append)

    async def _wait(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.now_s += seconds


class LosingSender:
    """Sends by another, and loses answers.

    Args:
        sender: Sends.
        lost: Numbers of the sends, from 0, whose answers are lost: ``before`` they are stored or ``after``.
        fault: Raises what the sender of a lost answer sees.
    """

    def __init__(self, sender: RawSender, lost: dict[int, str], fault: Exception) -> None:
        self.sent = 0
        self._sender = sender
        self._lost = lost
        self._fault = fault

    async def send_raw(self, message: RawMessage, queue: MessageQueue, *, timeout_ms: int | None = None) -> SendResult:
        number, self.sent = self.sent, self.sent + 1
        where = self._lost.get(number)
        if where == "before":
            raise self._fault
        result = await self._sender.send_raw(message, queue, timeout_ms=timeout_ms)
        if where == "after":
            raise self._fault
        return result


@asynccontextmanager
async def two_brokers(folder: Path) -> AsyncIterator[Pair]:
    """Both, empty, while the block lasts."""

    def config(name: str) -> BrokerConfig:
        return BrokerConfig(listen_port=0, name_server_port=0, broker_name=name, store=StoreConfig(root=folder / name))

    async with started(config(NAMES[0])) as source, started(config(NAMES[1])) as target:
        addresses = source.name_server_address, target.name_server_address
        async with AdminClient(addresses[0]) as first, AdminClient(addresses[1]) as second, Producer(addresses[0]) as producer:
            yield Pair(*addresses, (first, second), producer)
