"""Calls that no SDK makes: handles that nobody was given, times that are none, settings that become others."""

from __future__ import annotations

import base64
import contextlib
import threading
from types import SimpleNamespace

import grpc
import pytest

from broker_core.protocol.codes import RequestCode
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.http2.connection import Http2Limits
from tests.support.grpc_broker import ack, change, grpc_broker, handle_of
from tests.support.grpc_stub import RawClient, Received, message, receive_request, resource
from tests.support.http2_peer import Http2Peer
from tests.support.waiting import wait_until

GROUP = "OddGroup"
VOID = {"ack": "OK", "change": "INVALID_RECEIPT_HANDLE", "forward": "OK"}
"""Of a delivery that is settled: nothing is left to do."""
NONE = dict.fromkeys(VOID, "INVALID_RECEIPT_HANDLE")
"""Of what is no handle: SDKs give up on this code alone and repeat a call on all others."""
HANDLES = {
    "queue that is none": (6, "99", NONE),
    "negative queue": (6, "-1", NONE),
    "queue of more than 32 bits": (6, str(1 << 40), NONE),
    "offset behind the end": (7, "99", NONE),
    "negative offset": (7, "-1", NONE),
    "offset of more than 64 bits": (7, "9" * 30, NONE),
    "other digits": (7, "٣", NONE),
    "digits in groups": (1, "1_0", NONE),
    "time of more than 64 bits": (1, "9" * 30, NONE),
    "time over": (2, "1", NONE),
    "negative invisible time": (2, "-1", NONE),
    "number of thousands of digits": (2, "9" * 5_000, NONE),
    "flag that is none": (4, "3", NONE),
    # Of the second kind, which this broker does not make. One of the first kind comes to be when a delivery here is over.
    "retry topic that is none": (4, "2", NONE),
    "no number": (0, "x", NONE),
    "other pop": (1, "9" * 15, VOID),
    "other revive queue, in order": (3, "999", VOID),
}
"""Name → word of a handle, what it becomes, answers."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with grpc_broker(tmp_path_factory.mktemp("grpc"), recall_messages=True) as broker:
        broker.topic("Odd", 1)
        yield broker


@pytest.fixture
def client(broker):
    with RawClient(broker.port) as client:
        client.announce_consumer(GROUP, "Odd")
        yield client


def code_of(response):
    return pb.Code.Name(response.status.code)


def taken(client, body):
    """A delivery of a message that is sent now."""
    client.send(message("Odd", body))
    return next(one for one in client.receive(GROUP, "Odd", count=32).messages if one.body == body)


def answers(client, handle, *, group=GROUP, topic="Odd"):
    entry = pb.AckMessageEntry(receipt_handle=handle)
    acked = pb.AckMessageRequest(group=resource(group), topic=resource(topic), entries=[entry])
    return {
        "ack": code_of(client.call("AckMessage", acked)),
        "change": code_of(change(client, group, topic, handle, 30)),
        "forward": code_of(forward(client, handle, group=group, topic=topic)),
    }


def forward(client, handle, *, group=GROUP, topic="Odd"):
    request = pb.ForwardMessageToDeadLetterQueueRequest(
        group=resource(group), topic=resource(topic), receipt_handle=handle, max_delivery_attempts=1
    )
    return client.call("ForwardMessageToDeadLetterQueue", request)


def dead_letters(broker, group=GROUP):
    return broker.running.broker.store.max_offset(f"%DLQ%{group}", 0)


# ---- handles ----


@pytest.mark.parametrize(("place", "word", "expected"), HANDLES.values(), ids=HANDLES)
def test_a_handle_that_was_never_given_does_nothing(broker, client, place, word, expected):
    found, before = taken(client, b"mine"), dead_letters(broker)
    words = handle_of(found).split(" ")
    broker.move(0.01)  # an invisible time of 1 ms is over then
    assert answers(client, " ".join([*words[:place], word, *words[place + 1 :]])) == expected
    assert dead_letters(broker) == before
    assert code_of(change(client, GROUP, "Odd", handle_of(found), 0)) == "OK", "the delivery is as it was"


@pytest.mark.parametrize(("group", "topic", "expected"), [("OtherGroup", "Odd", VOID), (GROUP, "Else", NONE)])
def test_a_handle_is_of_one_group_and_topic(broker, client, group, topic, expected):
    broker.topic("Else", 1)
    found = taken(client, b"of one group")
    assert answers(client, handle_of(found), group=group, topic=topic) == expected
    assert dead_letters(broker, group) == 0
    assert code_of(change(client, GROUP, "Odd", handle_of(found), 0)) == "OK"


def test_deliveries_of_a_deleted_topic_are_void(broker, client):
    broker.topic("OddDeleted", 1)
    client.send(message("OddDeleted"))
    (found,) = client.receive(GROUP, "OddDeleted").messages
    broker.delete_topic("OddDeleted")
    assert answers(client, handle_of(found), topic="OddDeleted") == NONE


def test_a_topic_that_was_made_again_has_deliveries_of_its_own(broker, client):
    broker.topic("Again", 1)
    broker.group(client, "AgainGroup", "Again")
    client.send(*(message("Again", b"old %d" % number) for number in range(2)))
    old = client.receive("AgainGroup", "Again").messages
    broker.delete_topic("Again")
    broker.topic("Again", 1)
    new = [b"new %d" % number for number in range(2)]
    client.send(*(message("Again", body) for body in new))
    assert code_of(ack(client, "AgainGroup", "Again", *old)) == "OK"
    found = client.receive("AgainGroup", "Again")
    assert found.bodies == new
    broker.move(16)
    again = [one for _turn in range(2) for one in client.receive("AgainGroup", "Again").bodies]
    assert sorted(again) == new  # they were not acked by the handles of the others


@pytest.mark.parametrize("first", [("ack", "change", "forward"), ("change", "forward", "ack"), ("forward", "ack", "change")])
def test_of_calls_at_once_the_first_decides(broker, client, first):
    """Acks, changes and forwards of the same deliveries by two connections: each message ends in one way."""
    group, topic, count = f"Race-{first[0]}", f"Race-{first[0]}", 40
    broker.topic(topic, 1)
    broker.group(client, group, topic)
    client.send(*(message(topic, b"%d" % number) for number in range(count)))
    found = client.receive(group, topic, count=32).messages + client.receive(group, topic, count=32).messages
    assert len(found) == count
    answered = {name: {} for name in first}

    def call(name, one):
        with_handle = {"receipt_handle": handle_of(one), "group": resource(group), "topic": resource(topic)}
        if name == "ack":
            return ack(client, group, topic, one)
        if name == "change":
            return change(client, group, topic, handle_of(one), 0)
        return client.call("ForwardMessageToDeadLetterQueue", pb.ForwardMessageToDeadLetterQueueRequest(**with_handle))

    def run(name, order):
        for one in order:
            answered[name][one.body] = code_of(call(name, one))

    turns = [threading.Thread(target=run, args=(name, found[:: (-1) ** place])) for place, name in enumerate(first)]
    for turn in turns:
        turn.start()
    for turn in turns:
        turn.join()
    changed = {body for body, code in answered["change"].items() if code == "OK"}
    dead_group = f"{group}-dead"
    client.announce_consumer(dead_group, f"%DLQ%{group}")
    dead = everything(client, dead_group, f"%DLQ%{group}")
    broker.move(1)
    client.announce_consumer(group, topic)
    again = everything(client, group, topic)
    assert sorted(again) == sorted(changed)
    assert len(dead) == len(set(dead))
    assert changed.isdisjoint(dead)


def everything(client, group, topic):
    """All bodies that come, each acked."""
    bodies = []
    while found := client.receive(group, topic, count=32).messages:
        ack(client, group, topic, *found)
        bodies += [one.body for one in found]
    return bodies


@pytest.mark.parametrize("more", ["", " text", " " + "9" * 5_000, " 1 2 3"])
def test_what_stands_behind_a_handle_comes_back_after_a_change(client, more):
    eight = " ".join(handle_of(taken(client, b"more words")).split(" ")[:8])
    changed = change(client, GROUP, "Odd", eight + more, 30)
    assert code_of(changed) == "OK"
    assert changed.receipt_handle.split(" ")[8:] == more.split(" ")[1:]
    assert answers(client, changed.receipt_handle)["ack"] == "OK"


def test_a_message_becomes_a_dead_letter_once(broker, client):
    found, before = taken(client, b"dead"), dead_letters(broker)
    assert [code_of(forward(client, handle_of(found))) for _ in range(3)] == ["OK"] * 3
    assert dead_letters(broker) == before + 1
    broker.move(60)
    assert b"dead" not in client.receive(GROUP, "Odd", count=32).bodies


@pytest.mark.parametrize("settled", ["acked", "changed"])
def test_a_settled_delivery_becomes_no_dead_letter(broker, client, settled):
    found, before = taken(client, b"settled"), dead_letters(broker)
    done = ack(client, GROUP, "Odd", found) if settled == "acked" else change(client, GROUP, "Odd", handle_of(found), 0)
    assert code_of(done) == "OK"
    assert code_of(forward(client, handle_of(found))) == "OK"
    assert dead_letters(broker) == before


def test_a_message_in_order_becomes_a_dead_letter_once(broker, client):
    topic, group = broker.topic("OddOrder", 1), "OddOrderGroup"
    broker.group(client, group, topic, orderly=True)
    client.send(message(topic, b"first", message_group="g"), message(topic, b"second", message_group="g"))
    (found,) = client.receive(group, topic, count=1).messages
    assert [code_of(forward(client, handle_of(found), group=group, topic=topic)) for _ in range(2)] == ["OK", "OK"]
    assert dead_letters(broker, group) == 1
    assert client.receive(group, topic).bodies == [b"second"]


# ---- messages ----


@pytest.mark.parametrize("seconds", [(1 << 63) - 1, -(1 << 63), 253_402_300_800, -62_135_596_801])
def test_a_born_timestamp_is_a_time(client, seconds):
    made = message("Odd")
    made.system_properties.born_timestamp.seconds = seconds
    assert code_of(client.send(made)) == "BAD_REQUEST"


@pytest.mark.parametrize("seconds", [253_402_300_799, -62_135_596_800, -1, 0])
def test_a_time_far_away_is_stored(client, seconds):
    made = message("Odd", b"%d" % seconds)
    made.system_properties.born_timestamp.FromSeconds(seconds)
    assert code_of(client.send(made)) == "OK"
    found = next(one for one in client.receive(GROUP, "Odd", count=32).messages if one.body == made.body)
    assert found.system_properties.born_timestamp.seconds == max(seconds, 0)


HANDLE = "v1 Odd broker-a {time} {key}"


@pytest.mark.parametrize(
    "text",
    [
        HANDLE.replace("{key}", ""),
        HANDLE.replace("{key}", "id\x02REAL_TOPIC\x01Else"),
        HANDLE.replace("Odd", "Odd\x02REAL_TOPIC\x01Else").replace("{key}", "id"),
        HANDLE.replace("{time}", "-5").replace("{key}", "id"),
        HANDLE.replace("{time}", "9" * 30).replace("{key}", "id"),
        HANDLE.replace("broker-a", "nowhere").replace("{key}", "id"),
        HANDLE.replace("v1", "v2").replace("{key}", "id"),
    ],
)
def test_a_recall_handle_of_other_parts_is_refused(broker, client, text):
    handle = base64.urlsafe_b64encode(text.format(time=broker.now_ms() + 60_000).encode()).decode()
    request = pb.RecallMessageRequest(topic=resource("Odd"), recall_handle=handle)
    assert code_of(client.call("RecallMessage", request)) == "INTERNAL_SERVER_ERROR"


# ---- resets ----


@pytest.mark.parametrize("orderly", [False, True])
def test_a_reset_moves_a_group_whose_clients_are_online(broker, client, orderly):
    topic = broker.topic(f"OddReset{orderly}", 1)
    group = broker.group(client, f"OddResetGroup{orderly}", topic, orderly=orderly)
    for body in (b"1", b"2"):
        client.send(message(topic, body))
    assert code_of(ack(client, group, topic, *client.receive(group, topic).messages)) == "OK"
    waiting = client.start_receive(receive_request(group, topic, poll=20))
    wait_until(lambda: broker.held() == 1)
    broker.administer(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, topic=topic, group=group, timestamp="0", isForce="true")
    assert Received(list(waiting)).bodies == [b"1", b"2"]


# ---- settings ----


def settings_of(group):
    return pb.Settings(client_type=pb.SIMPLE_CONSUMER, subscription=pb.Subscription(group=resource(group)))


def test_a_client_is_a_member_of_the_group_that_it_announced_last(broker):
    with RawClient(broker.port) as client:
        stream = client.telemetry()
        for group in ("OddBefore", "OddAfter"):
            assert stream.ask(settings_of(group)).status.code == pb.OK
        assert (broker.members("OddBefore"), broker.members("OddAfter")) == ([], [client.client_id])
        producer = pb.Settings(client_type=pb.PRODUCER, publishing=pb.Publishing(topics=[resource("Odd")]))
        assert stream.ask(producer).status.code == pb.OK
        assert broker.members("OddAfter") == []


def test_a_client_produces_for_the_topics_that_it_announced_last(broker):
    broker.topic("OddMore", 1)
    with RawClient(broker.port) as client:
        stream, found = client.telemetry(), []
        for topics in (["Odd", "OddMore"], ["OddMore"]):
            publishing = pb.Publishing(topics=map(resource, topics))
            stream.ask(pb.Settings(client_type=pb.PRODUCER, publishing=publishing))
            found.append(broker.produced(client))
        client.send(message("Odd"), message("Odd", message_type=pb.TRANSACTION))
        found.append(broker.produced(client))
        stream.ask(settings_of("OddConsumes"))
        assert found == [["Odd", "OddMore"], ["OddMore"], ["Odd", "OddMore"]]
        assert broker.produced(client) == ["Odd"], "it answers for the half message that it sent"


def test_all_receives_that_came_before_the_settings_are_served_with_them(broker):
    served = []
    with RawClient(broker.port) as client:
        client.send(message("Odd"))  # it is served from now on
        clients = broker.running.broker.grpc.service.clients

        async def wait(number):
            def serve():
                cancel()
                served.append(number)

            cancel = clients.when_announced(client.client_id, serve)

        for number in range(4):
            broker.running.thread.call(wait(number))
        assert client.telemetry().ask(settings_of("OddEarly")).status.code == pb.OK
    assert served == [0, 1, 2, 3]


def test_a_client_whose_stream_was_ended_is_gone_soon(broker):
    with RawClient(broker.port) as client:
        stream = client.telemetry()
        assert stream.ask(settings_of("OddEnded")).status.code == pb.OK
        stream.put(SimpleNamespace(SerializeToString=lambda: b"\xff"))
        with pytest.raises(grpc.RpcError):
            stream.next()
        assert broker.members("OddEnded") == [client.client_id]
        broker.move(31)
        assert broker.members("OddEnded") == []


# ---- names, filters, keys ----


def test_names_whose_retry_topic_would_be_too_long_are_refused(broker, client):
    group, topic = "g" * 200, broker.topic("t" * 127, 1)
    client.send(message(topic))
    received = client.receive(group, topic)
    assert (code_of(received), "247 characters together" in received.status.message) == ("ILLEGAL_CONSUMER_GROUP", True)
    with RawClient(broker.port) as other, pytest.raises(grpc.RpcError) as refused:
        other.announce_consumer(group, topic)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "247 characters together" in refused.value.details()
    assert broker.members(group) == []


@pytest.mark.parametrize("count", [120, 128])
def test_names_whose_retry_topic_just_fits_come_again(broker, client, count):
    group, topic = "G" * count, broker.topic("T" * (247 - count), 1)
    broker.group(client, group, topic)
    client.send(message(topic))
    assert len(client.receive(group, topic).messages) == 1
    broker.move(16)
    client.announce_consumer(group, topic)
    assert [one.system_properties.delivery_attempt for one in client.receive(group, topic, poll=10).messages] == [2]


@pytest.mark.parametrize("characters", [5_000, 70_000])
def test_a_filter_too_long_to_wait_with_is_refused_for_good(client, characters):
    wanted = pb.FilterExpression(type=pb.TAG, expression="A" * characters)
    received = client.receive(GROUP, "Odd", filter_expression=wanted)
    assert code_of(received) == "ILLEGAL_FILTER_EXPRESSION"
    assert f"{characters:,} characters" in received.status.message


def test_waiting_requests_of_a_connection_have_long_filters_up_to_a_bound(broker, client):
    broker.group(client, "LongFilters", broker.topic("LongFilters", 1))
    bodies = [pb.FilterExpression(type=pb.TAG, expression=letter * 2_900) for letter in "ABC"]
    requests = [receive_request("LongFilters", "LongFilters", poll=20, filter_expression=one) for one in bodies]
    waiting = [client.start_receive(request) for request in requests]
    wait_until(lambda: broker.held() == len(waiting))
    long = pb.FilterExpression(type=pb.TAG, expression="D" * 2_900)
    assert code_of(client.receive("LongFilters", "LongFilters", filter_expression=long)) == "TOO_MANY_REQUESTS"
    assert code_of(client.receive("LongFilters", "LongFilters")) == "MESSAGE_NOT_FOUND"
    for stream in waiting:
        stream.cancel()
    wait_until(lambda: not broker.held())
    assert code_of(client.receive("LongFilters", "LongFilters", filter_expression=long)) == "MESSAGE_NOT_FOUND"


def test_receives_of_a_crowded_connection_wait_for_a_second_only(broker, client):
    topic, group = broker.topic("Crowded", 1), "Crowded"
    broker.group(client, group, topic)
    request = receive_request(group, topic, poll=20)
    with contextlib.closing(Http2Peer(broker.port)) as peer:
        peer.acknowledge()

        def is_shorter() -> bool:
            peer.call("ReceiveMessage", request, dict(client.metadata))
            assert peer.answers(1)
            deadlines_ms = broker.deadlines_ms()
            return bool(deadlines_ms) and deadlines_ms[-1] < deadlines_ms[0]

        wait_until(is_shorter, pause_s=0)
        assert Http2Limits().streams_max // 2 < broker.held() < Http2Limits().streams_max
    wait_until(lambda: not broker.held())


@pytest.mark.parametrize(("keys", "expected"), [([""], []), (["", "k", ""], ["k"])])
def test_empty_keys_are_none(broker, client, keys, expected):
    topic, group = broker.topic(f"Keys{len(keys)}", 1), f"KeysGroup{len(keys)}"
    broker.group(client, group, topic)
    assert code_of(client.send(message(topic, keys=keys))) == "OK"
    assert [list(one.system_properties.keys) for one in client.receive(group, topic).messages] == [expected]
