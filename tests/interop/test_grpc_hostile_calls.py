"""Calls of gRPC with one field after the other replaced: each gets a status, and no fault of our own comes to light."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message as Protobuf

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.grpc.incoming import DELIVER_MS, PRIORITY
from broker_core.engine.grpc.outgoing import outgoing
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record, encode_record
from tests.support.broker_bench import SMALL_FILES
from tests.support.broker_thread import broker_thread
from tests.support.grpc_stub import SERVICE, RawClient, message, receive_request, resource
from tests.support.hostile_texts import DIGITS

TEXTS = ("", DIGITS, "²", "٣", "\0", "-1", "1e400", "x" * 70_000, "../../x", "%RETRY%x", "a:b:c:d:e:f:g:h", "[" * 3_000, "🚀 x")
WHOLE = (0, -1, 1, (1 << 31) - 1, -(1 << 31))
LONG = (*WHOLE, (1 << 63) - 1, -(1 << 63))
VALUES: dict[int, tuple[Any, ...]] = {
    FieldDescriptor.TYPE_STRING: TEXTS,
    FieldDescriptor.TYPE_BYTES: (b"", b"\xff" * 100, b"\0"),
    FieldDescriptor.TYPE_INT32: WHOLE,
    FieldDescriptor.TYPE_INT64: LONG,
    FieldDescriptor.TYPE_ENUM: (0, 1, 99, -1),
    FieldDescriptor.TYPE_BOOL: (True, False),
}
CALLS_AT_ONCE = 50
"""Empty receives wait some seconds."""
TOPIC, GROUP = "Hostile", "HostileGroup"
HOST = HostAddress(b"\x7f\x00\x00\x01", 1)


def digest() -> pb.Digest:
    """That of the body, because a message with another one is refused before the rest of it is read."""
    return pb.Digest(type=pb.CRC32, checksum=f"{zlib.crc32(b'body'):X}")


def whole_message() -> pb.Message:
    """A message with each of its system properties."""
    made = message(
        TOPIC, tag="T", keys=["k"], message_id="01A", body_digest=digest(), body_encoding=pb.IDENTITY, message_type=pb.NORMAL,
        born_host="h", store_host="s", receipt_handle="r", queue_id=0, queue_offset=1, delivery_attempt=1,
        message_group="", trace_context="t", priority=1, properties={"a": "b"},
    )  # fmt: skip
    for stamp in (made.system_properties.born_timestamp, made.system_properties.store_timestamp):
        stamp.FromMilliseconds(1)
    made.system_properties.delivery_timestamp.FromMilliseconds(1)
    made.system_properties.invisible_duration.FromSeconds(15)
    made.system_properties.orphaned_transaction_recovery_duration.FromSeconds(10)
    return made


def requests() -> dict[str, Protobuf]:
    """A request of each call, with all of its fields."""
    topic, group = resource(TOPIC), resource(GROUP)
    ends = pb.Endpoints(scheme=pb.IPv4, addresses=[pb.Address(host="127.0.0.1", port=8081)])
    receive = receive_request(GROUP, TOPIC, poll=0, attempt_id="a")
    receive.filter_expression.CopyFrom(pb.FilterExpression(type=pb.TAG, expression="*"))
    change = pb.ChangeInvisibleDurationRequest(group=group, topic=topic, receipt_handle="h", message_id="m", lite_topic="")
    change.invisible_duration.FromSeconds(15)
    entry = pb.AckMessageEntry(message_id="m", receipt_handle="h")
    return {
        "QueryRoute": pb.QueryRouteRequest(topic=topic, endpoints=ends),
        "QueryAssignment": pb.QueryAssignmentRequest(topic=topic, group=group, endpoints=ends),
        "Heartbeat": pb.HeartbeatRequest(group=group, client_type=pb.PUSH_CONSUMER),
        "SendMessage": pb.SendMessageRequest(messages=[whole_message()]),
        "ReceiveMessage": receive,
        "AckMessage": pb.AckMessageRequest(group=group, topic=topic, entries=[entry]),
        "ForwardMessageToDeadLetterQueue": pb.ForwardMessageToDeadLetterQueueRequest(
            group=group, topic=topic, receipt_handle="h", message_id="m", delivery_attempt=1, max_delivery_attempts=2
        ),
        "EndTransaction": pb.EndTransactionRequest(
            topic=topic, message_id="m", transaction_id="t", resolution=pb.COMMIT, source=pb.SOURCE_CLIENT, trace_context="c"
        ),
        "ChangeInvisibleDuration": change,
        "RecallMessage": pb.RecallMessageRequest(topic=topic, recall_handle="h"),
        "NotifyClientTermination": pb.NotifyClientTerminationRequest(group=group),
    }


def settings() -> pb.Settings:
    """Settings with all fields of a consumer."""
    entries = [pb.SubscriptionEntry(topic=resource(TOPIC), expression=pb.FilterExpression(type=pb.TAG, expression="*"))]
    made = pb.Settings(
        client_type=pb.SIMPLE_CONSUMER,
        subscription=pb.Subscription(group=resource(GROUP), subscriptions=entries, fifo=False, receive_batch_size=1),
    )
    made.request_timeout.FromSeconds(3)
    made.subscription.long_polling_timeout.FromSeconds(3)
    made.backoff_policy.max_attempts = 3
    made.backoff_policy.exponential_backoff.multiplier = 2.0
    made.user_agent.version = "5.2.0"
    return made


Step = tuple[str, int | None]
"""A field that holds a part, and the place in it where it holds several."""


def fields(part: Protobuf, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], FieldDescriptor]]:
    """The fields of a request that are there, with the ways to their parts."""
    for field, value in part.ListFields():
        yield path, field
        if field.type == FieldDescriptor.TYPE_MESSAGE and not is_map(field):
            for place, inner in enumerate(value if field.is_repeated else [value]):
                yield from fields(inner, (*path, (field.name, place if field.is_repeated else None)))


def is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def twisted(sound: Protobuf) -> Iterator[Protobuf]:
    """Copies of a request with one field after the other replaced or missing."""
    for path, field in fields(sound):
        for value in (None, *(TEXTS if is_map(field) else VALUES.get(field.type, ()))):
            copy = type(sound)()
            copy.CopyFrom(sound)
            part: Any = copy
            for name, place in path:
                part = getattr(part, name) if place is None else getattr(part, name)[place]
            change(part, field, value)
            yield copy


def change(part: Any, field: FieldDescriptor, value: object) -> None:
    if value is None:
        part.ClearField(field.name)
    elif is_map(field):
        getattr(part, field.name).update({value: value, "k": value})
    elif field.is_repeated:
        getattr(part, field.name).extend([value] * 70)
    else:
        setattr(part, field.name, value)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    root = tmp_path_factory.mktemp("grpc")
    config = BrokerConfig(
        listen_port=0,
        name_server_port=0,
        property_filter=True,
        recall_messages=True,
        store=StoreConfig(root=root, **(SMALL_FILES | {"commit_log_file_bytes": 16 << 20})),
    )
    with broker_thread(root, config) as running:
        running.create(TOPIC, 1)
        yield running


@pytest.fixture
def client(running):
    with RawClient(running.broker.grpc.server.port) as client:
        client.announce_consumer(GROUP, TOPIC)
        yield client


def statuses(client: RawClient, name: str, *sent: Protobuf | bytes) -> list[int]:
    """Codes of the answers to calls that are open at once; none of a call that was refused by a status of gRPC."""
    method = client.channel.unary_stream(
        SERVICE + name,
        request_serializer=lambda value: value if isinstance(value, bytes) else value.SerializeToString(),
        response_deserializer=getattr(pb, f"{name}Response").FromString,
    )
    calls = [method(request, timeout=60, metadata=client.metadata) for request in sent]
    return [answer.status.code for call in calls for answer in answers_of(call) if answer.HasField("status")]


def answers_of(stream: Any) -> list[Any]:
    """All answers of a stream; those before its end where a status of gRPC refuses it."""
    found: list[Any] = []
    with suppress(grpc.RpcError):
        found.extend(stream)
    assert stream.code() is not grpc.StatusCode.UNKNOWN, stream.details()
    return found


@pytest.mark.parametrize("name", requests())
def test_each_call_with_a_field_that_is_another_has_a_status(client, running, caplog, name):
    caplog.set_level("ERROR")
    sound = requests()[name]
    attacks = list(twisted(sound))
    for start in range(0, len(attacks), CALLS_AT_ONCE):
        assert pb.INTERNAL_ERROR not in statuses(client, name, *attacks[start : start + CALLS_AT_ONCE])
    assert statuses(client, "QueryRoute", requests()["QueryRoute"]) == [pb.OK]
    assert not caplog.records, "no fault of our own came to light"


@pytest.mark.parametrize("data", [b"", b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x0b" * 5_000, bytes(100)])
@pytest.mark.parametrize("name", requests())
def test_bytes_that_are_no_request_have_a_status(client, caplog, name, data):
    caplog.set_level("ERROR")
    assert pb.INTERNAL_ERROR not in statuses(client, name, data)
    assert not caplog.records


def test_settings_with_a_field_that_is_another_are_answered_or_end_the_stream(running, caplog):
    caplog.set_level("ERROR")
    with RawClient(running.broker.grpc.server.port) as client:
        for one in twisted(settings()):
            stream = client.telemetry()
            stream.put(pb.TelemetryCommand(settings=one))
            stream.put(pb.TelemetryCommand(thread_stack_trace=pb.ThreadStackTrace(nonce=DIGITS)))
            stream.close()
            answers_of(stream.stream)
    assert not caplog.records, "no fault of our own came to light"


@pytest.mark.parametrize("name", [PRIORITY, DELIVER_MS, "TIMER_DELAY_SEC", "DELAY", "RECONSUME_TIME"])
@pytest.mark.parametrize("text", [DIGITS, "²", "9" * 18, "-1", str(2**31)])
def test_a_property_of_another_client_does_not_keep_a_message_back(name, text):
    """A message that came over remoting has any properties."""
    record = encode_record(
        MessageToStore(TOPIC, 0, 0, 0, 1, HOST, HOST, 0, 0, b"x", encode_properties({name: text})),
        queue_offset=0, physical_offset=0, store_timestamp_ms=1,
    )  # fmt: skip
    assert outgoing(decode_record(record), TOPIC, now_ms=0).body == b"x"
