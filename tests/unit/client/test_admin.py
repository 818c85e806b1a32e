import asyncio

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.errors import CodecError, RemoteError
from broker_core.protocol.admin.offsets import ConsumeOffset, QueueOffsets
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.json_body import MessageQueue
from tests.support.remoting_peer import BROKER, Peer

QUEUE = MessageQueue("T", BROKER, 0)


def play(scenario):
    async def run():
        async with Peer(topics={"T": 2}) as peer, AdminClient(peer.address) as admin:
            await scenario(peer, admin)

    asyncio.run(run())


def test_topics_are_created_listed_and_deleted():
    async def scenario(peer, admin):
        await admin.create_topic("new", queues=3)
        assert (await admin.topics(), peer.topics["new"]) == (["T", "new"], 3)
        fields = peer.of_code(RequestCode.UPDATE_AND_CREATE_TOPIC)[0].ext_fields
        assert (fields["perm"], fields["topicFilterType"], fields["order"]) == ("6", "SINGLE_TAG", "false")
        await admin.delete_topic("new")
        assert await admin.topics() == ["T"]
        assert await admin.master_addresses() == {BROKER: peer.address}

    play(scenario)


def test_what_queues_hold_and_how_far_a_group_is():
    async def scenario(peer, admin):
        for _ in range(3):
            peer.store("T", 0, b"x")
        await admin.set_consumer_offset("g", QUEUE, 2)
        assert await admin.topic_stats("T") == {QUEUE: QueueOffsets(0, 3, 2), QUEUE._replace(queue_id=1): QueueOffsets(0, 0, 2)}
        stats = await admin.consume_stats("g", "T")
        assert (stats[QUEUE], stats[QUEUE].lag_messages) == (ConsumeOffset(3, 2, 0), 1)

    play(scenario)


def test_offsets_are_asked_for_and_set():
    async def scenario(peer, admin):
        peer.min_offset = 10
        peer.store("T", 0, b"x")
        assert [await admin.min_offset(QUEUE), await admin.max_offset(QUEUE)] == [10, 11]
        assert await admin.consumer_offset("g", QUEUE) is None
        await admin.set_consumer_offset("g", QUEUE, 11)
        assert await admin.consumer_offset("g", QUEUE) == 11

    play(scenario)


def test_a_message_is_found_by_the_id_its_send_gave():
    async def scenario(peer, admin):
        async with Producer(peer.address) as producer:
            await producer.send(Message("T", b"one"))
            result = await producer.send(Message("T", b"two"))
        stored = await admin.message_by_offset_id(result.offset_message_id)
        assert (stored.body, stored.queue_offset) == (b"two", result.queue_offset)
        with pytest.raises(CodecError):
            await admin.message_by_offset_id("nonsense")
        with pytest.raises(RemoteError, match="can not find message by the offset, 999"):
            await admin.message_by_offset_id(result.offset_message_id[:-16] + f"{999:016X}")

    play(scenario)


def test_a_topic_that_does_not_exist_is_named():
    async def scenario(peer, admin):
        with pytest.raises(RemoteError, match="there is no topic missing"):
            await admin.topic_stats("missing")
        with pytest.raises(RemoteError, match="topic T is not on broker elsewhere"):
            await admin.max_offset(MessageQueue("T", "elsewhere", 0))

    play(scenario)


@pytest.mark.parametrize(
    ("code", "body", "fields"),
    [
        (RequestCode.GET_TOPIC_STATS_INFO, b'{"offsetTable":{"x":{}}}', {}),
        (RequestCode.GET_TOPIC_STATS_INFO, b"[]", {}),
        (RequestCode.GET_MAX_OFFSET, b"", {"offset": "many"}),
    ],
)
def test_an_answer_that_makes_no_sense_is_an_error(code, body, fields):
    async def scenario(peer, admin):
        peer.script[code] = [lambda _, command: command.reply(0, None, fields, body)]
        with pytest.raises(CodecError):
            await (admin.max_offset(QUEUE) if code == RequestCode.GET_MAX_OFFSET else admin.topic_stats("T"))

    play(scenario)
