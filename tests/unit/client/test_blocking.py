"""The producer without asyncio."""

import asyncio
import threading

import pytest

from broker_core.client.blocking import SyncProducer
from broker_core.client.message import Message
from broker_core.errors import NetworkError, UsageError
from tests.support.remoting_peer import Peer


def with_peer(work):
    """Run ``work`` on a thread while a peer serves."""

    async def run():
        async with Peer(topics={"T": 2}) as peer:
            await asyncio.to_thread(work, peer)

    asyncio.run(run())


def threads():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("producer ")]


def test_every_call_returns_when_it_is_done():
    def work(peer):
        with SyncProducer(peer.address, "sync") as producer:
            assert threads() == ["producer sync"]
            assert len(producer.queues("T")) == 2
            first = producer.send(Message("T", b"one"), sharding_key="k")
            assert producer.send(Message("T", b"two"), sharding_key="k").queue == first.queue
            producer.send_batch([Message("T", b"three"), Message("T", b"four")], queue=first.queue)
            producer.send_oneway(Message("T", b"five"), queue=first.queue)
            assert producer.send(Message("T", b"six"), queue=first.queue).queue_offset == 5
        assert threads() == []
        producer.close()
        with pytest.raises(UsageError, match="the client is closed"):
            producer.send(Message("T", b"x"))

    with_peer(work)


def test_a_name_server_that_is_not_there_leaves_no_thread():
    with pytest.raises(NetworkError):
        SyncProducer("127.0.0.1:1").start()
    with pytest.raises(UsageError):
        SyncProducer("")
    assert threads() == []
