"""The pull consumer: one pull at a time."""

import asyncio

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.pull_consumer import PullConsumer
from broker_core.client.pulling import PullStatus
from broker_core.client.subscription import Sql
from broker_core.errors import RemoteError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.properties import encode_properties
from tests.support.remoting_peer import BROKER, Peer, eventually

QUEUE = MessageQueue("T", BROKER, 0)


def play(scenario):
    async def run():
        async with Peer(topics={"T": 1}) as peer, PullConsumer(peer.address, "CG") as member:
            await scenario(peer, member)

    asyncio.run(run())


def test_it_pulls_by_offset_and_tag_and_keeps_offsets_when_told():
    async def scenario(peer, member):
        for number in range(3):
            peer.store("T", 0, b"%d" % number, encode_properties({"TAGS": "ab"[number % 2]}))
        assert await member.queues("T") == [QUEUE]
        found = await member.pull(QUEUE, 0, wanted="a", messages_max=2)
        assert ([message.body for message in found.messages], found.next_offset) == ([b"0"], 2)
        assert (await member.min_offset(QUEUE), await member.max_offset(QUEUE)) == (0, 3)
        assert await member.committed(QUEUE) is None
        await member.commit(QUEUE, 2)
        assert await member.committed(QUEUE) == 2
        await member.pull(QUEUE, 0, wanted=Sql("a > 1"))
        assert peer.of_code(RequestCode.PULL_MESSAGE)[-1].ext_fields["expressionType"] == "SQL92"

    play(scenario)


def test_it_waits_for_a_message_when_asked_to():
    async def scenario(peer, member):
        waiting = asyncio.create_task(member.pull(QUEUE, 0, block=True))
        await eventually(lambda: peer.held)
        peer.store("T", 0, b"x")
        assert [message.body for message in (await waiting).messages] == [b"x"]

    play(scenario)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (19, PullStatus.NO_NEW_MESSAGE),
        (20, PullStatus.NO_MATCHED_MESSAGE),
        (21, PullStatus.OFFSET_ILLEGAL),
    ],
)
def test_answers_without_messages_have_a_status_and_where_to_go_on(code, status):
    async def scenario(peer, member):
        fields = {"nextBeginOffset": "7", "minOffset": "2", "maxOffset": "9"}
        peer.script[RequestCode.PULL_MESSAGE] = [lambda _, command: command.reply(code, None, fields)]
        found = await member.pull(QUEUE, 5)
        assert (found.status, found.messages, found.next_offset, found.min_offset, found.max_offset) == (status, [], 7, 2, 9)

    play(scenario)


def test_a_topic_that_is_not_there_is_an_error():
    async def scenario(_peer, member):
        with pytest.raises(RemoteError, match="there is no topic U"):
            await member.queues("U")

    play(scenario)


HUNDRED = [*range(10), *[500] * 100, 600]
"""Store times: a hundred messages of one millisecond between others."""


@pytest.mark.parametrize("near", [0, 9, 10, 55, 109, 110, 111])
@pytest.mark.parametrize(("at_ms", "offset"), [(500, 10), (501, 110), (0, 0), (5, 5), (600, 110), (601, 111)])
def test_the_first_message_of_a_time_is_found_whatever_the_broker_answers(near, at_ms, offset):
    async def scenario(peer, member):
        peer.near = near
        for stored_ms in HUNDRED:
            peer.store("T", 0, b"x", stored_ms=stored_ms)
        assert await member.offset_by_time(QUEUE, at_ms) == offset
        async with AdminClient(peer.address) as admin:
            assert await admin.offset_by_time(QUEUE, at_ms) == offset
        assert peer.offsets == {}, "looking commits nothing"

    play(scenario)


def test_a_time_in_an_empty_queue_is_its_end():
    async def scenario(peer, member):
        peer.min_offset = 7
        assert await member.offset_by_time(QUEUE, 5) == 7

    play(scenario)
