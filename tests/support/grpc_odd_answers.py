"""Odd calls to any broker behind a gRPC port, beside those of `grpc_answers`: bounds, wrong flags, handles of others."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from typing import Any

import grpc

from broker_core.client.admin import AdminClient
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.grpc_broker import ack, change, handle_of
from tests.support.grpc_stub import RawClient, message, receive_request, resource

PLAIN, FIFO, DELAY, HALF = "odd-plain", "odd-fifo", "odd-delay", "odd-half"
LONG = "t" * 127
TYPES = {PLAIN: "NORMAL", FIFO: "FIFO", DELAY: "DELAY", HALF: "TRANSACTION", LONG: "NORMAL", "odd-else": "NORMAL"}
RESERVED = (
    "KEYS", "TAGS", "WAIT", "DELAY", "__SHARDINGKEY", "TIMER_DELIVER_MS", "PGROUP", "TRAN_MSG", "INSTANCE_ID", "POP_CK",
    "1ST_POP_TIME", "CLUSTER", "MSG_TYPE", "TIMER_DELAY_SEC", "DUP_INFO", "__BORNHOST", "RETRY_TOPIC",
)  # fmt: skip
Found = Iterator[tuple[str, Any]]


async def prepare_odd(admin: AdminClient) -> None:
    """Make the topics."""
    for address in (await admin.master_addresses()).values():
        for topic, kind in TYPES.items():
            config = {"readQueueNums": 1, "writeQueueNums": 1, "attributes": {"message.type": kind}}
            await admin.put_topic_config(address, topic, config)


def odd_answers(port: int) -> dict[str, Any]:
    """What a broker answers to them."""
    found: dict[str, Any] = {}
    for part in (_sends, _fifo_and_delays, _filters, _names, _deliveries, _recalls, _transactions, _streams):
        with RawClient(port) as client:
            found |= dict(part(client))
    return found


def _of(response: Any) -> tuple[str, str]:
    return pb.Code.Name(response.status.code), response.status.message


def _sent(client: RawClient, *messages: pb.Message) -> Any:
    response = client.send(*messages)
    return _of(response), [(pb.Code.Name(one.status.code), bool(one.recall_handle)) for one in response.entries]


def _digest(kind: Any, checksum: str) -> pb.Message:
    return message(PLAIN, body_digest=pb.Digest(type=kind, checksum=checksum))


def _sends(client: RawClient) -> Found:
    md5, sha1 = hashlib.md5(b"body").hexdigest(), hashlib.sha1(b"body").hexdigest()
    odd = {
        "one byte": message(PLAIN, b"x"),
        "tag of 1,000": message(PLAIN, tag="t" * 1_000),
        "tag with blanks": message(PLAIN, tag=" a b "),
        "tag *": message(PLAIN, tag="*"),
        "tag of other letters": message(PLAIN, tag="标签"),
        "key with a blank": message(PLAIN, keys=["a b"]),
        "64 keys": message(PLAIN, keys=[f"k{number}" for number in range(64)]),
        "empty key": message(PLAIN, keys=[""]),
        "128 properties": message(PLAIN, properties={f"p{number}": "v" for number in range(128)}),
        "name in other letters": message(PLAIN, properties={"名": "值"}),
        "small reserved name": message(PLAIN, properties={"uniq_key": "x"}),
        "id of 300": message(PLAIN, message_id="I" * 300),
        "id of other letters": message(PLAIN, message_id="标识"),
        "id with a blank": message(PLAIN, message_id="a b"),
        "unknown encoding": message(PLAIN, body_encoding=99),
        "unspecified encoding": message(PLAIN, body_encoding=0),
        "unknown type": message(PLAIN, message_type=99),
        "typed LITE": message(PLAIN, message_type=pb.LITE),
        "typed PRIORITY": message(PLAIN, message_type=pb.PRIORITY),
        "typed DELAY": message(PLAIN, message_type=pb.DELAY),
        "priority": message(PLAIN, priority=3),
        "lite topic": message(PLAIN, lite_topic="l"),
        "MD5 in small letters": _digest(pb.MD5, md5),
        "SHA1": _digest(pb.SHA1, sha1.upper()),
        "wrong MD5": _digest(pb.MD5, "0" * 32),
        "wrong SHA1": _digest(pb.SHA1, "0" * 40),
        "wrong CRC32": _digest(pb.CRC32, "1"),
        "digest of no kind": _digest(0, "1"),
        "attempt 5": message(PLAIN, delivery_attempt=5),
        "queue 99": message(PLAIN, queue_id=99),
        "half to NORMAL": message(PLAIN, message_type=pb.TRANSACTION),
        "to a DLQ": message("%DLQ%odd-nobody"),
        "to a retry topic": message("%RETRY%odd-nobody"),
        "long topic": message(LONG),
    }
    for name, made in odd.items():
        yield f"odd send: {name}", _sent(client, made)
    for name in RESERVED:
        yield f"odd send: property {name}", _sent(client, message(PLAIN, properties={name: "1"}))


def _fifo_and_delays(client: RawClient) -> Found:
    for size in (0, 1, 63, 64, 1_000):
        yield f"odd send: group of {size}", _sent(client, message(FIFO, message_group="g" * size))
    yield "odd send: group of 63 bytes", _sent(client, message(FIFO, message_group="组" * 21))
    yield "odd send: group of 66 bytes", _sent(client, message(FIFO, message_group="组" * 22))
    now = int(time.time())
    for name, seconds in {"past": now - 60, "1970": 0, "before 1970": -1, "a day": now + 86_390, "never": 1 << 50}.items():
        made = message(DELAY)
        made.system_properties.delivery_timestamp.seconds = seconds
        yield f"odd send: delivery {name}", _sent(client, made)
    both = message(DELAY, message_group="g")
    both.system_properties.delivery_timestamp.seconds = now + 600
    yield "odd send: group and delivery", _sent(client, both)
    half = message(HALF, message_type=pb.TRANSACTION, message_group="g")
    yield "odd send: group and half", _sent(client, half)
    half.system_properties.delivery_timestamp.seconds = now + 600
    yield "odd send: group, half and delivery", _sent(client, half)
    plain = message(PLAIN)
    plain.system_properties.delivery_timestamp.seconds = now + 600
    yield "odd send: delivery to NORMAL", _sent(client, plain)


def _filters(client: RawClient) -> Found:
    group = "odd-filters"
    client.announce_consumer(group, PLAIN)
    tags = (" ", "||", "A||", "|| A", "A||A", "*||A", "A | B", "A && B", "标签", "A" * 5_000)
    for text in tags:
        yield f"odd filter: TAG {text[:9]!r}", _received(client, group, pb.FilterExpression(type=pb.TAG, expression=text))
    sqls = ("", " ", "TRUE", "a", "a = 1 AND", "a IN ()", "a IN ('x')", "a BETWEEN 2 AND 1", "a BETWEEN 1 AND", "a IS NULL",
            "'x' = 'x'", "1 = 1", "a > 'x'", "a = 'x'x'", "(((a = 1)))", "a = 1;", "-- x", "a LIKE '%'", "NOT a = 1",
            "a = 99999999999999999999", "a = 1e400", "TAGS = 'A'", "a <> 1 OR b IS NOT NULL", "a CONTAINS 'x'")  # fmt: skip
    for text in sqls:
        yield f"odd filter: SQL {text!r}", _received(client, group, pb.FilterExpression(type=pb.SQL, expression=text))
    unknown: Any = 99
    yield "odd filter: unknown kind", _received(client, group, pb.FilterExpression(type=unknown, expression="*"))


def _received(client: RawClient, group: str, expression: pb.FilterExpression, topic: str = PLAIN) -> Any:
    """The code of a receive that finds its message, nothing, or a fault."""
    request = receive_request(group, topic, count=1, poll=5)
    request.filter_expression.CopyFrom(expression)
    try:
        replies = list(client.start_receive(request))
    except grpc.RpcError as error:
        return error.code().name
    code = pb.Code.Name(next(one.status.code for one in replies if one.HasField("status")))
    return "OK or MESSAGE_NOT_FOUND" if code in ("OK", "MESSAGE_NOT_FOUND") else code


def _names(client: RawClient) -> Found:
    for topic in ("a" * 127, "a" * 128, "%RETRY%odd", "%DLQ%odd", "a|b", "a%b", "a.b", "a/b", "话题", "-", "*"):
        yield (
            f"odd route: {topic[:12]!r} of {len(topic)}",
            _of(client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(topic))))[0],
        )
    groups = {
        "g" * 255: LONG,
        "g" * 256: LONG,
        "G" * 120: LONG,
        "a|b": PLAIN,
        "a%b": PLAIN,
        "CID_RMQ_SYS_x": PLAIN,
        "%RETRY%x": PLAIN,
    }
    for group, topic in groups.items():
        name = f"{group[:12]} of {len(group)}"
        settings = pb.Settings(client_type=pb.SIMPLE_CONSUMER, subscription=pb.Subscription(group=resource(group)))
        with RawClient(client.port) as other:
            try:
                code = pb.Code.Name(other.telemetry().ask(settings).status.code)
            except grpc.RpcError as error:
                code = error.code().name
            yield f"odd group: {name}", code
            if code != "OK":
                other.announce_consumer("odd-names", topic)
            yield f"odd receive by {name}", _received(other, group, pb.FilterExpression(expression="*"), topic)


def _taken(client: RawClient, group: str, topic: str, body: bytes, **more: Any) -> pb.Message:
    client.send(message(topic, body))
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for one in client.receive(group, topic, count=32, **more).messages:
            if one.body == body:
                return one
    raise AssertionError(f"{body!r} did not come")


def _deliveries(client: RawClient) -> Found:
    group = "odd-deliveries"
    client.announce_consumer(group, PLAIN)
    found = _taken(client, group, PLAIN, b"of PLAIN")
    yield "odd ack: another topic", _of(ack(client, group, "odd-else", found))[0]
    yield "odd ack: absent topic", _of(ack(client, group, "odd-nowhere", found))[0]
    yield "odd ack: absent group", _of(ack(client, "odd-nobody", PLAIN, found))[0]
    yield "odd change: 12 h", _of(change(client, group, PLAIN, handle_of(found), 43_200))[0]
    found = _taken(client, group, PLAIN, b"change to 0")
    none = pb.ChangeInvisibleDurationRequest(group=resource(group), topic=resource(PLAIN), receipt_handle=handle_of(found))
    yield "odd change: no time", _of(client.call("ChangeInvisibleDuration", none))[0]
    found = _taken(client, group, PLAIN, b"change, ack with the old one")
    changed = change(client, group, PLAIN, handle_of(found), 30)
    yield "odd ack: with the handle before a change", _of(ack(client, group, PLAIN, found))[0]
    forward = pb.ForwardMessageToDeadLetterQueueRequest(group=resource(group), topic=resource(PLAIN))
    yield "odd forward: no handle", _of(client.call("ForwardMessageToDeadLetterQueue", forward))[0]
    forward.receipt_handle = changed.receipt_handle
    yield "odd forward: after a change", _of(client.call("ForwardMessageToDeadLetterQueue", forward))[0]
    forward.topic.name = "odd-nowhere"
    yield "odd forward: absent topic", _of(client.call("ForwardMessageToDeadLetterQueue", forward))[0]


def _recalls(client: RawClient) -> Found:
    def recall(topic: str, handle: str) -> str:
        request = pb.RecallMessageRequest(topic=resource(topic), recall_handle=handle)
        return _of(client.call("RecallMessage", request))[0]

    made = message(DELAY, b"recalled")
    made.system_properties.delivery_timestamp.seconds = int(time.time()) + 600
    handle = client.send(made).entries[0].recall_handle
    yield "odd recall: another topic", recall(PLAIN, handle)
    yield "odd recall: empty", recall(DELAY, "")
    yield "odd recall: cut", recall(DELAY, handle[:-4])
    yield "odd recall: once", recall(DELAY, handle)
    yield "odd recall: twice", recall(DELAY, handle)
    made.system_properties.delivery_timestamp.seconds = int(time.time()) + 2
    made.system_properties.message_id = "01" + "D" * 32
    handle = client.send(made).entries[0].recall_handle
    time.sleep(5)  # a real proxy does not say when it was delivered
    yield "odd recall: delivered", recall(DELAY, handle)


def _transactions(client: RawClient) -> Found:
    def end(topic: str, half: pb.SendResultEntry, resolution: Any, source: Any = pb.SOURCE_CLIENT) -> str:
        request = pb.EndTransactionRequest(
            topic=resource(topic), message_id=half.message_id, transaction_id=half.transaction_id, resolution=resolution,
            source=source,
        )  # fmt: skip
        return _of(client.call("EndTransaction", request))[0]

    def half() -> pb.SendResultEntry:
        return client.send(message(HALF, message_type=pb.TRANSACTION)).entries[0]

    client.announce_producer(HALF)
    yield "odd end: another topic", end(PLAIN, half(), pb.COMMIT)
    yield "odd end: absent topic", end("odd-nowhere", half(), pb.COMMIT)
    yield "odd end: as if asked", end(HALF, half(), pb.COMMIT, pb.SOURCE_SERVER_CHECK)
    first = half()
    yield "odd end: commit", end(HALF, first, pb.COMMIT)
    yield "odd end: roll back after the commit", end(HALF, first, pb.ROLLBACK)
    plain = client.send(message(PLAIN)).entries[0]
    yield "odd end: of no half message", end(PLAIN, plain, pb.COMMIT)


def _streams(client: RawClient) -> Found:
    stream = client.telemetry()
    publishing = pb.Settings(client_type=pb.PRODUCER, publishing=pb.Publishing(topics=[resource(PLAIN)]))
    consuming = pb.Settings(client_type=pb.SIMPLE_CONSUMER, subscription=pb.Subscription(group=resource("odd-streams")))
    yield "odd stream: settings", _of(stream.ask(publishing))
    stream.put(pb.TelemetryCommand())
    stream.put(pb.TelemetryCommand(status=pb.Status(code=pb.OK)))
    stream.put(pb.TelemetryCommand(thread_stack_trace=pb.ThreadStackTrace(nonce="n", thread_stack_trace="t")))
    stream.put(pb.TelemetryCommand(verify_message_result=pb.VerifyMessageResult(nonce="n")))
    stream.put(pb.TelemetryCommand(recover_orphaned_transaction_command=pb.RecoverOrphanedTransactionCommand()))
    yield "odd stream: settings after odd commands", _of(stream.ask(publishing))
    yield "odd stream: a producer becomes a consumer", _of(stream.ask(consuming))
    many = pb.Settings(client_type=pb.PRODUCER, publishing=pb.Publishing(topics=[resource(f"odd-{n}") for n in range(500)]))
    with RawClient(client.port) as other:
        yield "odd stream: 500 topics", _of(other.telemetry().ask(many))
    beat = pb.HeartbeatRequest(group=resource("odd-streams"), client_type=pb.PRODUCER)
    yield "odd heartbeat: of another type", _of(client.call("Heartbeat", beat))
    beat.group.name = "odd-others"
    yield "odd heartbeat: of another group", _of(client.call("Heartbeat", beat))
    yield "odd heartbeat: of no group", _of(client.call("Heartbeat", pb.HeartbeatRequest()))
    leave = pb.NotifyClientTerminationRequest(group=resource("odd-others"))
    yield "odd termination: of another group", _of(client.call("NotifyClientTermination", leave))
    for name, metadata in {
        "long client id": {"x-mq-client-id": "c" * 300},
        "version of words": {"x-mq-client-version": "newest"},
        "no language": {"x-mq-language": ""},
        "unknown language": {"x-mq-language": "COBOL"},
    }.items():
        with RawClient(client.port, metadata=metadata) as other:
            yield f"odd metadata: {name}", _of(other.call("QueryRoute", pb.QueryRouteRequest(topic=resource(PLAIN))))
