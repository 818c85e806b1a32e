"""Dead letters of a group at a real broker, made as its broker makes them, and what became of their copies."""

from __future__ import annotations

from collections import Counter

from broker_core.client.admin import AdminClient
from broker_core.client.message import RawMessage
from broker_core.client.producer import Producer
from broker_core.cluster.records import split_records
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.message.resent_properties import ORIGIN_LINK
from tests.support.remoting_peer import eventually_answers

BROKER = "broker-a"


async def die(name_server: str, group: str, topic: str, count: int) -> None:
    """Make so many dead letters of a group that came from a topic; both topics have one queue."""
    dead = f"%DLQ%{group}"
    async with AdminClient(name_server) as admin, Producer(name_server) as producer:
        for name in (topic, dead):
            await admin.create_topic(name, queues=1)

        async def are_routed() -> bool:
            return all([len(await producer.queues(name)) == 1 for name in (topic, dead)])

        await eventually_answers(are_routed)
        for number in range(count):
            properties = encode_properties({"RETRY_TOPIC": topic, "UNIQ_KEY": f"D{number}"})
            await producer.send_raw(
                RawMessage(topic=dead, body=b"%d" % number, properties=properties), MessageQueue(dead, BROKER, 0)
            )


async def copies(name_server: str, topic: str) -> Counter[str]:
    """How many copies each dead letter has in a topic of one queue, by its id."""
    queue, found = MessageQueue(topic, BROKER, 0), Counter[str]()
    async with AdminClient(name_server) as admin:
        address = (await admin.readable_route(topic)).address_of(BROKER)
        assert address is not None
        offset, end = await admin.min_offset(queue), await admin.max_offset(queue)
        while offset < end:
            body, offset = await admin.pull_records(address, queue, offset, 32)
            found.update(decode_record(record).properties[ORIGIN_LINK] for record in split_records(body))
    return found
