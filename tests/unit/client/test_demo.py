import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from broker_core.client.demo import GROUPS, batches, play
from broker_core.client.demo_flows import LEFT_OPEN
from broker_core.client.demo_shop import INVENTORY, TOPIC_QUEUES, Shop
from broker_core.errors import NetworkError, UsageError
from broker_core.protocol.codes import RequestCode
from tests.support.remoting_peer import Peer, eventually


def test_the_shop_sends_consumes_and_ends_after_its_time():
    async def run():
        lines = []
        async with Peer(topics={}) as peer:
            totals = await play(peer.address, rate=400, seconds=1.2, say=lines.append)
            assert {topic: peer.topics[topic] for topic in TOPIC_QUEUES} == TOPIC_QUEUES
            stored = sum(len(records) for records in peer.records.values())
            assert totals.sent == stored
            assert 0 < stored <= 480 + LEFT_OPEN
            assert totals.failed == 0
            assert totals.consumed["order-service"] > 0
            assert set(peer.members) == {group.name for group in GROUPS}
            assert not any(peer.members.values())
        assert "sent" in lines[0]
        assert "(done)" in lines[-1]

    asyncio.run(run())


def test_what_the_stock_worker_cannot_reserve_goes_back_and_dies_at_the_third_time():
    async def run():
        async with Peer(topics={}) as peer:
            playing = asyncio.create_task(play(peer.address, rate=5_000, say=[].append))
            await eventually(lambda: peer.of_code(RequestCode.CONSUMER_SEND_MSG_BACK))
            playing.cancel()
            with suppress(asyncio.CancelledError):
                await playing
            sent_back = peer.of_code(RequestCode.CONSUMER_SEND_MSG_BACK)
            assert {command.ext_fields["group"] for command in sent_back} == {"stock-worker"}
            assert {command.ext_fields["maxReconsumeTimes"] for command in sent_back} == {"2"}

    asyncio.run(run())


def test_topics_that_exist_are_left_as_they_are():
    async def run():
        async with Peer(topics={"orders": 2}) as peer:
            await play(peer.address, rate=1, seconds=0.1, say=[].append)
            created = {command.ext_fields["topic"] for command in peer.of_code(RequestCode.UPDATE_AND_CREATE_TOPIC)}
            assert created == TOPIC_QUEUES.keys() - {"orders"}

    asyncio.run(run())


def test_failures_are_counted_and_said():
    async def run():
        lines = []
        async with Peer(topics={}) as peer:
            for code in (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE):
                peer.script[code] = [lambda _, command: command.reply(13, "too big for us")] * 10_000
            totals = await play(peer.address, rate=200, seconds=0.4, say=lines.append)
        assert totals.sent == 0
        assert totals.failed > 0
        assert "too big for us" in lines[-1]

    asyncio.run(run())


def test_articles_travel_alone_and_no_batch_mixes_topics():
    messages = Shop(1, lambda: 5).next_messages(2_000)
    parts = batches(messages)
    assert sorted(id(message) for part in parts for message in part) == sorted(map(id, messages))
    for part in parts:
        assert len({message.topic for message in part}) == 1
        assert len(part) == 1 or sum(len(message.body) for message in part) < 64 * 4096
        if part[0].topic == INVENTORY:
            assert len({message.properties["sku"] for message in part}) == 1


@pytest.mark.parametrize(("rate", "seconds"), [(0, 1), (20_001, 1), (-5, 1), (1, 0)])
def test_what_cannot_be_played_is_refused(rate, seconds):
    with pytest.raises(UsageError, match="cannot be played"):
        asyncio.run(play("127.0.0.1:1", rate=rate, seconds=seconds))


def test_no_name_server_is_said_at_once():
    with pytest.raises(NetworkError, match=r"cannot connect to 127\.0\.0\.1:1 "):
        asyncio.run(play("127.0.0.1:1", seconds=1))


CHILD = """
import asyncio, sys
from broker_core.client.demo import play
asyncio.run(play(sys.argv[1], rate=20, parent_pipe=True))
"""


@pytest.mark.parametrize("end", ["signal", "pipe"])
def test_a_demo_process_ends_by_signal_and_with_its_parent(end):
    async def run():
        async with Peer(topics={}) as peer:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-c", CHILD, peer.address, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ}
            )
            await eventually(lambda: peer.of_code(RequestCode.SEND_MESSAGE_V2), seconds=30)
            if end == "signal":
                child.send_signal(signal.SIGTERM)
            else:
                child.stdin.close()
            output, _ = await asyncio.wait_for(child.communicate(), 60)
            assert child.returncode == 0
            assert b"(done)" in output
            assert not any(peer.members.values())

    asyncio.run(run())
