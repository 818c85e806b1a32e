"""Our own broker on a thread of its own, for readers that know no event loop: tests of reports on clusters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.clock import wall_clock_ms
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.json_body import MessageQueue
from tests.support.attached import BROKER
from tests.support.client_thread import ClientThread


@dataclass
class BrokerThread:
    """A broker that serves.

    Args:
        thread: Where it runs.
        broker: The broker.
        root: Its store.
    """

    thread: ClientThread
    broker: EmbeddedBroker
    root: Path

    @property
    def name_server(self) -> str:
        return self.broker.name_server_address

    def send(self, topic: str, queue_id: int, bodies: Sequence[bytes], *, tags: str = "") -> None:
        """Store messages in a queue, as one batch."""
        self.thread.call(self._send([Message(topic, body, tags=tags) for body in bodies], queue_id))

    async def _send(self, messages: list[Message], queue_id: int) -> None:
        async with Producer(self.name_server) as producer:
            await producer.send_batch(messages, queue=MessageQueue(messages[0].topic, BROKER, queue_id))

    def create(self, topic: str, queues: int) -> None:
        """Create a topic."""
        self.thread.call(self.broker.create_topic(topic, queues, queues, 6))


@contextlib.contextmanager
def broker_thread(
    root: Path, settings: BrokerConfig | None = None, *, clock: Callable[[], int] = wall_clock_ms
) -> Iterator[BrokerThread]:
    """A broker on a store directory while the block lasts; ``settings`` instead of the usual ones."""
    usual = BrokerConfig(listen_port=0, name_server_port=0, broker_name=BROKER, store=StoreConfig(root=root))
    config = usual if settings is None else settings
    with ClientThread() as thread:
        broker = thread.call(_started(config, clock))
        try:
            yield BrokerThread(thread, broker, root)
        finally:
            thread.call(broker.stop())


async def _started(config: BrokerConfig, clock: Callable[[], int]) -> EmbeddedBroker:
    broker = EmbeddedBroker(config, clock=clock)
    await broker.start()
    return broker
