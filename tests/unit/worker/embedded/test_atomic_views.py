"""Atomic transactions as the window sees them, from a running broker."""

import asyncio

import pytest

from broker_core.client.atomic_producer import AbortNeededError, AtomicProducer
from broker_core.client.message import Message
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.errors import UsageError
from broker_core.protocol.json_body import MessageQueue
from broker_core.worker.channel.codec import decode_worker_message, encode_message
from broker_core.worker.channel.schema import Reply
from broker_core.worker.embedded.atomic_views import atomic_totals, list_atomic
from broker_core.worker.questions.transactions import ListAtomic
from tests.support.broker_bench import SMALL_FILES


def test_what_is_open_is_shown_counted_and_aborted(tmp_path):
    async def scenario():
        store = StoreConfig(root=tmp_path / "store", **SMALL_FILES)
        broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store, atomic_transactions=True))
        await broker.start()
        try:
            async with (
                AtomicProducer(broker.name_server_address, "shop") as producer,
                AtomicProducer(broker.name_server_address, "idle"),
            ):
                await producer.create_topic("orders", queues=2)
                producer.begin()
                for _ in range(3):
                    await producer.send(Message("orders", b"x"), queue=MessageQueue("orders", "broker-a", 1))
                page = list_atomic(ListAtomic(0, 10), broker.atomic, broker.store)
                assert decode_worker_message(encode_message(Reply(1, page))[4:]) == Reply(1, page)
                assert (page.total, page.name, page.state) == (2, ["shop", "idle"], ["open", "empty"])
                assert (page.queue_row, page.queue_topic, page.queue_id) == ([0], ["orders"], [1])
                assert (page.queue_first_offset, page.queue_held_back) == ([0], [3])
                totals = atomic_totals(broker.atomic, broker.store)
                assert (totals["atomic_open"], totals["atomic_held_back"]) == (1, 3)
                assert totals["atomic_oldest_ms"] == page.start_ms[0]
                await broker.atomic.abort_by_hand("shop")
                with pytest.raises(AbortNeededError):
                    await producer.commit()
                await producer.abort()
                totals = atomic_totals(broker.atomic, broker.store)
                assert (totals["atomic_open"], totals["atomic_aborted"], totals["atomic_oldest_ms"]) == (0, 1, -1)
                with pytest.raises(UsageError, match="no open transaction"):
                    await broker.atomic.abort_by_hand("shop")
                with pytest.raises(UsageError, match="1 to 1,000"):
                    list_atomic(ListAtomic(0, 0), broker.atomic, broker.store)
        finally:
            await broker.stop()

    asyncio.run(scenario())
    assert "atomic.abort" in (tmp_path / "store" / "config" / "orbitActions.log").read_text()
