"""One store in turn with our broker and a real RocketMQ with its proxy, by gRPC: no message is lost, no acked one returns."""

import asyncio
import contextlib
import time

import pytest

from broker_core.client.admin import AdminClient
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.broker_process import running_broker
from tests.support.grpc_broker import ack
from tests.support.grpc_stub import RawClient, message, resource
from tests.support.real_peer import running_peer
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(600)]

VERSION = "5.3.3"
PLAIN, FIFO, DELAY, HALF = "hand-plain", "hand-fifo", "hand-delay", "hand-half"
TYPES = {PLAIN: "NORMAL", FIFO: "FIFO", DELAY: "DELAY", HALF: "TRANSACTION"}
SETTINGS = {
    "transactionCheckInterval": "5000",
    "transactionTimeOut": "3000",
    "transactionCheckMax": "200",  # a real broker checks from its start on, and asks a producer only once its proxy names one
    "mappedFileSizeCommitLog": "67108864",
    "reviveQueueNum": "1",
}
DUE_SECONDS = 20
WAIT_SECONDS = 120
SILENT_SECONDS = 5
"""A topic from which nothing came for so long has nothing else."""


@contextlib.contextmanager
def ours(folder):
    options = [option for key, value in SETTINGS.items() for option in ("--set", f"{key}={value}")]
    with running_broker(folder / "store", *options) as broker:
        yield broker.name_server, int(broker.grpc.rpartition(":")[2])


@contextlib.contextmanager
def theirs(folder):
    with running_peer(VERSION, folder, **SETTINGS) as peer:
        peer.start_proxy()
        yield peer.name_server, peer.grpc_port


def make_topics(name_server):
    async def make():
        async with AdminClient(name_server) as admin:
            for address in (await admin.master_addresses()).values():
                for topic, kind in TYPES.items():
                    config = {"readQueueNums": 1, "writeQueueNums": 1, "attributes": {"message.type": kind}}
                    await admin.put_topic_config(address, topic, config)

    asyncio.run(make())


def group_of(topic):
    return f"group-{topic}"


class Side:
    """A client of one broker, and what it has received."""

    def __init__(self, port):
        self.client = RawClient(port)
        wait_until(lambda: all(self.is_routed(topic) for topic in TYPES))

    def is_routed(self, topic):
        route = self.client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(topic)))
        return route.status.code == pb.OK

    def receive(self, topic, bodies):
        """Receive until all of these bodies came, and nothing after them; acks every message. Returns all bodies in order."""
        found, end = [], time.monotonic() + WAIT_SECONDS
        self.client.announce_consumer(group_of(topic), topic)
        while True:
            assert time.monotonic() < end, f"{bodies - set(found)} did not come from {topic}, or messages do not end: {found}"
            messages = self.client.receive(group_of(topic), topic, count=16, poll=SILENT_SECONDS).messages
            if not messages and bodies <= set(found):
                return found
            for one in messages:
                assert ack(self.client, group_of(topic), topic, one).status.code == pb.OK
                found.append(one.body)

    def send(self, topic, body, **system):
        response = self.client.send(message(topic, body, **system))
        assert response.status.code == pb.OK, response
        return response.entries[0]

    def end(self, sent, resolution, source=pb.SOURCE_CLIENT):
        request = pb.EndTransactionRequest(
            topic=resource(HALF),
            message_id=sent.message_id,
            transaction_id=sent.transaction_id,
            resolution=resolution,
            source=source,
        )
        assert self.client.call("EndTransaction", request).status.code == pb.OK

    def leave(self, name):
        """Leave work of each kind to the other broker."""
        for body in (b"acked", b"held"):
            self.send(PLAIN, name + body)
        self.client.announce_consumer(group_of(PLAIN), PLAIN)
        end, seen = time.monotonic() + WAIT_SECONDS, set()
        while seen != {name + b"acked", name + b"held"}:
            assert time.monotonic() < end
            for one in self.client.receive(group_of(PLAIN), PLAIN, count=16).messages:
                seen.add(one.body)
                if one.body == name + b"acked":
                    assert ack(self.client, group_of(PLAIN), PLAIN, one).status.code == pb.OK
        for number in range(3):
            self.send(FIFO, name + b"%d" % number, message_group="g")
        due = message(DELAY, name + b"due")
        due.system_properties.delivery_timestamp.FromSeconds(int(time.time()) + DUE_SECONDS)
        assert self.client.send(due).status.code == pb.OK
        self.end(self.send(HALF, name + b"committed", message_type=pb.TRANSACTION), pb.COMMIT)
        self.end(self.send(HALF, name + b"rolled back", message_type=pb.TRANSACTION), pb.ROLLBACK)
        self.send(HALF, name + b"orphan", message_type=pb.TRANSACTION)

    def take_over(self, name):
        """Take what the other broker left."""
        assert self.receive(PLAIN, {name + b"held"}) == [name + b"held"]
        assert self.receive(FIFO, {name + b"2"}) == [name + b"%d" % number for number in range(3)]
        assert self.receive(DELAY, {name + b"due"}) == [name + b"due"]
        with RawClient(self.client.port) as producer:
            stream = producer.telemetry()
            stream.ask(pb.Settings(client_type=pb.PRODUCER, publishing=pb.Publishing(topics=[resource(HALF)])))
            while True:
                recover = stream.next().recover_orphaned_transaction_command
                if recover.message.body == name + b"orphan":
                    break
            sent = pb.SendResultEntry(
                message_id=recover.message.system_properties.message_id, transaction_id=recover.transaction_id
            )
            self.end(sent, pb.COMMIT, pb.SOURCE_SERVER_CHECK)
        decided = [name + b"committed", name + b"orphan"]
        assert sorted(self.receive(HALF, set(decided))) == decided

    def close(self):
        self.client.close()


def test_each_broker_goes_on_with_what_the_other_left(tmp_path):
    turns = [(ours, None, b"ours "), (theirs, b"ours ", b"theirs "), (ours, b"theirs ", None)]
    for start, taken, left in turns:
        with start(tmp_path) as (name_server, port):
            if taken is None:
                make_topics(name_server)
            with contextlib.closing(Side(port)) as side:
                if taken is not None:
                    side.take_over(taken)
                if left is not None:
                    side.leave(left)
