"""Messages in flight of consumers of both protocols, of a running broker."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.engine.processors.pop.in_flight import QueueInFlight
from broker_core.errors import UsageError
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.worker.embedded.in_flight import QUEUES_MAX, in_flight_handlers, in_flight_page
from broker_core.worker.questions.in_flight import ListInFlight
from tests.support.broker_thread import broker_thread
from tests.support.grpc_stub import RawClient, message, resource
from tests.support.pop_consumer import PopConsumer


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    root = tmp_path_factory.mktemp("in-flight")
    with broker_thread(root, BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=root))) as running:
        yield running


def listed(running, group=""):
    (handler,) = in_flight_handlers(running.broker)
    return running.thread.call(handler.answer(ListInFlight(group)))


def test_pops_of_remoting_are_listed_until_they_are_acknowledged(running):
    running.create("Remoting", 1)
    running.send("Remoting", 0, [b"one", b"two"])

    async def receive():
        async with PopConsumer(running.broker.name_server_address, "RemotingGroup") as consumer:
            found = await consumer.receive("Remoting", invisible_ms=40_000)
            both = await handler.answer(ListInFlight("RemotingGroup"))
            await consumer.ack(found[0])
            return found, both, await handler.answer(ListInFlight("RemotingGroup"))

    (handler,) = in_flight_handlers(running.broker)
    found, both, one = running.thread.call(receive())
    assert (both.group, both.topic, both.queue_id, both.messages) == (["RemotingGroup"], ["Remoting"], [0], [2])
    assert both.next_due_ms == [found[0].handle.pop_time_ms + 40_000]
    assert both.oldest_ms == [found[0].handle.pop_time_ms]
    assert one.messages == [1]


def test_a_delivery_of_grpc_is_listed_with_its_due_time(running):
    running.create("Calls", 1)
    with RawClient(running.broker.grpc.server.port) as client:
        client.announce_consumer("CallsGroup", "Calls")
        client.send(message("Calls"))
        (received,) = client.receive("CallsGroup", "Calls").messages
        page = listed(running, "CallsGroup")
        assert (page.topic, page.messages, page.in_order) == (["Calls"], [1], [False])
        assert page.next_due_ms[0] - page.oldest_ms[0] == 15_000
        entry = pb.AckMessageEntry(
            message_id=received.system_properties.message_id, receipt_handle=received.system_properties.receipt_handle
        )
        acked = pb.AckMessageRequest(group=resource("CallsGroup"), topic=resource("Calls"), entries=[entry])
        client.call("AckMessage", acked)
    assert listed(running, "CallsGroup").messages == []


def test_a_long_answer_says_what_it_leaves_out():
    found = {QueueOf("T", "g", number): QueueInFlight(1, 1_000 - number, 0) for number in range(QUEUES_MAX + 5)}
    page = in_flight_page(found, 7)
    assert (len(page.topic), page.left_out, page.queue_id[0]) == (QUEUES_MAX, 5, QUEUES_MAX + 4)


def test_a_store_without_a_broker_says_so(engine):
    (handler,) = in_flight_handlers(engine)
    with pytest.raises(UsageError, match="no broker runs here"):
        asyncio.run(handler.answer(ListInFlight()))
