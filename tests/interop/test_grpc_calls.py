"""Each call of gRPC against a running broker, by a raw client (docs/spec/grpc.md §11, numbers in brackets)."""

import asyncio
import contextlib
import dataclasses
import hashlib
import socket
import ssl
import time

import grpc
import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.http2.frames import HEAD_BYTES, PREFACE, FrameType, head_at, settings_frame
from broker_core.worker.embedded.connections import list_connections
from broker_core.worker.embedded.messages import StoredMessages
from broker_core.worker.embedded.queries import member_handlers
from broker_core.worker.embedded.sampler import Sampler
from broker_core.worker.questions.administration import ListMembers
from broker_core.worker.questions.stored_messages import ReadLifeline
from monitoring.admin.connections import ConnectionRates, client_rows
from tests.support.broker_bench import SMALL_FILES
from tests.support.broker_thread import broker_thread
from tests.support.grpc_stub import SERVICE, RawClient, message, receive_request, resource
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    root = tmp_path_factory.mktemp("grpc")
    config = BrokerConfig(
        listen_port=0,
        name_server_port=0,
        property_filter=True,
        recall_messages=True,
        transaction_check_interval_ms=300,
        store=StoreConfig(root=root, **(SMALL_FILES | {"commit_log_file_bytes": 16 << 20})),
    )
    with broker_thread(root, config) as running:
        yield running


@pytest.fixture
def port(running):
    return running.broker.grpc.server.port


@pytest.fixture
def client(port):
    with RawClient(port) as client:
        yield client


def make(running, topic, queues=4):
    running.create(topic, queues)
    return topic


def new_group(client, group, *topics, **more):
    client.announce_consumer(group, *topics, **more)
    return group


def code_of(response):
    return pb.Code.Name(response.status.code)


# ---- the port ----


def test_plain_and_encrypted_connections_on_one_port(running, port):  # [1, 2]
    topic = make(running, "PlainAndTls")
    pem = ssl.get_server_certificate(("127.0.0.1", port)).encode()
    with RawClient(port) as plain:
        assert code_of(plain.call("QueryRoute", pb.QueryRouteRequest(topic=resource(topic)))) == "OK"
        channel = grpc.secure_channel(f"127.0.0.1:{port}", grpc.ssl_channel_credentials(pem))
        plain.channel.close()
        plain.channel = channel
        assert code_of(plain.call("QueryRoute", pb.QueryRouteRequest(topic=resource(topic)))) == "OK"


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("host", [None, "localhost", "127.0.0.1", f"{'x' * 60}.example"])
@pytest.mark.parametrize(
    ("offered", "selected"),
    [(["h2"], "h2"), (["http/1.1", "h2"], "h2"), (["grpc-exp", "h2"], "h2"), (["http/1.1"], None), ([], None)],
)
def test_encryption_selects_h2_where_it_is_offered(port, offered, selected, host, newest):  # [2]
    """A client that offers something else is served as well, whatever host it names; a proxy closes its connection."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode, context.maximum_version = False, ssl.CERT_NONE, newest
    if offered:
        context.set_alpn_protocols(offered)
    raw = socket.create_connection(("127.0.0.1", port))
    with raw, context.wrap_socket(raw, server_hostname=host) as secured:
        assert (secured.selected_alpn_protocol(), secured.version()) == (selected, newest.name.replace("_", "."))
        secured.sendall(PREFACE + settings_frame({}))
        assert head_at(secured.recv(HEAD_BYTES), 0)[1] == FrameType.SETTINGS


def test_methods_that_no_proxy_serves(client):  # [51]
    for name in ("PullMessage", "UpdateOffset", "GetOffset", "QueryOffset", "SyncLiteSubscription", "Nothing"):
        method = client.channel.unary_unary(SERVICE + name)
        with pytest.raises(grpc.RpcError) as refused:
            method(b"", timeout=10, metadata=client.metadata)
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_call_without_a_client_id(client):  # [4]
    response = client.call("QueryRoute", pb.QueryRouteRequest(topic=resource("T")), metadata=())
    assert code_of(response) == "CLIENT_ID_REQUIRED"


def test_telemetry_without_a_client_id(port):  # [4]
    with RawClient(port) as client:
        client.metadata = ()
        stream = client.telemetry()
        stream.put(pb.TelemetryCommand(settings=pb.Settings()))
        commands = list(stream.rest())
        assert [command.status.code for command in commands] == [pb.CLIENT_ID_REQUIRED]


# ---- routes ----


@pytest.mark.parametrize(
    ("topic", "code"),
    [("Nope", "TOPIC_NOT_FOUND"), ("a b", "ILLEGAL_TOPIC"), (" ", "ILLEGAL_TOPIC"), ("TBW102", "ILLEGAL_TOPIC")],
)
def test_routes_of_topics_that_are_none(client, topic, code):  # [6]
    assert code_of(client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(topic)))) == code


def test_a_route_names_the_endpoints_of_the_request(running, client):  # [7]
    topic = make(running, "Endpoints")
    asked = pb.Endpoints(scheme=pb.DOMAIN_NAME, addresses=[pb.Address(host="localhost", port=1234)])
    route = client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(topic), endpoints=asked))
    assert {queue.broker.endpoints.SerializeToString() for queue in route.message_queues} == {asked.SerializeToString()}
    own = client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(topic)))
    assert own.message_queues[0].broker.endpoints.addresses[0] == pb.Address(host="127.0.0.1", port=client.port)


@pytest.mark.parametrize(
    ("queues", "permission", "expected"),
    [((3, 2), 6, ["READ_WRITE"] * 2 + ["READ"]), ((2, 2), 4, ["READ"] * 2), ((2, 2), 2, ["WRITE"] * 2)],
)
def test_permissions_of_queues(running, client, queues, permission, expected):  # [8]
    topic = f"Queues{permission}"
    running.thread.call(running.broker.create_topic(topic, *queues, permission))
    route = client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(topic)))
    assert [pb.Permission.Name(queue.permission) for queue in route.message_queues] == expected


def test_a_topic_without_a_type_takes_all_four(running, client):  # [9]
    route = client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(make(running, "AnyType"))))
    assert list(route.message_queues[0].accept_message_types) == [pb.NORMAL, pb.FIFO, pb.DELAY, pb.TRANSACTION]


def test_assignments(running, client):  # [10]
    topic = make(running, "Assigned")
    ask = pb.QueryAssignmentRequest(topic=resource(topic), group=resource("AnyGroup"))
    assert [entry.message_queue.id for entry in client.call("QueryAssignment", ask).assignments] == [-1]
    ask = pb.QueryAssignmentRequest(topic=resource("Nope"), group=resource("AnyGroup"))
    assert code_of(client.call("QueryAssignment", ask)) == "TOPIC_NOT_FOUND"
    running.thread.call(running.broker.create_topic("WriteOnly", 2, 2, 2))
    ask = pb.QueryAssignmentRequest(topic=resource("WriteOnly"), group=resource("AnyGroup"))
    assert code_of(client.call("QueryAssignment", ask)) == "FORBIDDEN"


# ---- settings ----


def test_settings_of_a_producer(client):  # [11]
    reply = client.announce_producer("P1", "P2")
    policy = reply.settings.backoff_policy
    assert reply.status.code == pb.OK
    assert policy.max_attempts == 3
    assert (policy.exponential_backoff.initial.ToMilliseconds(), policy.exponential_backoff.max.ToMilliseconds()) == (10, 1000)
    assert reply.settings.publishing.max_body_size == 4 * 1024 * 1024
    assert reply.settings.publishing.validate_message_type
    assert [topic.name for topic in reply.settings.publishing.topics] == ["P1", "P2"]


def test_settings_of_a_consumer(running, client):  # [12]
    reply = client.announce_consumer("SettingsGroup", make(running, "SettingsTopic"))
    subscription = reply.settings.subscription
    assert (subscription.fifo, subscription.receive_batch_size) == (False, 32)
    assert subscription.long_polling_timeout.ToMilliseconds() == 20_000
    assert reply.settings.backoff_policy.max_attempts == 17
    assert len(reply.settings.backoff_policy.customized_backoff.next) == 18


@pytest.mark.parametrize(
    "settings",
    [
        pb.Settings(client_type=pb.PRODUCER),
        pb.Settings(client_type=pb.PRODUCER, publishing=pb.Publishing(topics=[pb.Resource(name="a b")])),
    ],
)
def test_settings_that_cannot_be_taken_end_the_stream(client, settings):  # [14]
    stream = client.telemetry()
    stream.put(pb.TelemetryCommand(settings=settings))
    with pytest.raises(grpc.RpcError) as refused:
        stream.next()
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_unknown_languages_and_fields_are_taken(port):  # [15, 16]
    with RawClient(port, metadata={"x-mq-language": "KLINGON"}) as client:
        settings = pb.Settings(client_type=pb.PRODUCER, publishing=pb.Publishing(), client_properties={"team": "a"})
        assert client.telemetry().ask(settings).settings.client_properties == {"team": "a"}


def test_a_lite_consumer_ends_its_stream_alone(running, client):  # [52]
    subscription = pb.Subscription(group=resource("Lite"))
    stream = client.telemetry()
    stream.put(pb.TelemetryCommand(settings=pb.Settings(client_type=pb.LITE_PUSH_CONSUMER, subscription=subscription)))
    with pytest.raises(grpc.RpcError) as refused:
        stream.next()
    assert refused.value.code() is grpc.StatusCode.INTERNAL
    route = client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(make(running, "AfterLite"))))
    assert code_of(route) == "OK"


def test_heartbeats(running, client):  # [17]
    request = pb.HeartbeatRequest(group=resource("Beating"), client_type=pb.SIMPLE_CONSUMER)
    assert code_of(client.call("Heartbeat", request)) == "UNRECOGNIZED_CLIENT_TYPE"
    new_group(client, "Beating", make(running, "BeatingTopic"))
    assert code_of(client.call("Heartbeat", request)) == "OK"
    blank = pb.HeartbeatRequest(group=resource(" "), client_type=pb.SIMPLE_CONSUMER)
    assert code_of(client.call("Heartbeat", blank)) == "ILLEGAL_CONSUMER_GROUP"


def test_a_client_that_leaves_is_in_no_table(running, client):  # [18]
    new_group(client, "Leaving", make(running, "LeavingTopic"))
    assert running.broker.consumers.group("Leaving").client_ids == [client.client_id]
    assert running.broker.topics.get("%RETRY%Leaving") is not None
    leave = pb.NotifyClientTerminationRequest(group=resource("Leaving"))
    assert code_of(client.call("NotifyClientTermination", leave)) == "OK"
    assert running.broker.consumers.group("Leaving") is None
    assert code_of(client.call("NotifyClientTermination", leave)) == "UNRECOGNIZED_CLIENT_TYPE"


# ---- sends ----

LONG_GROUP = "g" * 64


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ([], "MESSAGE_CORRUPTED"),
        ([message("a b")], "ILLEGAL_TOPIC"),
        ([message("Checked"), message("Other")], "MESSAGE_CORRUPTED"),
        ([message("Checked", b"")], "MESSAGE_BODY_EMPTY"),
        ([message("Checked", bytes(4 * 1024 * 1024 + 1))], "MESSAGE_BODY_TOO_LARGE"),
        ([message("Checked", properties={f"p{n}": "v" for n in range(129)})], "MESSAGE_PROPERTIES_TOO_LARGE"),
        ([message("Checked", properties={"UNIQ_KEY": "x"})], "ILLEGAL_MESSAGE_PROPERTY_KEY"),
        ([message("Checked", properties={"a": "x\x01y"})], "ILLEGAL_MESSAGE_PROPERTY_KEY"),
        ([message("Checked", tag="  ")], "ILLEGAL_MESSAGE_TAG"),
        ([message("Checked", tag="a|b")], "ILLEGAL_MESSAGE_TAG"),
        ([message("Checked", keys=[" "])], "ILLEGAL_MESSAGE_KEY"),
        ([message("Checked", properties={"a": "x" * 16_400})], "MESSAGE_PROPERTIES_TOO_LARGE"),
        ([message("Checked", message_id=" ")], "ILLEGAL_MESSAGE_ID"),
        ([message("Checked", message_group=LONG_GROUP)], "ILLEGAL_MESSAGE_GROUP"),
        ([message("Nowhere")], "TOPIC_NOT_FOUND"),
    ],
)
def test_sends_that_are_refused(running, client, wrong, code):  # [21, 22]
    make(running, "Checked")
    assert code_of(client.send(*wrong)) == code


def test_delays_of_more_than_a_day_are_refused(running, client):  # [49]
    late = message(make(running, "Late"))
    late.system_properties.delivery_timestamp.FromSeconds(int(time.time()) + 86_400 + 100)
    assert code_of(client.send(late)) == "ILLEGAL_DELIVERY_TIME"


def test_the_largest_body_passes(running, client):  # [22]
    response = client.send(message(make(running, "Large"), bytes(4 * 1024 * 1024)))
    assert code_of(response) == "OK"


def test_a_topic_with_a_type_refuses_others(running, client):  # [23]
    async def set_types():
        for name, kind in (("OnlyNormal", "NORMAL"), ("OnlyFifo", "FIFO")):
            await running.broker.create_topic(name, 2, 2, 6, message_type=kind)

    running.thread.call(set_types())
    assert code_of(client.send(message("OnlyNormal", message_group="g"))) == "MESSAGE_PROPERTY_CONFLICT_WITH_TYPE"
    assert code_of(client.send(message("OnlyFifo"))) == "MESSAGE_PROPERTY_CONFLICT_WITH_TYPE"
    assert code_of(client.send(message("OnlyNormal", message_type=pb.FIFO))) == "OK"
    route = client.call("QueryRoute", pb.QueryRouteRequest(topic=resource("OnlyFifo")))
    assert list(route.message_queues[0].accept_message_types) == [pb.FIFO]


def test_several_messages_have_an_entry_each(running, client):  # [24, 26]
    topic = make(running, "Several")
    sent = [message(topic, b"one"), message(topic, b"two")]
    response = client.send(*sent)
    ids = [entry.message_id for entry in response.entries]
    assert ids == [one.system_properties.message_id for one in sent]
    assert [entry.transaction_id for entry in response.entries] == ids
    assert code_of(response) == "OK"


def test_messages_of_a_group_lie_in_one_queue_in_order(running, client):  # [25]
    topic = make(running, "Grouped")
    offsets = [client.send(message(topic, b"%d" % n, message_group="orders-7")).entries[0].offset for n in range(20)]
    assert offsets == list(range(offsets[0], offsets[0] + 20))


# ---- receives ----


def test_what_is_sent_is_received_as_it_was(running, client):  # [27, 29]
    topic, group = make(running, "RoundTrip"), "RoundTripGroup"
    sent = message(topic, b"payload", tag="A", keys=["k1", "k2"], properties={"color": "red"}, trace_context="tc")
    client.send(sent)
    new_group(client, group, topic)
    received = client.receive(group, topic)
    assert received.kinds == ["status", "message", "delivery_timestamp"]
    found = received.messages[0]
    system = found.system_properties
    assert (found.topic.name, found.body, dict(found.user_properties)) == (topic, b"payload", {"color": "red"})
    assert (system.tag, list(system.keys), system.trace_context) == ("A", ["k1", "k2"], "tc")
    assert system.message_id == sent.system_properties.message_id
    assert system.body_digest == pb.Digest(type=pb.MD5, checksum=hashlib.md5(b"payload").hexdigest().upper())
    assert (system.delivery_attempt, system.message_type) == (1, pb.NORMAL)


def test_a_message_of_remoting_is_received(running, client):  # [27, 28]
    topic, group = make(running, "FromRemoting"), "FromRemotingGroup"
    body = b"compressed " * 2_000

    async def send():
        async with Producer(running.name_server) as producer:
            await producer.send(Message(topic, body, tags="T", keys=("k",)))

    running.thread.call(send())
    new_group(client, group, topic)
    found = client.receive(group, topic).messages[0]
    assert (found.body, found.system_properties.tag, list(found.system_properties.keys)) == (body, "T", ["k"])
    assert found.system_properties.body_encoding == pb.IDENTITY


def test_a_receive_without_a_message_says_so_after_its_time(running, client):  # [29, 31]
    topic, group = make(running, "Empty"), "EmptyGroup"
    new_group(client, group, topic)
    received = client.receive(group, topic, poll=5, timeout=6)
    assert received.kinds == ["status", "delivery_timestamp"]
    assert received.status.code == pb.MESSAGE_NOT_FOUND


def test_a_waiting_receive_gets_a_message_that_comes(running, client, port):  # [30]
    topic, group = make(running, "Waited"), "WaitedGroup"
    new_group(client, group, topic)
    stream = client.start_receive(receive_request(group, topic, poll=15))
    wait_until(lambda: running.thread.call(held(running)), "no receive waits")
    with RawClient(port) as other:
        other.send(message(topic, b"now"))
    assert [response.message.body for response in stream if response.HasField("message")] == [b"now"]


async def held(running):
    return len(running.broker._loaded.dispatcher.pop.processor.holds)


def test_a_cancelled_receive_takes_nothing(running, client, port):  # [36]
    topic, group = make(running, "Cancelled"), "CancelledGroup"
    new_group(client, group, topic)
    before = running.thread.call(held(running))
    stream = client.start_receive(receive_request(group, topic, poll=15))
    wait_until(lambda: running.thread.call(held(running)) == before + 1)
    stream.cancel()
    wait_until(lambda: running.thread.call(held(running)) == before)
    with RawClient(port) as other:
        other.send(message(topic, b"for the next"))
        new_group(other, group, topic)
        assert other.receive(group, topic).bodies == [b"for the next"]


@pytest.mark.parametrize("invisible_ms", [9_999, 43_200_001])
def test_invisible_times_out_of_bounds(running, client, invisible_ms):  # [32]
    topic = make(running, "Invisible")
    new_group(client, "InvisibleGroup", topic)
    request = receive_request("InvisibleGroup", topic)
    request.invisible_duration.FromMilliseconds(invisible_ms)
    assert next(client.start_receive(request)).status.code == pb.ILLEGAL_INVISIBLE_TIME


def test_a_deadline_too_short_for_a_poll(running, client):  # [31]
    topic = make(running, "Short")
    new_group(client, "ShortGroup", topic)
    request = receive_request("ShortGroup", topic, poll=20)
    assert next(client.start_receive(request, timeout=3)).status.code == pb.ILLEGAL_POLLING_TIME


def test_filters(running, client):  # [33]
    topic = make(running, "Filtered", 1)
    for tag in "ABC":
        client.send(message(topic, tag.encode(), tag=tag, properties={"a": "1" if tag == "B" else "2"}))
    new_group(client, "TagGroup", topic)
    tags = pb.FilterExpression(type=pb.TAG, expression="A || C")
    assert client.receive("TagGroup", topic, filter_expression=tags).bodies == [b"A", b"C"]
    new_group(client, "SqlGroup", topic)
    sql = pb.FilterExpression(type=pb.SQL, expression="a = '1'")
    assert client.receive("SqlGroup", topic, filter_expression=sql).bodies == [b"B"]
    bad = receive_request("SqlGroup", topic, filter_expression=pb.FilterExpression(type=pb.SQL, expression="a ="))
    assert next(client.start_receive(bad)).status.code == pb.ILLEGAL_FILTER_EXPRESSION


def test_a_receive_of_an_unknown_client(running, port):  # [35]
    topic = make(running, "Unknown")
    with RawClient(port) as stranger:
        response = next(stranger.start_receive(receive_request("UnknownGroup", topic)))
        assert response.status.code == pb.UNRECOGNIZED_CLIENT_TYPE


def test_at_most_32_messages(running, client):  # [37]
    topic = make(running, "Many", 1)
    client.send(*(message(topic, b"%d" % number) for number in range(40)))
    new_group(client, "ManyGroup", topic)
    assert len(client.receive("ManyGroup", topic, count=100).messages) == 32


# ---- deliveries ----


def entry_of(found, handle=None):
    system = found.system_properties
    return pb.AckMessageEntry(message_id=system.message_id, receipt_handle=handle or system.receipt_handle)


def ack(client, group, topic, *entries):
    return client.call("AckMessage", pb.AckMessageRequest(group=resource(group), topic=resource(topic), entries=entries))


def change(client, group, topic, handle, seconds):
    request = pb.ChangeInvisibleDurationRequest(group=resource(group), topic=resource(topic), receipt_handle=handle)
    request.invisible_duration.FromSeconds(seconds)
    return client.call("ChangeInvisibleDuration", request)


def test_an_acked_message_does_not_come_again(running, client):  # [38]
    topic, group = make(running, "Acked"), "AckedGroup"
    client.send(message(topic))
    new_group(client, group, topic)
    found = client.receive(group, topic).messages[0]
    assert code_of(ack(client, group, topic, entry_of(found))) == "OK"
    assert code_of(ack(client, group, topic, entry_of(found))) == "OK"
    wrong = ack(client, group, topic, entry_of(found), entry_of(found, "no handle"))
    assert code_of(wrong) == "MULTIPLE_RESULTS"
    assert [pb.Code.Name(entry.status.code) for entry in wrong.entries] == ["OK", "INVALID_RECEIPT_HANDLE"]


def test_a_changed_delivery_comes_again_with_another_handle(running, client):  # [40]
    topic, group = make(running, "Changed"), "ChangedGroup"
    client.send(message(topic, b"again"))
    new_group(client, group, topic)
    first = client.receive(group, topic).messages[0].system_properties.receipt_handle
    changed = change(client, group, topic, first, 0)
    assert code_of(changed) == "OK"
    assert changed.receipt_handle not in ("", first)
    again = client.receive(group, topic, poll=15).messages[0]
    assert (again.body, again.topic.name, again.system_properties.delivery_attempt) == (b"again", topic, 2)
    assert code_of(ack(client, group, topic, entry_of(again))) == "OK"
    refused = change(client, group, topic, "no handle", 10)
    assert (code_of(refused), refused.receipt_handle) == ("INVALID_RECEIPT_HANDLE", "no handle")


def test_a_message_without_attempts_left_is_a_dead_letter(running, client):  # [42]
    topic, group = make(running, "Dying"), "DyingGroup"
    new_group(client, group, topic)

    async def one_retry():
        groups = running.broker.groups
        groups.put(dataclasses.replace(groups.get(group), retry_times_max=1))

    running.thread.call(one_retry())
    client.send(message(topic, b"dies", properties={"why": "test"}))
    for attempt in (1, 2):
        found = client.receive(group, topic, poll=15).messages[0]
        assert found.system_properties.delivery_attempt == attempt
        change(client, group, topic, found.system_properties.receipt_handle, 0)
    assert client.receive(group, topic, poll=15).status.code == pb.MESSAGE_NOT_FOUND
    dead = f"%DLQ%{group}"
    new_group(client, "Undertaker", dead)
    buried = client.receive("Undertaker", dead).messages[0]
    assert (buried.body, dict(buried.user_properties)) == (b"dies", {"why": "test"})


def test_a_forwarded_message_is_a_dead_letter(running, client):  # [43]
    topic, group = make(running, "Forwarded"), "ForwardedGroup"
    client.send(message(topic, b"other"), message(topic, b"forward me"))
    new_group(client, group, topic)
    messages = client.receive(group, topic).messages
    found = next(one for one in messages if one.body == b"forward me")
    handle = change(client, group, topic, found.system_properties.receipt_handle, 60).receipt_handle
    request = pb.ForwardMessageToDeadLetterQueueRequest(group=resource(group), topic=resource(topic), receipt_handle=handle)
    assert code_of(client.call("ForwardMessageToDeadLetterQueue", request)) == "OK"
    dead = f"%DLQ%{group}"
    new_group(client, "ForwardReader", dead)
    assert client.receive("ForwardReader", dead).bodies == [b"forward me"]


# ---- transactions, delays ----


def end(client, topic, sent, resolution, source=pb.SOURCE_CLIENT):
    request = pb.EndTransactionRequest(
        topic=resource(topic),
        message_id=sent.message_id,
        transaction_id=sent.transaction_id,
        resolution=resolution,
        source=source,
    )
    return client.call("EndTransaction", request)


def test_committed_and_rolled_back_transactions(running, client):  # [47]
    topic, group = make(running, "Transactions"), "TransactionsGroup"
    new_group(client, group, topic)
    halves = [client.send(message(topic, body, message_type=pb.TRANSACTION)).entries[0] for body in (b"commit", b"roll back")]
    assert code_of(end(client, topic, halves[0], pb.COMMIT)) == "OK"
    assert code_of(end(client, topic, halves[1], pb.ROLLBACK)) == "OK"
    assert client.receive(group, topic).bodies == [b"commit"]
    assert code_of(end(client, topic, halves[0], pb.COMMIT)) == "OK"
    assert client.receive(group, topic, poll=5).status.code == pb.MESSAGE_NOT_FOUND
    halves[0].transaction_id = "unknown"
    assert code_of(end(client, topic, halves[0], pb.COMMIT)) == "INVALID_TRANSACTION_ID"


def test_an_orphaned_transaction_is_asked_for(running, client):  # [48]
    topic, group = make(running, "Orphans"), "OrphansGroup"
    new_group(client, group, topic)
    with RawClient(client.port) as producer:
        stream = producer.telemetry()
        stream.ask(pb.Settings(client_type=pb.PRODUCER, publishing=pb.Publishing()))
        half = message(topic, b"orphan", message_type=pb.TRANSACTION)
        half.system_properties.orphaned_transaction_recovery_duration.FromSeconds(1)
        producer.send(half)
        command = stream.next().recover_orphaned_transaction_command
        assert (command.message.body, command.message.topic.name) == (b"orphan", topic)
        sent = pb.SendResultEntry(message_id=half.system_properties.message_id, transaction_id=command.transaction_id)
        assert code_of(end(producer, topic, sent, pb.COMMIT, pb.SOURCE_SERVER_CHECK)) == "OK"
    assert client.receive(group, topic, poll=10).bodies == [b"orphan"]


def test_a_delayed_message_comes_when_it_is_due_and_can_be_recalled(running, client):  # [49]
    topic, group = make(running, "Delayed"), "DelayedGroup"
    new_group(client, group, topic)
    soon, recalled = message(topic, b"soon"), message(topic, b"recalled")
    soon.system_properties.delivery_timestamp.FromMilliseconds(int(time.time() * 1000) + 1_500)
    recalled.system_properties.delivery_timestamp.FromSeconds(int(time.time()) + 600)
    handle = client.send(recalled).entries[0].recall_handle
    assert client.send(soon).entries[0].recall_handle
    response = client.call("RecallMessage", pb.RecallMessageRequest(topic=resource(topic), recall_handle=handle))
    assert (code_of(response), response.message_id) == ("OK", recalled.system_properties.message_id)
    found = client.receive(group, topic, poll=15).messages[0]
    assert (found.body, found.system_properties.message_type) == (b"soon", pb.DELAY)
    bad = client.call("RecallMessage", pb.RecallMessageRequest(topic=resource(topic), recall_handle="?"))
    assert code_of(bad) == "INTERNAL_SERVER_ERROR"


def test_two_streams_of_one_client(running, client):  # [20]
    topic, group = make(running, "TwoStreams"), "TwoStreamsGroup"
    client.announce_consumer(group, topic)
    first = client._streams[-1]
    client.announce_consumer(group, topic)
    first.close()
    with contextlib.suppress(StopIteration):
        first.next()
    assert code_of(client.call("Heartbeat", pb.HeartbeatRequest(group=resource(group), client_type=pb.SIMPLE_CONSUMER))) == "OK"


# ---- what the window sees ----


def test_a_client_is_listed_with_its_protocol_and_version(running, client):
    topic = make(running, "Listed")
    new_group(client, "ListedGroup", topic)

    async def listed():
        return client_rows(*with_traffic(list_connections(running.broker, now_ms=0)))

    rows = [row for row in running.thread.call(listed()) if row.client_id == client.client_id]
    assert [(row.group, row.client, dict(row.topics)) for row in rows] == [("ListedGroup", "Java 5.2.0 gRPC", {topic: "*"})]
    assert rows[0].requests >= 1


def test_types_streams_and_leases_of_clients_are_listed(running, port):
    topic = make(running, "Kinds", 1)
    with RawClient(port) as push, RawClient(port) as simple:
        push.announce_consumer("PushGroup", topic, kind=pb.PUSH_CONSUMER)
        simple.announce_consumer("SimpleGroup", topic, kind=pb.SIMPLE_CONSUMER)
        simple.send(message(topic), message(topic))
        assert len(push.receive("PushGroup", topic, auto_renew=True).messages) == 2

        async def listed():
            return client_rows(*with_traffic(list_connections(running.broker, now_ms=0)))

        rows = {row.client_id: row for row in running.thread.call(listed())}
    one, other = rows[push.client_id], rows[simple.client_id]
    assert (one.protocol, one.kind, one.streams, one.leases) == ("gRPC", "push consumer", 1, 2)
    assert (other.protocol, other.kind, other.leases) == ("gRPC", "simple consumer", -1)
    assert other.streams >= 1


def test_members_of_grpc_count_and_name_their_protocol(running, client):
    topic = make(running, "Counted", 1)
    new_group(client, "CountedGroup", topic)
    (handler,) = member_handlers(running.broker)
    members = running.thread.call(handler.answer(ListMembers("CountedGroup")))
    assert (members.client_id, members.protocol, members.version) == ([client.client_id], ["gRPC"], ["5.2.0"])

    async def sampled():
        sampler = Sampler(running.broker, clock=lambda: 0)
        groups = sampler.catalog().groups
        return dict(zip(groups, memoryview(sampler.snapshot().groups["members"]).cast("q"), strict=True))

    assert running.thread.call(sampled())["CountedGroup"] == 1


def test_the_life_line_names_the_protocol_of_sender_and_group(running, client):
    topic = make(running, "Lived", 1)
    new_group(client, "LivedGroup", topic)
    client.send(message(topic))
    running.send(topic, 0, [b"by remoting"])
    for received in client.receive("LivedGroup", topic).messages:
        system = received.system_properties
        entry = pb.AckMessageEntry(message_id=system.message_id, receipt_handle=system.receipt_handle)
        request = pb.AckMessageRequest(group=resource("LivedGroup"), topic=resource(topic), entries=[entry])
        client.call("AckMessage", request)

    async def lines():
        messages = StoredMessages(running.broker, None, asyncio.to_thread)
        places = [unit.physical_offset for unit in running.broker.store.queue_units(topic, 0, 0, 2)]
        return [await messages._read_lifeline(ReadLifeline(place)) for place in places]

    told = [dict(zip(line.kind, line.protocol, strict=True)) for line in running.thread.call(lines())]
    assert [line["produced"] for line in told] == ["gRPC", "remoting"]
    assert [line["passed"] for line in told] == ["gRPC", "gRPC"]


def with_traffic(page):
    return page, ConnectionRates().add(page)
