"""Messages that are sent to a real cluster, and what its queues hold afterwards."""

from __future__ import annotations

from broker_core.client.admin import AdminClient
from broker_core.client.instance import ClientSecurity
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.cluster.records import split_records
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.record import decode_record
from tests.support.remoting_peer import eventually_answers

BATCH = 50
QUEUES = 4


async def fill(
    name_server: str,
    topic: str,
    count: int,
    *,
    broker: str = "broker-a",
    first: int = 0,
    body: bytes = b"",
    security: ClientSecurity | None = None,
) -> None:
    """Send messages that begin with their numbers, 50 to each of four queues in turn; makes the topic."""
    async with AdminClient(name_server, security=security) as admin, Producer(name_server, security=security) as producer:
        await admin.create_topic(topic, queues=QUEUES)

        async def is_routed() -> bool:
            return len([queue for queue in await producer.queues(topic) if queue.broker_name == broker]) == QUEUES

        await eventually_answers(is_routed)
        for start in range(first, first + count, BATCH):
            numbers = range(start, min(start + BATCH, first + count))
            batch = [Message(topic, b"%d %s" % (number, body), keys=(f"k{number}",)) for number in numbers]
            await producer.send_batch(batch, queue=MessageQueue(topic, broker, start // BATCH % QUEUES))


async def numbers_of(name_server: str, topic: str) -> list[int]:
    """Numbers of all messages of a topic, queue by queue in their order."""
    found: list[int] = []
    async with AdminClient(name_server) as admin:
        route = await admin.readable_route(topic)
        for queue, held in sorted((await admin.topic_stats(topic)).items()):
            address, offset = route.address_of(queue.broker_name), held.min_offset
            assert address is not None
            while offset < held.max_offset:
                body, offset = await admin.pull_records(address, queue, offset, 32)
                found += [int(decode_record(record).body.split()[0]) for record in split_records(body)]
    return found
