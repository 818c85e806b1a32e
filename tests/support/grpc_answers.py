"""The same calls to any broker behind a gRPC port, and what it answers: codes, texts and fields by the name of the call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import grpc

from broker_core.client.admin import AdminClient
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.grpc_broker import ack, change, entry_of, handle_of
from tests.support.grpc_stub import SERVICE, RawClient, message, receive_request, resource

Answers = dict[str, Any]

PLAIN, FIFO, DELAY, HALF = "answers-plain", "answers-fifo", "answers-delay", "answers-half"
TYPES = {PLAIN: "NORMAL", FIFO: "FIFO", DELAY: "DELAY", HALF: "TRANSACTION"}
GROUP = "answers-group"


async def prepare(admin: AdminClient) -> None:
    """Make the topics and the group."""
    for address in (await admin.master_addresses()).values():
        for topic, kind in TYPES.items():
            config = {"readQueueNums": 2, "writeQueueNums": 2, "attributes": {"message.type": kind}}
            await admin.put_topic_config(address, topic, config)
    await admin.set_group(GROUP, retryMaxTimes=3)


def all_answers(port: int) -> Answers:
    """What a broker answers to all calls."""
    found: Answers = {}
    for part in (_routes, _settings, _life, _refused_sends, _sends, _receives, _deliveries, _transactions, _recalls, _methods):
        with RawClient(port) as client:
            found |= dict(part(client))
    return found


Found = Iterator[tuple[str, Any]]


def _of(response: Any) -> tuple[str, str]:
    return pb.Code.Name(response.status.code), response.status.message


def _status(call: Callable[[], Any]) -> str:
    """The gRPC status that a call ends with."""
    try:
        call()
    except grpc.RpcError as error:
        return str(error.code().name)
    return "OK"


def _routes(client: RawClient) -> Found:
    endpoints = pb.Endpoints(scheme=pb.IPv4, addresses=[pb.Address(host="127.0.0.1", port=client.port)])

    def route(topic: str) -> pb.QueryRouteResponse:
        asked = pb.QueryRouteRequest(topic=resource(topic), endpoints=endpoints)
        response: pb.QueryRouteResponse = client.call("QueryRoute", asked)
        return response

    queues = route(PLAIN).message_queues
    yield "route: queues", [(queue.topic.name, queue.id, pb.Permission.Name(queue.permission)) for queue in queues]
    yield "route: broker", {(queue.broker.name, queue.broker.id) for queue in queues}
    yield "route: endpoints", queues[0].broker.endpoints == endpoints
    for topic in TYPES:
        yield f"route: types of {topic}", list(route(topic).message_queues[0].accept_message_types)
    for topic in ("answers-nowhere", "a b", " ", "TBW102", "rmq_sys_x", "x" * 128):
        yield f"route: {topic[:20]!r}", _of(route(topic))
    for topic, group in ((PLAIN, GROUP), ("answers-nowhere", GROUP), (PLAIN, "a b"), (PLAIN, " ")):
        asked = pb.QueryAssignmentRequest(topic=resource(topic), group=resource(group), endpoints=endpoints)
        response = client.call("QueryAssignment", asked)
        ids = [(one.message_queue.id, one.message_queue.permission) for one in response.assignments]
        yield f"assignment: {topic} {group!r}", (_of(response), ids)
    yield "no client id", _of(client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(PLAIN)), metadata=()))


def _settings(client: RawClient) -> Found:
    reply = client.announce_producer(PLAIN)
    yield "settings of a producer", _text(reply)
    reply = client.announce_consumer(GROUP, PLAIN)
    yield "settings of a simple consumer", _text(reply)
    reply = client.announce_consumer(GROUP, PLAIN, kind=pb.PUSH_CONSUMER)
    yield "settings of a push consumer", _text(reply)
    group, pull = resource(GROUP), pb.Subscription(group=resource(GROUP))
    sql = pb.SubscriptionEntry(topic=resource(PLAIN), expression=pb.FilterExpression(type=pb.SQL, expression="a ="))
    wrong = {
        "no group": pb.Settings(client_type=pb.PUSH_CONSUMER, subscription=pb.Subscription()),
        "pull": pb.Settings(client_type=pb.PULL_CONSUMER, subscription=pull),
        "a subscription of a producer": pb.Settings(client_type=pb.PRODUCER, subscription=pull),
        "topics of a consumer": pb.Settings(client_type=pb.PUSH_CONSUMER, publishing=pb.Publishing(topics=[resource(PLAIN)])),
        "bad SQL": pb.Settings(client_type=pb.PUSH_CONSUMER, subscription=pb.Subscription(group=group, subscriptions=[sql])),
        "nothing": pb.Settings(client_type=pb.PRODUCER),
        "bad topic": pb.Settings(client_type=pb.PRODUCER, publishing=pb.Publishing(topics=[resource("a b")])),
        "bad group": pb.Settings(client_type=pb.PUSH_CONSUMER, subscription=pb.Subscription(group=resource("a b"))),
        "lite": pb.Settings(client_type=pb.LITE_PUSH_CONSUMER, subscription=pb.Subscription(group=resource(GROUP))),
    }
    for name, settings in wrong.items():
        stream = client.telemetry()
        stream.put(pb.TelemetryCommand(settings=settings))
        yield f"settings: {name}", _status(stream.next)


def _text(command: pb.TelemetryCommand) -> str:
    command.settings.ClearField("access_point")
    return str(command)


def _life(client: RawClient) -> Found:
    beat = pb.HeartbeatRequest(group=resource(GROUP), client_type=pb.SIMPLE_CONSUMER)
    leave = pb.NotifyClientTerminationRequest(group=resource(GROUP))
    yield "heartbeat of a stranger", _of(client.call("Heartbeat", beat))
    yield "termination of a stranger", _of(client.call("NotifyClientTermination", leave))
    client.announce_consumer(GROUP, PLAIN)
    yield "heartbeat", _of(client.call("Heartbeat", beat))
    blank = pb.HeartbeatRequest(group=resource(" "), client_type=pb.SIMPLE_CONSUMER)
    yield "heartbeat of a blank group", _of(client.call("Heartbeat", blank))
    yield "termination", _of(client.call("NotifyClientTermination", leave))
    yield "termination again", _of(client.call("NotifyClientTermination", leave))


def _refused_sends(client: RawClient) -> Found:
    many = {f"p{number}": "v" for number in range(129)}
    late = message(DELAY)
    late.system_properties.delivery_timestamp.FromSeconds(int(time.time()) + 90_000)
    born_in_no_year, elsewhere = message(PLAIN), message(PLAIN)
    born_in_no_year.system_properties.born_timestamp.seconds = (1 << 63) - 1
    elsewhere.topic.resource_namespace = "elsewhere"
    recovery = message(HALF, message_type=pb.TRANSACTION)
    recovery.system_properties.orphaned_transaction_recovery_duration.FromSeconds(3_601)
    wrong: dict[str, list[pb.Message]] = {
        "nothing": [],
        "born in no year": [born_in_no_year],
        "two namespaces": [message(PLAIN), elsewhere],
        "a good and a bad one": [message(PLAIN), message(PLAIN, tag="a|b")],
        "bad topic": [message("a b")],
        "two topics": [message(PLAIN), message(FIFO)],
        "no body": [message(PLAIN, b"")],
        "large body": [message(PLAIN, bytes(4 * 1024 * 1024 + 1))],
        "many properties": [message(PLAIN, properties=many)],
        "reserved property": [message(PLAIN, properties={"UNIQ_KEY": "x"})],
        "control in a value": [message(PLAIN, properties={"a": "x\x01y"})],
        "control in a name": [message(PLAIN, properties={"a\x01": "x"})],
        "blank tag": [message(PLAIN, tag="  ")],
        "tag with |": [message(PLAIN, tag="a|b")],
        "control in the tag": [message(PLAIN, tag="a\x01")],
        "blank key": [message(PLAIN, keys=[" "])],
        "control in a key": [message(PLAIN, keys=["a\x01"])],
        "large properties": [message(PLAIN, properties={"a": "x" * 16_400})],
        "no id": [message(PLAIN, message_id="")],
        "late recovery": [recovery],
        "late delivery": [late],
        "long group": [message(FIFO, message_group="g" * 64)],
        "blank group": [message(FIFO, message_group="  ")],
        "control in the group": [message(FIFO, message_group="g\x01")],
        "FIFO to NORMAL": [message(PLAIN, message_group="g")],
        "NORMAL to FIFO": [message(FIFO)],
        "NORMAL to DELAY": [message(DELAY)],
        "NORMAL to TRANSACTION": [message(HALF)],
        "absent topic": [message("answers-nowhere")],
    }
    for name, messages in wrong.items():
        yield f"send: {name}", _of(client.send(*messages))


def _sends(client: RawClient) -> Found:
    good = {
        "plain": message(PLAIN, tag="A", keys=["k"], properties={"a": "b"}),
        "typed FIFO without a group": message(PLAIN, message_type=pb.FIFO),
        "group of 63": message(FIFO, message_group="g" * 63),
        "FIFO": message(FIFO, message_group="g"),
        "half": message(HALF, message_type=pb.TRANSACTION),
    }
    for name, sent in good.items():
        response = client.send(sent)
        entry = response.entries[0]
        same = [text == sent.system_properties.message_id for text in (entry.message_id, entry.transaction_id)]
        yield f"sent: {name}", (_of(response), _of(entry), same, entry.recall_handle)
    delayed = message(DELAY)
    delayed.system_properties.delivery_timestamp.FromSeconds(int(time.time()) + 600)
    yield "sent: delayed", (_of(client.send(delayed)), client.send(delayed).entries[0].recall_handle != "")
    two = [message(PLAIN, b"1"), message(PLAIN, b"2")]
    response = client.send(*two)
    ids = [one.system_properties.message_id for one in two]
    yield "sent: two", (_of(response), [entry.message_id for entry in response.entries] == ids)


def _receives(client: RawClient) -> Found:
    stranger = list(client.start_receive(receive_request("answers-strangers", PLAIN)))
    yield "receive of a stranger", pb.Code.Name(stranger[0].status.code)
    client.announce_consumer("answers-receives", PLAIN)

    def refused(**more: Any) -> list[Any]:
        timeout = more.pop("timeout", 30)
        invisible_ms = more.pop("invisible_ms", None)
        request = receive_request("answers-receives", PLAIN, **more)
        if invisible_ms is not None:
            request.invisible_duration.FromMilliseconds(invisible_ms)
        replies = list(client.start_receive(request, timeout=timeout))
        return [reply.WhichOneof("content") for reply in replies] + [
            _of(reply) for reply in replies if reply.HasField("status")
        ]

    yield "receive: too short", refused(invisible_ms=9_999)
    yield "receive: too long", refused(invisible_ms=43_200_001)
    yield "receive: no messages wanted", refused(count=0)
    yield "receive: fewer than none wanted", refused(count=-1)
    yield "receive: no time to poll", refused(timeout=3, poll=20)
    bad = pb.FilterExpression(type=pb.SQL, expression="a =")
    yield "receive: bad SQL", refused(filter_expression=bad)
    sent = message(PLAIN, b"body", tag="A", keys=["k1", "k2"], properties={"color": "red"}, trace_context="tc")
    for _ in range(6):  # what the parts before have sent comes first
        client.send(sent)
    replies = list(client.start_receive(receive_request("answers-receives", PLAIN, count=32)))
    yield "receive: status first", (replies[0].WhichOneof("content"), _of(replies[0]), replies[-1].WhichOneof("content"))
    found = next(reply.message for reply in replies if "color" in reply.message.user_properties)
    for name, value in _fields(found).items():
        yield f"received: {name}", value
    client.receive("answers-receives", PLAIN, count=32)
    yield "receive: nothing", refused(poll=5)


def _fields(found: pb.Message) -> dict[str, Any]:
    """A message without what is of its place and time."""
    system = found.system_properties
    named = {field.name: value for field, value in system.ListFields()}
    volatile = {
        "message_id",
        "born_timestamp",
        "store_timestamp",
        "born_host",
        "store_host",
        "receipt_handle",
        "queue_id",
        "queue_offset",
    }
    return {
        "topic": (found.topic.resource_namespace, found.topic.name),
        "properties": dict(found.user_properties),
        "fields": sorted(named.keys() - {"queue_id"}),
    } | {name: str(value) for name, value in named.items() if name not in volatile}


def _deliveries(client: RawClient) -> Found:
    group = "answers-deliveries"
    client.announce_consumer(group, PLAIN)
    client.receive(group, PLAIN, count=32)
    for body in (b"ack", b"change", b"forward"):
        client.send(message(PLAIN, body))
    messages: dict[bytes, pb.Message] = {}
    end = time.monotonic() + 60
    while not {b"ack", b"change", b"forward"} <= set(messages) and time.monotonic() < end:
        messages |= {found.body: found for found in client.receive(group, PLAIN, count=32).messages}
    first = messages[b"ack"]
    response = ack(client, group, PLAIN, first)
    entry = response.entries[0]
    yield "ack", (_of(response), _of(entry), entry.receipt_handle == handle_of(first))
    yield "ack again", _of(ack(client, group, PLAIN, first))
    yield "ack by another group", _of(ack(client, GROUP, PLAIN, messages[b"change"]))
    yield "change by another group", pb.Code.Name(change(client, GROUP, PLAIN, handle_of(messages[b"change"]), 30).status.code)
    yield "ack of nothing", _of(ack(client, group, PLAIN))
    bad = pb.AckMessageRequest(group=resource(group), topic=resource(PLAIN), entries=[pb.AckMessageEntry(receipt_handle="x")])
    yield "ack of no handle", pb.Code.Name(client.call("AckMessage", bad).status.code)
    mixed = pb.AckMessageRequest(
        group=resource(group), topic=resource(PLAIN), entries=[entry_of(first), pb.AckMessageEntry(receipt_handle="x")]
    )
    yield "ack of two", pb.Code.Name(client.call("AckMessage", mixed).status.code)
    handle = handle_of(messages[b"change"])
    changed = change(client, group, PLAIN, handle, 30)
    yield "change", (_of(changed), changed.receipt_handle not in ("", handle))
    yield "change again", pb.Code.Name(change(client, group, PLAIN, handle, 30).status.code)
    refused = change(client, group, PLAIN, "x", 30)
    yield "change of no handle", (pb.Code.Name(refused.status.code), refused.receipt_handle)
    yield "change: too long", _of(change(client, group, PLAIN, changed.receipt_handle, 43_201))
    yield "change: negative", _of(change(client, group, PLAIN, changed.receipt_handle, -1))
    forward = pb.ForwardMessageToDeadLetterQueueRequest(
        group=resource(group), topic=resource(PLAIN), receipt_handle=handle_of(messages[b"forward"])
    )
    yield "forward", _of(client.call("ForwardMessageToDeadLetterQueue", forward))
    yield "forward again", pb.Code.Name(client.call("ForwardMessageToDeadLetterQueue", forward).status.code)
    forward.receipt_handle = "x"
    yield "forward of no handle", pb.Code.Name(client.call("ForwardMessageToDeadLetterQueue", forward).status.code)


def _transactions(client: RawClient) -> Found:
    def end(transaction_id: str, message_id: str, resolution: Any) -> pb.EndTransactionResponse:
        request = pb.EndTransactionRequest(
            topic=resource(HALF), message_id=message_id, transaction_id=transaction_id, resolution=resolution
        )
        response: pb.EndTransactionResponse = client.call("EndTransaction", request)
        return response

    half = client.send(message(HALF, message_type=pb.TRANSACTION)).entries[0]
    yield "end of an unknown kind", _of(end(half.transaction_id, half.message_id, 99))
    yield "end of a blank transaction", _of(end(" ", "x", pb.COMMIT))
    yield "end of an unknown transaction", pb.Code.Name(end("unknown", "x", pb.COMMIT).status.code)
    for name, resolution in (("commit", pb.COMMIT), ("roll back", pb.ROLLBACK)):
        half = client.send(message(HALF, message_type=pb.TRANSACTION)).entries[0]
        yield name, _of(end(half.transaction_id, half.message_id, resolution))
        yield f"{name} again", pb.Code.Name(end(half.transaction_id, half.message_id, resolution).status.code)
    half = client.send(message(HALF, message_type=pb.TRANSACTION)).entries[0]
    nothing = pb.TRANSACTION_RESOLUTION_UNSPECIFIED
    yield "end without a decision", _of(end(half.transaction_id, half.message_id, nothing))


def _recalls(client: RawClient) -> Found:
    for topic in (PLAIN, DELAY, "answers-nowhere"):
        request = pb.RecallMessageRequest(topic=resource(topic), recall_handle="x")
        yield f"recall of no handle, {topic}", pb.Code.Name(client.call("RecallMessage", request).status.code)


def _methods(client: RawClient) -> Found:
    for name in ("PullMessage", "UpdateOffset", "GetOffset", "QueryOffset", "SyncLiteSubscription", "Nothing"):
        yield f"method {name}", _status(partial(_call, client, name))


def _call(client: RawClient, name: str) -> None:
    client.channel.unary_unary(SERVICE + name)(b"", timeout=10, metadata=client.metadata)
