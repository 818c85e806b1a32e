"""The lite pull consumer: polls, positions, commits."""

import asyncio

import pytest

from broker_core.client.lite_pull_consumer import LitePullConsumer
from broker_core.client.offsets import ConsumeFrom
from broker_core.config import ClientConfig
from broker_core.errors import RemoteError, UsageError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.json_body import MessageQueue
from tests.support.remoting_peer import BROKER, Peer, eventually

CONFIG = ClientConfig(auto_commit_interval_ms=5, flow_control_pause_ms=1, pull_retry_ms=1, lite_pull_batch_messages=4)
QUEUES = [MessageQueue("T", BROKER, number) for number in range(2)]


def play(scenario):
    async def run():
        async with Peer(topics={"T": 2}) as peer:
            await scenario(peer)

    asyncio.run(run())


def consumer(peer, subscriptions=None, **options):
    options.setdefault("consume_from", ConsumeFrom.FIRST_OFFSET)
    return LitePullConsumer(peer.address, "CG", subscriptions, config=CONFIG, **options)


async def poll_all(member, count):
    found = []
    while len(found) < count:
        batch = await member.poll(10_000)
        assert 0 < len(batch) <= 4
        found += batch
    return found


def test_a_member_polls_its_queues_and_commits_what_it_polled_before():
    async def scenario(peer):
        for number in range(10):
            peer.store("T", number % 2, b"%d" % number)
        async with consumer(peer, {"T": "*"}) as member:
            found = await poll_all(member, 10)
            assert sorted(int(message.body) for message in found) == list(range(10))
            assert member.assignment == QUEUES
            assert await member.poll(1) == []
            await eventually(lambda: [peer.offsets.get(("CG", "T", number)) for number in (0, 1)] == [5, 5])
        beat = peer.heartbeats[-1]["consumerDataSet"][0]
        assert (beat["consumeType"], beat["subscriptionDataSet"][0]["topic"]) == ("CONSUME_ACTIVELY", "T")
        assert {pull.ext_fields["sysFlag"] for pull in peer.of_code(RequestCode.PULL_MESSAGE)} == {"22"}

    play(scenario)


def test_what_the_caller_failed_on_comes_again():
    async def scenario(peer):
        for number in range(2):
            peer.store("T", 0, b"%d" % number)

        async def fail_after_polling():
            async with consumer(peer, {"T": "*"}) as member:
                await poll_all(member, 2)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail_after_polling()
        assert peer.offsets.get(("CG", "T", 0), 0) == 0
        async with consumer(peer, {"T": "*"}) as member:
            assert len(await poll_all(member, 2)) == 2
        assert peer.offsets["CG", "T", 0] == 2

    play(scenario)


def test_without_auto_commit_only_a_commit_stores_offsets():
    async def scenario(peer):
        for number in range(2):
            peer.store("T", 0, b"%d" % number)
        async with consumer(peer, {"T": "*"}, auto_commit=False) as member:
            await poll_all(member, 2)
            await member.poll(1)
            assert ("CG", "T", 0) not in peer.offsets
            await member.commit()
            assert await member.committed(QUEUES[0]) == 2
            await member.commit({QUEUES[1]: 7})
            assert peer.offsets["CG", "T", 1] == 7

    play(scenario)


def test_a_refused_offset_of_one_queue_does_not_hold_back_the_others():
    async def scenario(peer):
        for number in range(4):
            peer.store("T", number % 2, b"%d" % number)
        async with consumer(peer, {"T": "*"}, auto_commit=False) as member:
            await poll_all(member, 4)
            await member.poll(1)
            remark = "Target offset 2 not in consume queue range [0-1]"
            peer.script[RequestCode.UPDATE_CONSUMER_OFFSET] = [lambda _, command: command.reply(1, remark)]
            with pytest.raises(RemoteError, match="Target offset 2"):
                await member.commit()
            assert len([number for number in (0, 1) if peer.offsets.get(("CG", "T", number)) == 2]) == 1
            await member.commit()
            assert [peer.offsets["CG", "T", number] for number in (0, 1)] == [2, 2]

    play(scenario)


def test_assigned_queues_are_read_from_where_the_caller_wants():
    async def scenario(peer):
        for number in range(6):
            peer.store("T", 0, b"%d" % number)
        async with consumer(peer, auto_commit=False) as member:
            assert await member.queues("T") == QUEUES
            await member.assign([QUEUES[0]])
            await member.seek(QUEUES[0], 4)
            assert [message.queue_offset for message in await poll_all(member, 2)] == [4, 5]
            await member.seek_to_begin(QUEUES[0])
            assert [message.queue_offset for message in await poll_all(member, 6)] == list(range(6))
            await member.seek_to_end(QUEUES[0])
            assert await member.poll(5) == []
            peer.store("T", 0, b"new")
            assert [message.body for message in await member.poll(10_000)] == [b"new"]
            with pytest.raises(UsageError, match=r"offset 9 is outside queue .* from 0 to 7"):
                await member.seek(QUEUES[0], 9)
            with pytest.raises(UsageError, match="not among the 1 queues"):
                await member.seek(QUEUES[1], 0)
            await member.assign([QUEUES[1]])
            assert member.assignment == [QUEUES[1]]

    play(scenario)


def test_paused_queues_give_nothing_until_they_are_resumed():
    async def scenario(peer):
        peer.store("T", 0, b"x")
        async with consumer(peer, {"T": "*"}) as member:
            member.pause([QUEUES[0]])
            assert await member.poll(20) == []
            waiting = asyncio.create_task(member.poll(10_000))
            await asyncio.sleep(0)
            member.resume([QUEUES[0]])
            assert [message.body for message in await waiting] == [b"x"]

    play(scenario)


def test_members_share_queues_and_subscribers_cannot_assign():
    async def scenario(peer):
        async with consumer(peer, {"T": "*"}) as first, consumer(peer, {"T": "*"}) as second:
            await eventually(lambda: len(first.assignment) == len(second.assignment) == 1)
            with pytest.raises(UsageError, match="come from its subscriptions"):
                await first.assign(QUEUES)

    play(scenario)


def test_an_offset_that_does_not_exist_is_corrected():
    async def scenario(peer):
        peer.min_offset = 100
        peer.offsets["CG", "T", 0] = 5
        peer.store("T", 0, b"x")
        async with consumer(peer, {"T": "*"}) as member:
            assert [message.queue_offset for message in await poll_all(member, 1)] == [100]

    play(scenario)
