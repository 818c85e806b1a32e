"""Clients, their streams and connections: lines of docs/spec/grpc.md §11 (numbers in brackets) beside test_calls.py."""

import asyncio
import contextlib
import threading

import grpc
import psutil
import pytest

from broker_core.client.admin import AdminClient
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.json_body import parse_object
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.transport.client import ConnectionPool
from tests.support.broker_process import running_broker
from tests.support.grpc_broker import grpc_broker
from tests.support.grpc_stub import RawClient, message, receive_request, resource
from tests.support.http2_peer import Http2Peer
from tests.support.waiting import wait_until

CLIENTS, RECEIVES = 200, 4
MIB = 1 << 20


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with grpc_broker(tmp_path_factory.mktemp("grpc"), transaction_check_interval_ms=300) as broker:
        yield broker


@pytest.fixture
def client(broker):
    with RawClient(broker.port) as client:
        yield client


def code_of(response):
    return pb.Code.Name(response.status.code)


# ---- commands ----


class Answerer(threading.Thread):
    """A client that answers the commands on its stream, until its client closes."""

    def __init__(self, stream, answer):
        super().__init__(daemon=True)
        self._stream, self._answer = stream, answer
        self.commands = []

    def run(self):
        with contextlib.suppress(grpc.RpcError, ValueError):  # the stream ends with its client
            for command in self._stream.rest():
                self.commands.append(command.WhichOneof("command"))
                reply = self._answer(command)
                if reply is not None:
                    self._stream.put(reply)


def answering(client, answer):
    answerer = Answerer(client._streams[-1], answer)
    answerer.start()
    return answerer


def stack_of(command):
    trace = pb.ThreadStackTrace(nonce=command.print_thread_stack_trace_command.nonce, thread_stack_trace="main at A.java")
    return pb.TelemetryCommand(status=pb.Status(code=pb.OK), thread_stack_trace=trace)


def verified(code):
    def answer(command):
        result = pb.VerifyMessageResult(nonce=command.verify_message_command.nonce)
        return pb.TelemetryCommand(status=pb.Status(code=code), verify_message_result=result)

    return answer


def asked(broker, code, **fields):
    """The answer to a question about a client, which the broker passes on."""

    async def ask():
        pool = ConnectionPool()
        try:
            address = broker.running.broker.broker_address
            return await pool.request(address, RemotingCommand(code, fields), 30_000)
        finally:
            await pool.close()

    return broker.running.thread.call(ask())


def test_the_stacks_of_a_client(broker, client):  # [50]
    group = broker.group(client, "StacksGroup", broker.topic("Stacks"))
    answering(client, stack_of)
    fields = {"consumerGroup": group, "clientId": client.client_id}
    answer = asked(broker, RequestCode.GET_CONSUMER_RUNNING_INFO, jstackEnable="true", **fields)
    assert (answer.code, parse_object(answer.body)["jstack"]) == (ResponseCode.SUCCESS, "main at A.java")
    # The broker knows the rest itself.
    answer = asked(broker, RequestCode.GET_CONSUMER_RUNNING_INFO, jstackEnable="false", **fields)
    topics = [item["topic"] for item in parse_object(answer.body)["subscriptionSet"]]
    assert (answer.code, topics) == (ResponseCode.SUCCESS, ["Stacks"])


@pytest.mark.parametrize(
    ("code", "result"),
    [(pb.OK, "CR_SUCCESS"), (pb.FAILED_TO_CONSUME_MESSAGE, "CR_LATER"), (pb.MESSAGE_CORRUPTED, "CR_RETURN_NULL")],
)
def test_a_listener_tries_a_message(broker, client, code, result):  # [50]
    topic = broker.topic("Tried")
    group = broker.group(client, f"TriedGroup{code}", topic, kind=pb.PUSH_CONSUMER)
    answerer = answering(client, verified(code))
    sent = message(topic, b"try me")
    client.send(sent)

    async def place():
        async with AdminClient(broker.name_server) as admin:
            found = await admin.messages_by_id(topic, sent.system_properties.message_id)
            return [offset_message_id(one.store_host, one.physical_offset) for one in found]

    wait_until(lambda: broker.running.thread.call(place()))
    (message_id,) = broker.running.thread.call(place())

    async def try_it():
        async with AdminClient(broker.name_server) as admin:
            return await admin.consume_directly(group, client.client_id, message_id)

    found = broker.running.thread.call(try_it())
    assert (found.name, found.remark) == (result, "from gRPC client")
    assert answerer.commands == ["verify_message_command"]


def test_a_client_that_does_not_answer(broker, client):  # [50]
    group = broker.group(client, "MuteGroup", broker.topic("Mute"))
    fields = {"consumerGroup": group, "clientId": client.client_id, "jstackEnable": "true"}
    answer = asked(broker, RequestCode.GET_CONSUMER_RUNNING_INFO, **fields)
    assert (answer.code, answer.remark.partition(":")[0]) == (ResponseCode.SYSTEM_BUSY, "call remote timeout")


def test_commands_go_to_the_newer_of_two_streams(broker, client):  # [20]
    group = broker.group(client, "TwoGroup", broker.topic("Two"))
    older = answering(client, stack_of)
    broker.group(client, "TwoGroup", "Two")
    newer = answering(client, stack_of)
    fields = {"consumerGroup": group, "clientId": client.client_id, "jstackEnable": "true"}
    assert asked(broker, RequestCode.GET_CONSUMER_RUNNING_INFO, **fields).code == ResponseCode.SUCCESS
    client._streams[0].close()
    older.join(30)
    assert asked(broker, RequestCode.GET_CONSUMER_RUNNING_INFO, **fields).code == ResponseCode.SUCCESS
    assert (older.commands, newer.commands) == ([], ["print_thread_stack_trace_command"] * 2)


def test_a_client_that_left_is_in_no_list(broker, client):  # [18]
    group = broker.group(client, "LeftGroup", broker.topic("Left"))
    producers = RawClient(broker.port)
    producers.announce_producer("Left")
    assert [member["clientId"] for member in connections(broker, consumerGroup=group)] == [client.client_id]
    assert [member["clientId"] for member in connections(broker, producerGroup="Left")] == [producers.client_id]
    for one, request in (
        (client, pb.NotifyClientTerminationRequest(group=resource(group))),
        (producers, pb.NotifyClientTerminationRequest(group=resource(""))),  # as the Go SDK says it
    ):
        assert code_of(one.call("NotifyClientTermination", request)) == "OK"
    assert connections(broker, consumerGroup=group) == connections(broker, producerGroup="Left") == []
    producers.close()


def connections(broker, **fields):
    """Members of a group, as 203 or 204 lists them."""
    is_consumer = "consumerGroup" in fields
    code = RequestCode.GET_CONSUMER_CONNECTION_LIST if is_consumer else RequestCode.GET_PRODUCER_CONNECTION_LIST
    answer = asked(broker, code, **fields)
    return parse_object(answer.body)["connectionSet"] if answer.code == ResponseCode.SUCCESS else []


# ---- connections ----


def test_many_clients_wait_and_live(tmp_path):  # [53]
    """200 clients with four receives each wait in 60 MiB, and the broker hears all of them meanwhile."""
    with running_broker(tmp_path) as running:
        process = psutil.Process(running.process.pid)
        port = int(running.grpc.rpartition(":")[2])

        async def make():
            async with AdminClient(running.name_server) as admin:
                await admin.create_topic("Crowd", queues=RECEIVES)

        asyncio.run(make())
        with RawClient(port) as first:
            first.announce_consumer("First", "Crowd")
            first.send(message("Crowd", b"warm"))
            first.receive("First", "Crowd")
        before = process.memory_info().rss
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(RawClient(port)) for _ in range(CLIENTS)]
            streams = []
            for number, client in enumerate(clients):
                client.announce_consumer(f"Crowd{number % 20}", "Crowd")
                request = receive_request(f"Crowd{number % 20}", "Crowd", poll=20)
                request.invisible_duration.FromSeconds(600)
                streams += [client.start_receive(request) for _ in range(RECEIVES)]
            for number, client in enumerate(clients):
                request = pb.HeartbeatRequest(group=resource(f"Crowd{number % 20}"), client_type=pb.SIMPLE_CONSUMER)
                assert code_of(client.call("Heartbeat", request)) == "OK"
            assert process.memory_info().rss - before < 60 * MIB
            with RawClient(port) as sender:
                sender.send(message("Crowd", b"for each group"))
            bodies = [reply.message.body for stream in streams for reply in stream if reply.HasField("message")]
        assert bodies.count(b"for each group") == 20


def test_pings_without_calls_are_answered(broker):  # [54]
    with contextlib.closing(Http2Peer(broker.port)) as peer:
        assert all(peer.answers(number) for number in range(500))
        assert peer.address in broker.connections()


def test_a_client_finds_the_broker_again(tmp_path):  # [55]
    """Streams end as unavailable, and the same client goes on when the broker is back on its port."""
    with grpc_broker(tmp_path) as broker:
        port = broker.port
        client = RawClient(port)
        broker.topic("Back")
        broker.group(client, "BackGroup", "Back")
        waiting = client.start_receive(receive_request("BackGroup", "Back", poll=20))
        wait_until(lambda: broker.held() == 1)
    with pytest.raises(grpc.RpcError) as ended:
        list(waiting)
    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
    with contextlib.closing(client), grpc_broker(tmp_path, grpc_port=port) as broker:
        wait_until(lambda: is_served(client))
        client.send(message("Back", b"after"))
        # SDKs of Go and Python announce themselves again only after minutes.
        assert client.receive("BackGroup", "Back").bodies == [b"after"]
        assert broker.members("BackGroup") == [client.client_id]
        broker.group(client, "BackGroup", "Back")
        client.send(message("Back", b"announced"))
        assert client.receive("BackGroup", "Back").bodies == [b"announced"]


def is_served(client):
    """Whether a broker listens again."""
    try:
        response = client.call("QueryRoute", pb.QueryRouteRequest(topic=resource("Back")))
    except grpc.RpcError as error:
        return error.code() is not grpc.StatusCode.UNAVAILABLE
    return code_of(response) == "OK"
