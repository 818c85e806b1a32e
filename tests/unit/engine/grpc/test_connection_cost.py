"""What one connection of gRPC costs, whatever it does: a mebibyte at most, beside one message or answer."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from broker_core.engine.processors.pop.queue_reader import ANSWER_BYTES_MAX
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.grpc.framing import PREFIX
from broker_core.protocol.http2.connection import Http2Limits
from broker_core.protocol.http2.frames import WINDOW_MAX
from tests.support.grpc_broker import GrpcBroker, grpc_broker
from tests.support.grpc_stub import RawClient, message, receive_request, resource
from tests.support.http2_peer import Http2Peer
from tests.support.waiting import wait_until

MIB = 1 << 20
CALLS = 1_000
BODY_BYTES = 600_000
Attack = Callable[[GrpcBroker, Http2Peer], None]
PRODUCT = str(Path(__file__).resolve().parents[4] / "broker_core" / "*")


@pytest.fixture(scope="module")
def broker(tmp_path_factory) -> Iterator[GrpcBroker]:
    with grpc_broker(tmp_path_factory.mktemp("store")) as running:
        yield running


def cost_of(broker: GrpcBroker, attack: Attack, *, window: int) -> int:
    """Bytes that a connection takes after an attack, for as long as it is open."""
    with closing(Http2Peer(broker.port)) as warm:  # what the first call loads is no cost of a connection
        warm.call("Heartbeat", pb.HeartbeatRequest(), metadata())
        assert warm.answers(1)
    with closing(Http2Peer(broker.port, window=window)) as peer:
        peer.acknowledge()
        gc.collect()
        tracemalloc.start()
        try:
            before = _product_bytes()
            attack(broker, peer)
            if not window:  # otherwise the answer comes behind what is not to be read
                assert peer.answers(2), "all of it was served"
            gc.collect()
            return _product_bytes() - before
        finally:
            tracemalloc.stop()


def _product_bytes() -> int:
    found = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, PRODUCT)])
    return sum(one.size for one in found.statistics("filename"))


def metadata(client_id: str = "hostile", **more: str) -> dict[str, str]:
    return {"x-mq-client-id": client_id, "x-mq-language": "JAVA", "x-mq-client-version": "5.2.0"} | more


def waiting_receives(broker: GrpcBroker, peer: Http2Peer, calls: int = CALLS, *, is_signed: bool = True) -> None:
    for number in range(calls):
        request = receive_request("Costs", "Costs", poll=20, attempt_id=f"{number:036}")
        text = f"{number:036}"
        own = {"x-mq-date-time": text, "authorization": text} if is_signed else {"x-mq-request-id": text}
        peer.call("ReceiveMessage", request, metadata(**own))
    wait_until(lambda: broker.held() >= min(calls, 100))


def receives_with_long_filters(broker: GrpcBroker, peer: Http2Peer) -> None:
    for number in range(CALLS):
        wanted = pb.FilterExpression(type=pb.TAG, expression=f"{number:04}" * 250)
        peer.call("ReceiveMessage", receive_request("Costs", "Costs", poll=20, filter_expression=wanted), metadata())
    wait_until(lambda: broker.held() > 0)


def half_messages(_broker: GrpcBroker, peer: Http2Peer) -> None:
    for _ in range(CALLS):
        peer.begin("SendMessage", PREFIX.pack(0, MIB) + bytes(2_000), metadata(), is_end=False)


def small_messages_without_end(_broker: GrpcBroker, peer: Http2Peer) -> None:
    for _ in range(CALLS):
        peer.begin("SendMessage", PREFIX.pack(0, 2_040) + bytes(2_000), metadata(), is_end=False)


def long_headers(_broker: GrpcBroker, peer: Http2Peer) -> None:
    for number in range(CALLS):
        peer.begin("SendMessage", b"", metadata(authorization=f"{number}" * 2_000), is_end=False)


def unread_routes(_broker: GrpcBroker, peer: Http2Peer) -> None:
    for _ in range(CALLS):
        peer.call("QueryRoute", pb.QueryRouteRequest(topic=resource("ManyQueues")), metadata())


def unread_refusals(_broker: GrpcBroker, peer: Http2Peer) -> None:
    for _ in range(CALLS):
        peer.call("AckMessage", pb.AckMessageRequest(topic=resource("x" * 200), group=resource("g")), metadata())


def settings(_broker: GrpcBroker, peer: Http2Peer) -> None:
    for number in range(CALLS):
        topics = [resource(f"Costs{number}-{place}") for place in range(50)]
        command = pb.TelemetryCommand(settings=pb.Settings(client_type=pb.PRODUCER, publishing=pb.Publishing(topics=topics)))
        data = command.SerializeToString()
        peer.begin("Telemetry", PREFIX.pack(0, len(data)) + data, metadata(f"hostile-{number}"), is_end=False)


ATTACKS = (
    waiting_receives, receives_with_long_filters, half_messages, small_messages_without_end, long_headers, unread_routes,
    unread_refusals, settings,
)  # fmt: skip


@pytest.fixture(scope="module")
def client(broker) -> Iterator[RawClient]:
    with RawClient(broker.port, "hostile") as found:
        broker.group(found, "Costs", broker.topic("Costs", 1))
        broker.topic("ManyQueues", 64)
        yield found


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
@pytest.mark.usefixtures("client")
def test_a_connection_costs_a_mebibyte_at_most(broker, attack):
    assert cost_of(broker, attack, window=0) < MIB
    wait_until(lambda: not broker.held())


@pytest.mark.usefixtures("client")
def test_a_receive_that_waits_takes_what_is_counted_for_it(broker):
    calls = 100
    cost = cost_of(broker, partial(waiting_receives, calls=calls, is_signed=False), window=0)
    assert cost / calls < Http2Limits().stream_bytes
    wait_until(lambda: not broker.held())


def test_of_answers_that_are_not_read_one_is_kept(broker, client):
    topic = broker.topic("UnreadBatch", 4)
    for _ in range(CALLS // 10):
        assert client.send(message(topic, body=bytes(BODY_BYTES // 4))).status.code == pb.OK

    def attack(_broker: GrpcBroker, peer: Http2Peer) -> None:
        for _ in range(100):
            peer.call("ReceiveMessage", receive_request("Costs", topic, poll=20), metadata())

    assert cost_of(broker, attack, window=0) < MIB + 2 * ANSWER_BYTES_MAX, "as stored, and as it is sent"


@pytest.mark.parametrize("window", [0, WINDOW_MAX], ids=["closed", "open"])
def test_of_messages_that_are_not_read_one_is_kept(broker, client, window):
    topics = [broker.topic(f"Unread{window}-{number}", 1) for number in range(100)]

    def attack(broker: GrpcBroker, peer: Http2Peer) -> None:
        for topic in topics:
            peer.call("ReceiveMessage", receive_request("Costs", topic, poll=20), metadata())
        wait_until(lambda: broker.held() == len(topics))
        for topic in topics:
            assert client.send(message(topic, body=bytes(BODY_BYTES))).status.code == pb.OK

    assert cost_of(broker, attack, window=window) < MIB + 3 * BODY_BYTES
