"""kill -9 of a broker while a gRPC client sends, receives, acks and commits (docs/spec/grpc.md §11)."""

import asyncio
import contextlib
import threading
import time

import grpc
import pytest

from broker_core.client.admin import AdminClient
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.broker_process import running_broker
from tests.support.grpc_stub import RawClient, message, resource
from tests.support.waiting import wait_until

pytestmark = pytest.mark.crash

TOPIC, GROUP, BATCH = "Killed", "KilledGroup", 8
QUIET_RECEIVES = 4
"""Receives of five seconds without a message, after which what was invisible must have come."""


class Account:
    """What clients have asked for, and what the broker has confirmed, of all clients together."""

    def __init__(self):
        self.stored, self.halves, self.ended = set(), {}, set()
        self.acked, self.asked, self.received = set(), set(), []
        self.calls = 0


class Worker(threading.Thread):
    """A client that sends, commits, receives and acks until the broker is gone."""

    def __init__(self, port, account, name):
        super().__init__(name=f"client {name}", daemon=True)
        self.account = account
        self.client = RawClient(port)
        self.prefix = name

    def run(self):
        number = 0
        with self.client, contextlib.suppress(grpc.RpcError):
            self.client.announce_consumer(GROUP, TOPIC)
            while True:
                work(self.client, self.account, b"%s-%d" % (self.prefix, number))
                number += 1


def work(client, account, name):
    """One round: send, commit a transaction, receive, ack what came."""
    bodies = [b"%s-%d" % (name, place) for place in range(BATCH)]
    if client.send(*(message(TOPIC, body) for body in bodies)).status.code == pb.OK:
        account.stored.update(bodies)
    half = client.send(message(TOPIC, b"tx-" + name, message_type=pb.TRANSACTION)).entries[0]
    account.halves[b"tx-" + name] = half
    commit(client, account, b"tx-" + name)
    for found in client.receive(GROUP, TOPIC, count=BATCH).messages:
        ack(client, account, found)
    account.calls += 1


def commit(client, account, body):
    half = account.halves[body]
    end = pb.EndTransactionRequest(
        topic=resource(TOPIC), message_id=half.message_id, transaction_id=half.transaction_id, resolution=pb.COMMIT
    )
    assert client.call("EndTransaction", end).status.code == pb.OK
    account.stored.add(body)
    account.ended.add(body)


def ack(client, account, found):
    system = found.system_properties
    account.received.append(found.body)
    account.asked.add(found.body)
    entry = pb.AckMessageEntry(message_id=system.message_id, receipt_handle=system.receipt_handle)
    request = pb.AckMessageRequest(group=resource(GROUP), topic=resource(TOPIC), entries=[entry])
    if client.call("AckMessage", request).status.code == pb.OK:
        account.acked.add(found.body)


@pytest.mark.parametrize(("rounds", "in_order"), [(2, False), (12, False), (40, False), (12, True), (40, True)])
def test_nothing_confirmed_is_lost_and_nothing_acked_comes_again(tmp_path, rounds, in_order):
    """The broker is killed while sends, commits, receives and acks of four clients are on their way."""
    store, account = tmp_path / "store", Account()
    with running_broker(store) as running:
        create(running, in_order=in_order)
        workers = [Worker(port_of(running), account, b"%d" % number) for number in range(4)]
        for worker in workers:
            worker.start()
        wait_until(lambda: account.calls >= rounds and account.acked, "the clients do not get on", deadline_s=60)
        running.kill()
        for worker in workers:
            worker.join(60)
            assert not worker.is_alive()
    acked_before, unanswered = set(account.acked), account.asked - account.acked
    assert len(unanswered) <= len(workers), "each waits for one answer"
    with running_broker(store) as running, RawClient(port_of(running)) as client:
        client.announce_consumer(GROUP, TOPIC)
        account.received.clear()
        for body in account.halves.keys() - account.ended:
            commit(client, account, body)  # whether the commit of before was carried out is not known
        receive_all(client, account, unanswered)
        assert client.receive(GROUP, TOPIC, poll=5).messages == []
    again = acked_before & set(account.received)
    assert not again, f"{len(again)} of {len(acked_before)} acked messages came again"
    twice = [body for body in account.halves if account.received.count(body) > 1]
    assert not twice, f"{len(twice)} of {len(account.halves)} transactions came twice"


def receive_all(client, account, unanswered):
    """Receive and ack until all came; an ack without an answer may have been carried out, then its message does not come."""
    # What was received and not confirmed is invisible for 15 s.
    deadline, quiet = time.monotonic() + 90, 0
    while not account.stored - unanswered <= account.acked or quiet < QUIET_RECEIVES:
        missing = account.stored - account.acked - unanswered
        assert time.monotonic() < deadline, f"{len(missing)} confirmed messages never came"
        found = client.receive(GROUP, TOPIC, count=32).messages
        quiet = 0 if found else quiet + 1
        for one in found:
            ack(client, account, one)


def port_of(running):
    return int(running.grpc.rpartition(":")[2])


def create(running, *, in_order):
    async def make():
        async with AdminClient(running.name_server) as admin:
            await admin.create_topic(TOPIC, queues=4)
            await admin.set_group(GROUP, consumeMessageOrderly=in_order)

    asyncio.run(make())
