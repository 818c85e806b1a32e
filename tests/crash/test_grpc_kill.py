"""kill -9 of a broker while a gRPC client sends, receives, acks and commits (docs/spec/grpc.md §11)."""

import asyncio
import time

import grpc
import pytest

from broker_core.client.admin import AdminClient
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.broker_process import running_broker
from tests.support.grpc_stub import RawClient, message, resource

pytestmark = pytest.mark.crash

TOPIC, GROUP, BATCH = "Killed", "KilledGroup", 8


class Account:
    """What the broker has confirmed."""

    def __init__(self):
        self.stored, self.acked, self.asked, self.received = set(), set(), set(), []


def work(client, account, number):
    """One round: send, commit a transaction, receive, ack half of it."""
    bodies = [b"%d-%d" % (number, place) for place in range(BATCH)]
    if client.send(*(message(TOPIC, body) for body in bodies)).status.code == pb.OK:
        account.stored.update(bodies)
    half = client.send(message(TOPIC, b"tx-%d" % number, message_type=pb.TRANSACTION)).entries[0]
    end = pb.EndTransactionRequest(
        topic=resource(TOPIC), message_id=half.message_id, transaction_id=half.transaction_id, resolution=pb.COMMIT
    )
    if client.call("EndTransaction", end).status.code == pb.OK:
        account.stored.add(b"tx-%d" % number)
    for found in client.receive(GROUP, TOPIC, count=BATCH).messages:
        ack(client, account, found)


def ack(client, account, found):
    system = found.system_properties
    account.received.append(found.body)
    account.asked.add(found.body)
    entry = pb.AckMessageEntry(message_id=system.message_id, receipt_handle=system.receipt_handle)
    request = pb.AckMessageRequest(group=resource(GROUP), topic=resource(TOPIC), entries=[entry])
    if client.call("AckMessage", request).status.code == pb.OK:
        account.acked.add(found.body)


@pytest.mark.parametrize("seconds", [0.5, 2.0])
def test_nothing_confirmed_is_lost_and_nothing_acked_comes_again(tmp_path, seconds):
    store, account = tmp_path / "store", Account()
    with running_broker(store) as running, RawClient(port_of(running)) as client:
        create(running)
        client.announce_consumer(GROUP, TOPIC)
        deadline, number = time.monotonic() + seconds, 0
        while time.monotonic() < deadline or not account.acked:
            work(client, account, number)
            number += 1
        running.kill()
    acked_before, asked_before = set(account.acked), set(account.asked)
    with running_broker(store) as running, RawClient(port_of(running)) as client:
        client.announce_consumer(GROUP, TOPIC)
        account.received.clear()
        deadline = time.monotonic() + 90
        # What was received and not confirmed is invisible for 15 s.
        while not account.stored <= account.acked:
            assert time.monotonic() < deadline, f"{len(account.stored - account.acked)} confirmed messages never came"
            try:
                for found in client.receive(GROUP, TOPIC, count=32).messages:
                    ack(client, account, found)
            except grpc.RpcError as error:
                raise AssertionError(f"the broker refuses: {error}") from error
    again = acked_before & set(account.received)
    assert not again, f"{len(again)} of {len(acked_before)} acked messages came again"
    assert asked_before <= account.asked


def port_of(running):
    return int(running.grpc.rpartition(":")[2])


def create(running):
    async def make():
        async with AdminClient(running.name_server) as admin:
            await admin.create_topic(TOPIC, queues=4)

    asyncio.run(make())
