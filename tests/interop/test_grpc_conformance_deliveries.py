"""Deliveries over time by raw clients: lines of docs/spec/grpc.md §11 (numbers in brackets) beside test_calls.py."""

import contextlib
import hashlib
import shutil

import pytest
from google.protobuf.duration_pb2 import Duration

from broker_core.engine.grpc.renewals import INVISIBLE_MS
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.http2.frames import WINDOW_DEFAULT
from broker_core.protocol.message.body import compress_body
from broker_core.protocol.message.sys_flag import Compression, with_compression
from tests.support.grpc_broker import ack, change, grpc_broker, handle_of
from tests.support.grpc_stub import RawClient, message, receive_request, resource
from tests.support.http2_peer import Http2Peer
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with grpc_broker(tmp_path_factory.mktemp("grpc"), recall_messages=True, transaction_check_interval_ms=300) as broker:
        yield broker


@pytest.fixture
def client(broker):
    with RawClient(broker.port) as client:
        yield client


@pytest.fixture
def other(broker):
    with RawClient(broker.port) as other:
        yield other


def code_of(response):
    return pb.Code.Name(response.status.code)


def heartbeat(client, group):
    request = pb.HeartbeatRequest(group=resource(group), client_type=pb.PUSH_CONSUMER)
    assert code_of(client.call("Heartbeat", request)) == "OK"


def push_consumer(broker, client, group, topic):
    broker.group(client, group, topic, kind=pb.PUSH_CONSUMER)


def taken(client, group, topic, **more):
    received = client.receive(group, topic, **more)
    assert received.messages, received.status
    return received.messages[0]


# ---- receives ----


@pytest.mark.parametrize("compression", [Compression.LZ4, Compression.ZSTD, Compression.ZLIB])
def test_a_compressed_body_is_received_as_it_was(broker, client, compression):  # [28]
    topic, group = broker.topic(f"Compressed{compression.name}"), f"Compressed{compression.name}Group"
    body = b"compressed by remoting " * 400
    broker.put_raw(topic, compress_body(body, compression), with_compression(0, compression))
    broker.group(client, group, topic)
    found = taken(client, group, topic)
    assert (found.body, found.system_properties.body_encoding) == (body, pb.IDENTITY)
    digest = hashlib.md5(body, usedforsecurity=False).hexdigest().upper()
    assert found.system_properties.body_digest == pb.Digest(type=pb.MD5, checksum=digest)


def test_the_queue_of_a_request_does_not_matter(broker, client):  # [34]
    topic, group = broker.topic("ThirdQueue"), "ThirdQueueGroup"
    broker.running.send(topic, 3, [b"in queue 3"])
    broker.group(client, group, topic)
    request = receive_request(group, topic)
    request.message_queue.id = 0
    bodies = [one.message.body for one in client.start_receive(request) if one.HasField("message")]
    assert bodies == [b"in queue 3"]


def test_an_invisible_time_is_needed_unless_the_broker_renews(broker, client):  # [32]
    topic, group = broker.topic("NoTime"), "NoTimeGroup"
    push_consumer(broker, client, group, topic)
    request = receive_request(group, topic)
    request.ClearField("invisible_duration")
    assert code_of(next(client.start_receive(request))) == "ILLEGAL_INVISIBLE_TIME"
    client.send(message(topic, b"renewed"))
    found = taken(client, group, topic, auto_renew=True)
    invisible_ms = int(handle_of(found).split(" ")[2])
    assert (found.body, invisible_ms) == (b"renewed", 60_000)


# ---- acks and changes ----


def test_an_ack_outlives_a_restart(tmp_path):  # [38]
    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        client.send(message(broker.topic("AckKept", 1), b"acked"), message("AckKept", b"not acked"))
        broker.group(client, "AckKeptGroup", "AckKept")
        found = {one.body: one for one in client.receive("AckKeptGroup", "AckKept").messages}
        assert code_of(ack(client, "AckKeptGroup", "AckKept", found[b"acked"])) == "OK"
    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        broker.group(client, "AckKeptGroup", "AckKept")
        broker.move(20)
        assert taken(client, "AckKeptGroup", "AckKept", poll=10).body == b"not acked"
        assert client.receive("AckKeptGroup", "AckKept").messages == []


def test_a_message_that_a_push_consumer_works_on_is_acked_after_a_restart(tmp_path):  # [38]
    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        broker.group(client, "Works", broker.topic("Works", 1), kind=pb.PUSH_CONSUMER)
        client.send(message("Works", b"worked on"), message("Works", b"left"))
        found = {one.body: one for one in client.receive("Works", "Works", auto_renew=True).messages}
    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        client.announce_consumer("Works", "Works", kind=pb.PUSH_CONSUMER)
        assert code_of(ack(client, "Works", "Works", found[b"worked on"])) == "OK"
        broker.move(INVISIBLE_MS / 1000)
        found = client.receive("Works", "Works", auto_renew=True, poll=10).bodies
        found += client.receive("Works", "Works", auto_renew=True).bodies
        assert found == [b"left"]


@pytest.mark.parametrize("later_seconds", [5, 25], ids=["while the first handle lasts", "while the renewal lasts"])
@pytest.mark.parametrize("renewals", [1, 2])
def test_the_first_handle_of_a_renewed_delivery_acks_after_a_kill(tmp_path, renewals, later_seconds):  # [38, 44]
    left, killed, after_seconds = tmp_path / "left", tmp_path / "killed", INVISIBLE_MS / 1000 - 10
    with grpc_broker(left) as broker, RawClient(broker.port) as client:
        broker.group(client, "Renewed", broker.topic("Renewed", 1), kind=pb.PUSH_CONSUMER)
        client.send(message("Renewed", b"worked on"), message("Renewed", b"left"))
        found = {one.body: one for one in client.receive("Renewed", "Renewed", auto_renew=True).messages}
        for _ in range(renewals):
            broker.move(after_seconds)
        shutil.copytree(left, killed)  # as a kill leaves it
    with grpc_broker(killed) as broker, RawClient(broker.port) as client:
        client.announce_consumer("Renewed", "Renewed", kind=pb.PUSH_CONSUMER)
        broker.move(renewals * after_seconds + later_seconds)
        assert code_of(ack(client, "Renewed", "Renewed", found[b"worked on"])) == "OK"
        broker.move(10 * INVISIBLE_MS / 1000)
        received = client.receive("Renewed", "Renewed", auto_renew=True, poll=10).bodies
        received += client.receive("Renewed", "Renewed", auto_renew=True).bodies
        assert received == [b"left"]


def test_a_renewed_delivery_is_acked_after_a_stop_or_comes_again_within_a_minute(tmp_path):  # [38, 44]
    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        broker.group(client, "Stopped", broker.topic("Stopped", 1), kind=pb.PUSH_CONSUMER)
        client.send(message("Stopped", b"worked on"), message("Stopped", b"left"))
        found = {one.body: one for one in client.receive("Stopped", "Stopped", auto_renew=True).messages}
        for _ in range(2):
            broker.move(INVISIBLE_MS / 1000 - 10)
        ahead = 2 * (INVISIBLE_MS / 1000 - 10)
    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        client.announce_consumer("Stopped", "Stopped", kind=pb.PUSH_CONSUMER)
        broker.move(ahead + 10)
        assert code_of(ack(client, "Stopped", "Stopped", found[b"worked on"])) == "OK"
        broker.move(INVISIBLE_MS / 1000)
        received = client.receive("Stopped", "Stopped", auto_renew=True, poll=10).bodies
        received += client.receive("Stopped", "Stopped", auto_renew=True).bodies
        assert received == [b"left"]


def test_an_ack_after_the_time_is_refused(broker, client):  # [38]
    topic, group = broker.topic("TooLate"), "TooLateGroup"
    client.send(message(topic))
    broker.group(client, group, topic)
    found = taken(client, group, topic)
    broker.move(16)
    refused = ack(client, group, topic, found)
    assert code_of(refused) == "INVALID_RECEIPT_HANDLE"
    assert code_of(refused.entries[0]) == "INVALID_RECEIPT_HANDLE"


def test_acks_of_one_call_have_results_of_their_own(broker, client):  # [39]
    topic, group = broker.topic("TwoAcks", 1), "TwoAcksGroup"
    broker.group(client, group, topic)
    client.send(message(topic, b"first"))
    first = taken(client, group, topic, count=1)
    broker.move(10)
    client.send(message(topic, b"second"))
    second = taken(client, group, topic, count=1)
    broker.move(6)
    answer = ack(client, group, topic, first, second)
    assert code_of(answer) == "MULTIPLE_RESULTS"
    assert [code_of(entry) for entry in answer.entries] == ["INVALID_RECEIPT_HANDLE", "OK"]
    assert [entry.receipt_handle for entry in answer.entries] == [handle_of(first), handle_of(second)]


def test_a_changed_time_decides_when_a_message_comes_again(broker, client):  # [40]
    topic, group = broker.topic("ThreeSeconds"), "ThreeSecondsGroup"
    broker.group(client, group, topic)
    client.send(message(topic))
    first = handle_of(taken(client, group, topic))
    changed = change(client, group, topic, first, 3)
    assert changed.receipt_handle not in ("", first)
    broker.move(2)
    assert broker.held() == 0
    again = taken(client, group, topic, poll=15)
    assert again.system_properties.delivery_attempt == 2
    assert code_of(ack(client, group, topic, again)) == "OK"


def test_the_new_handle_of_a_change_acks(broker, client):  # [40]
    topic, group = broker.topic("NewHandle"), "NewHandleGroup"
    broker.group(client, group, topic)
    client.send(message(topic))
    found = taken(client, group, topic)
    found.system_properties.receipt_handle = change(client, group, topic, handle_of(found), 30).receipt_handle
    assert code_of(ack(client, group, topic, found)) == "OK"
    broker.move(40)
    assert client.receive(group, topic).messages == []


def test_a_handle_that_was_changed_changes_nothing_more(broker, client):  # [40]
    topic, group = broker.topic("OneShot"), "OneShotGroup"
    broker.group(client, group, topic)
    client.send(message(topic))
    first = handle_of(taken(client, group, topic))
    assert code_of(change(client, group, topic, first, 30)) == "OK"
    refused = change(client, group, topic, first, 60)
    assert (code_of(refused), refused.receipt_handle) == ("INVALID_RECEIPT_HANDLE", first)


def test_a_message_is_delivered_as_often_as_its_group_says(broker, client):  # [42]
    topic, group = broker.topic("ThreeTimes"), "ThreeTimesGroup"
    broker.group(client, group, topic, retry_times_max=2)
    sent = message(topic, b"dies", properties={"why": "test"})
    client.send(sent)
    for attempt in (1, 2, 3):
        found = taken(client, group, topic, poll=15)
        assert found.system_properties.delivery_attempt == attempt
        change(client, group, topic, handle_of(found), 0)
    assert client.receive(group, topic, poll=15).messages == []
    broker.group(client, "ThreeTimesReader", f"%DLQ%{group}")
    buried = taken(client, "ThreeTimesReader", f"%DLQ%{group}")
    assert (buried.body, dict(buried.user_properties)) == (b"dies", {"why": "test"})
    origin = pb.DeadLetterQueue(topic=topic, message_id=sent.system_properties.message_id)
    assert buried.system_properties.dead_letter_queue == origin


# ---- renewals ----


def test_a_message_that_is_worked_on_for_90_seconds_comes_once(broker, client, other):  # [44]
    topic, group = broker.topic("SlowWork"), "SlowWorkGroup"
    push_consumer(broker, client, group, topic)
    push_consumer(broker, other, group, topic)
    client.send(message(topic, b"slow"))
    found = taken(client, group, topic, auto_renew=True)
    for _ in range(2):
        broker.move(45)
        heartbeat(client, group)
        heartbeat(other, group)
    assert other.receive(group, topic, auto_renew=True).messages == []
    assert code_of(ack(client, group, topic, found)) == "OK"
    broker.move(100)
    heartbeat(other, group)
    assert other.receive(group, topic, auto_renew=True).messages == []


def test_messages_of_a_killed_consumer_come_again(broker, client):  # [45]
    topic, group = broker.topic("Killed"), "KilledGroup"
    client.send(message(topic, b"held"))
    with RawClient(broker.port) as killed:
        push_consumer(broker, killed, group, topic)
        taken(killed, group, topic, auto_renew=True)
        broker.move(52)  # the delivery is renewed by a minute
        heartbeat(killed, group)
    push_consumer(broker, client, group, topic)
    broker.move(31)
    assert broker.members(group) == [client.client_id]
    again = taken(client, group, topic, poll=15)
    assert (again.body, again.system_properties.delivery_attempt) == (b"held", 2)


def test_a_silent_client_disappears_and_gives_its_messages_back(broker, client, other):  # [19]
    topic, group = broker.topic("Silent"), "SilentGroup"
    push_consumer(broker, client, group, topic)
    client.send(message(topic, b"held"))
    taken(client, group, topic, auto_renew=True)
    for _ in range(2):
        broker.move(52)  # renewed by one minute, then by three
    assert broker.members(group) == [client.client_id]
    broker.move(17)
    assert broker.members(group) == []
    push_consumer(broker, other, group, topic)
    again = taken(other, group, topic, poll=15)
    assert (again.body, again.system_properties.delivery_attempt) == (b"held", 2)


MIB = 1 << 20
SMALL_WINDOW = 30
"""Takes the status of an answer, and no message."""


UNREAD = {
    "unread": (WINDOW_DEFAULT, {"auto_renew": True}, 65),
    "unsent": (SMALL_WINDOW, {"auto_renew": True}, 5),
    "unsent, without renewal": (SMALL_WINDOW, {"invisible_duration": Duration(seconds=600)}, 5),
}
"""Name → window of the client, fields of its receive, seconds until the message comes again."""


@pytest.mark.parametrize("goes", ["reset", "close"])
@pytest.mark.parametrize("case", UNREAD)
def test_a_message_of_an_answer_that_nobody_read_comes_again(broker, client, other, case, goes):
    """Its client goes on to live: it cancels the call, or loses the connection, when the message has just been sent."""
    window, more, seconds = UNREAD[case]
    topic, group = broker.topic(f"Unread{len(broker.running.broker.topics)}", 1), "UnreadGroup"
    push_consumer(broker, client, group, topic)
    push_consumer(broker, other, group, topic)
    peer = Http2Peer(broker.port, window=window)
    with contextlib.closing(peer):
        stream = peer.call("ReceiveMessage", receive_request(group, topic, poll=20, **more), dict(client.metadata))
        wait_until(lambda: broker.held() == 1)
        client.send(message(topic, b"unread"))
        wait_until(lambda: broker.progress(group, topic) == 1)
        if goes == "reset":
            peer.reset(stream)
    wait_until(lambda: peer.address not in broker.connections())
    for _ in range(0, seconds, 5):
        broker.move(5)
        heartbeat(client, group)
    assert other.receive(group, topic).bodies == [b"unread"]


def test_many_large_messages_reach_a_client_that_reads_slowly(broker, client, other):
    """As many receives as messages of 4 MiB, all at once, on a connection that takes 64 KiB before it reads."""
    topic, group = broker.topic("Large", 24), "LargeGroup"
    push_consumer(broker, client, group, topic)
    bodies = {b"%03d" % number * (4 * MIB // 3) for number in range(24)}
    for body in bodies:
        other.send(message(topic, body))
    streams = [client.start_receive(receive_request(group, topic, poll=10, auto_renew=True)) for _ in bodies]
    found = [reply.message.body for stream in streams for reply in stream if reply.HasField("message")]
    assert (len(found), set(found)) == (24, bodies)


def put_packed(broker, topic, bodies):
    """Messages of a client of remoting, which compresses them."""
    for body in bodies:
        broker.put_raw(topic, compress_body(body), with_compression(0, Compression.ZLIB))


def test_bodies_that_are_small_in_the_store_reach_a_client_that_reads_slowly(broker, client):
    topic, group = broker.topic("Packed", 1), "PackedGroup"
    broker.group(client, group, topic)
    bodies = [b"%d" % (number % 10) * (4 * MIB) for number in range(20)]
    put_packed(broker, topic, bodies)
    assert client.receive(group, topic, count=32).bodies == bodies


def test_messages_that_wait_for_a_client_to_read_come_again_when_it_goes(broker, client):
    topic, group = broker.topic("PackedUnread", 1), "PackedUnreadGroup"
    broker.group(client, group, topic)
    bodies = [b"%d" % number * (6 * MIB) for number in range(5)]
    put_packed(broker, topic, bodies)
    with contextlib.closing(Http2Peer(broker.port, window=SMALL_WINDOW)) as peer:
        request = receive_request(group, topic, invisible_duration=Duration(seconds=600))
        stream = peer.call("ReceiveMessage", request, dict(client.metadata))
        wait_until(lambda: broker.progress(group, topic) == 5)
        peer.reset(stream)
    broker.move(5)
    wait_until(lambda: broker.running.broker.store.max_offset(f"%RETRY%{group}_{topic}", 0) == 5)
    assert sorted(client.receive(group, topic, count=32).bodies) == bodies


def test_messages_that_wait_for_a_client_to_read_come_again_after_a_restart(tmp_path):
    topic, group, bodies = "PackedStop", "PackedStopGroup", [b"%d" % number * (6 * MIB) for number in range(5)]
    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        broker.topic(topic, 1)
        broker.group(client, group, topic)
        put_packed(broker, topic, bodies)
        peer = Http2Peer(broker.port, window=SMALL_WINDOW)
        request = receive_request(group, topic, invisible_duration=Duration(seconds=600))
        peer.call("ReceiveMessage", request, dict(client.metadata))
        wait_until(lambda: broker.progress(group, topic) == 5)
    peer.close()
    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        client.announce_consumer(group, topic)
        wait_until(lambda: broker.running.broker.store.max_offset(f"%RETRY%{group}_{topic}", 0) == 5)
        assert sorted(client.receive(group, topic, count=32).bodies) == bodies


# ---- order ----


def test_a_group_in_order_gives_the_same_again_to_the_same_attempt(broker, client, other):  # [46]
    topic, group = broker.topic("InOrder", 1), "InOrderGroup"
    broker.group(client, group, topic, orderly=True)
    broker.group(other, group, topic, orderly=True)
    for number in range(4):
        client.send(message(topic, b"%d" % number, message_group="g"))
    first = client.receive(group, topic, count=2, attempt_id="attempt-1")
    assert first.bodies == [b"0", b"1"]
    assert client.receive(group, topic, count=2, attempt_id="attempt-1").bodies == first.bodies
    assert other.receive(group, topic, count=2, attempt_id="attempt-2").messages == []
    found = client.receive(group, topic, count=2, attempt_id="attempt-1").messages
    assert code_of(ack(client, group, topic, *found)) == "OK"
    assert other.receive(group, topic, count=2, attempt_id="attempt-2").bodies == [b"2", b"3"]


# ---- transactions, delays ----


def test_a_transaction_is_committed_a_minute_after_its_send(broker, client):  # [47]
    topic, group = broker.topic("LateCommit"), "LateCommitGroup"
    broker.group(client, group, topic)
    half = client.send(message(topic, b"late", message_type=pb.TRANSACTION)).entries[0]
    broker.move(60)
    assert code_of(committed(client, topic, half)) == "OK"
    assert client.receive(group, topic).bodies == [b"late"]


def committed(client, topic, half, **more):
    request = pb.EndTransactionRequest(
        topic=resource(topic), message_id=half.message_id, transaction_id=half.transaction_id, resolution=pb.COMMIT, **more
    )
    return client.call("EndTransaction", request)


def test_a_producer_is_asked_after_the_time_that_its_message_names(broker, client):  # [48]
    """The orphan that names a minute is asked for after the one that names a second, though it was sent before."""
    topic = broker.topic("Patient", 1)
    stream = client.telemetry()
    stream.ask(pb.Settings(client_type=pb.PRODUCER, publishing=pb.Publishing(topics=[resource(topic)])))
    for body, seconds in ((b"patient", 60), (b"hasty", 1)):
        half = message(topic, body, message_type=pb.TRANSACTION)
        half.system_properties.orphaned_transaction_recovery_duration.FromSeconds(seconds)
        half.system_properties.born_timestamp.FromMilliseconds(broker.now_ms())  # from which the time counts
        client.send(half)
    asked = []
    for seconds in (2, 60):
        broker.move(seconds)
        recover = stream.next().recover_orphaned_transaction_command
        asked.append(recover.message.body)
        half = pb.SendResultEntry(
            message_id=recover.message.system_properties.message_id, transaction_id=recover.transaction_id
        )
        assert code_of(committed(client, topic, half, source=pb.SOURCE_SERVER_CHECK)) == "OK"
    assert asked == [b"hasty", b"patient"]
    broker.group(client, "PatientGroup", topic)
    assert sorted(client.receive("PatientGroup", topic).bodies) == [b"hasty", b"patient"]


def test_the_answer_to_a_check_after_a_restart_needs_no_index(tmp_path, monkeypatch):
    with grpc_broker(tmp_path) as broker, RawClient(broker.port) as client:
        topic = broker.topic("NoIndex", 1)
        half = client.send(message(topic, b"half", message_type=pb.TRANSACTION)).entries[0]
    with grpc_broker(tmp_path, transaction_check_interval_ms=300) as broker, RawClient(broker.port) as client:
        monkeypatch.setattr(broker.running.broker.store, "query", lambda *_place, **_how: [])  # messageIndexEnable=false
        broker.group(client, "NoIndexGroup", topic)
        assert client.announce_producer(topic).status.code == pb.OK
        broker.move(30)
        command = client._streams[-1].next().recover_orphaned_transaction_command
        assert command.transaction_id == half.transaction_id
        assert code_of(committed(client, topic, half, source=pb.SOURCE_SERVER_CHECK)) == "OK"
        assert client.receive("NoIndexGroup", topic).bodies == [b"half"]


def test_a_message_that_was_delivered_cannot_be_recalled(broker, client):  # [49]
    topic, group = broker.topic("NoRecall"), "NoRecallGroup"
    broker.group(client, group, topic)
    soon = message(topic, b"soon")
    soon.system_properties.delivery_timestamp.FromMilliseconds(broker.now_ms() + 1_500)
    handle = client.send(soon).entries[0].recall_handle
    found = taken(client, group, topic, poll=15)
    assert found.system_properties.delivery_timestamp == soon.system_properties.delivery_timestamp
    broker.move(2)
    response = client.call("RecallMessage", pb.RecallMessageRequest(topic=resource(topic), recall_handle=handle))
    assert code_of(response) == "INTERNAL_SERVER_ERROR"
