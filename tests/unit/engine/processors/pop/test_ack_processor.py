import base64

import pytest

from broker_core.protocol.admin.groups import GroupConfig
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.message.receipt_handle import parse_handle
from tests.support.broker_bench import RecordingPeer
from tests.support.pop_bench import Popped, handle_fields, pop_bench, pop_fields


@pytest.fixture
def bench(tmp_path):
    with pop_bench(tmp_path / "store") as made:
        yield made


def test_acking_twice_or_too_late_changes_nothing(bench):
    bench.put("T", 0, b"one")
    (message,) = bench.pop()
    bench.ack(message)
    assert bench.ack(message).code == ResponseCode.SUCCESS
    bench.put("T", 0, b"two")
    (late,) = bench.pop()
    bench.pass_time(10_000)
    assert bench.ack(late).code == ResponseCode.SUCCESS
    assert bench.bodies() == [b"two"]


@pytest.mark.parametrize(
    ("wrong", "code", "says"),
    [
        ({"topic": "nope"}, 17, "not exist"),
        ({"queueId": 7}, 13, "readQueueNums:[2]"),
        ({"queueId": -1}, 13, "illegal"),
        ({"offset": 99}, 208, "store:0~1"),
        ({"extraInfo": "bad handle"}, 13, "no receipt handle"),
        ({"extraInfo": ""}, 1, "extraInfo is missing"),
        ({"extraInfo": "0 x 10000 0 0 broker-a 0 0"}, 13, "a number"),
        ({"extraInfo": "0 1 10000 0 9 broker-a 0 0"}, 13, "0, 1 or 2"),
        ({"consumerGroup": ""}, 1, "consumerGroup"),
    ],
)
@pytest.mark.parametrize("request_code", [RequestCode.ACK_MESSAGE, RequestCode.CHANGE_MESSAGE_INVISIBLETIME])
def test_what_names_no_message_is_refused(bench, request_code, wrong, code, says):
    bench.put("T", 0, b"one")
    (message,) = bench.pop()
    fields = handle_fields(message, "CG", "T") | {"invisibleTime": 1000} | wrong
    response = bench.answer(bench.peer, request_code, fields)
    assert (response.code, says in response.remark) == (code, True), response.remark


@pytest.mark.parametrize("in_order", ["false", "true"])
def test_a_message_of_a_queue_that_is_not_read_any_more_is_acked(bench, in_order):
    bench.put("T", 1, b"one")
    bench.put("T", 1, b"two")
    first, second = bench.pop(order=in_order)
    bench.state.topics.put(TopicConfig("T", 1, 1))
    assert bench.ack(first).code == ResponseCode.SUCCESS
    assert bench.postpone(second, 1_000).code == ResponseCode.SUCCESS
    bench.pass_time(20_000)
    bench.state.topics.put(TopicConfig("T", 2, 2))
    assert bench.bodies(order=in_order) == [b"two"]


def batch(messages, **more):
    first = messages[0].handle
    bits = 0
    for message in messages:
        bits |= 1 << message.handle.offset - first.start_offset
    entry = {
        "b": base64.b64encode(bits.to_bytes(8, "little")).decode(), "c": "CG", "it": first.invisible_ms,
        "pt": first.pop_time_ms, "q": first.queue_id, "r": first.flag, "rq": first.revive_queue, "so": first.start_offset,
        "t": "T",
    }  # fmt: skip
    return {"acks": [entry | more], "brokerName": "broker-a"}


def test_a_batch_acks_the_messages_whose_bits_are_set(bench):
    for number in range(5):
        bench.put("T", 0, b"%d" % number)
    messages = bench.pop()
    response = bench.answer(bench.peer, RequestCode.BATCH_ACK_MESSAGE, body=batch([messages[0], messages[2], messages[4]]))
    assert response.code == ResponseCode.SUCCESS
    bench.pass_time(10_000)
    again = bench.pop()
    assert [message.body for message in again] == [b"1", b"3"]
    bench.answer(bench.peer, RequestCode.BATCH_ACK_MESSAGE, body=batch(again))
    bench.pass_time(60_000)
    assert bench.bodies() == []


def test_a_batch_may_spell_its_names_out(bench):
    bench.put("T", 0, b"one")
    (message,) = bench.pop()
    handle = message.handle
    entry = {
        "bitSet": "AQ==", "consumerGroup": "CG", "invisibleTime": handle.invisible_ms, "popTime": handle.pop_time_ms,
        "queueId": 0, "retry": "0", "reviveQueueId": handle.revive_queue, "startOffset": handle.start_offset, "topic": "T",
    }  # fmt: skip
    bench.answer(bench.peer, RequestCode.BATCH_ACK_MESSAGE, body={"acks": [entry]})
    assert len(bench.dispatcher.pop.outstanding.ledger) == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"acks": "x"},
        {"acks": [1]},
        {"acks": [{"t": "T"}]},
        {"acks": [{"b": "***", "c": "g", "it": 1, "pt": 1, "q": 0, "r": "0", "rq": 0, "so": 0, "t": "T"}]},
        {"acks": [{"b": "A" * 12_000, "c": "g", "it": 1, "pt": 1, "q": 0, "r": "0", "rq": 0, "so": 0, "t": "T"}]},
        {"acks": [{"b": "//////8=", "c": "g", "it": 1, "pt": 1, "q": 0, "r": "0", "rq": 0, "so": 0, "t": "T"}]},
    ],
)
def test_a_batch_that_is_none_is_refused(bench, body):
    assert bench.answer(bench.peer, RequestCode.BATCH_ACK_MESSAGE, body=body).code == ResponseCode.MESSAGE_ILLEGAL


def test_a_batch_for_unknown_topics_changes_nothing(bench):
    body = {"acks": [{"b": "CQI=", "c": "g", "it": 60000, "pt": 3, "q": 1, "r": "0", "rq": 2, "so": 10, "t": "Unknown"}]}
    assert bench.answer(bench.peer, RequestCode.BATCH_ACK_MESSAGE, body=body).code == ResponseCode.SUCCESS


# ---- change of the invisible time ----


def renewed(message, response):
    fields, handle = response.ext_fields, message.handle
    text = (
        f"{handle.offset} {fields['popTime']} {fields['invisibleTime']} {fields['reviveQid']} {handle.flag} broker-a "
        f"{handle.queue_id} {handle.offset}"
    )
    return Popped(message.message, parse_handle(text))


def test_a_longer_time_keeps_the_message_away(bench):
    bench.put("T", 0, b"one")
    (message,) = bench.pop()
    bench.pass_time(9_000)
    response = bench.postpone(message, 20_000)
    assert response.ext_fields["invisibleTime"] == "20000"
    bench.pass_time(19_999)
    assert bench.bodies() == []
    bench.pass_time(1)
    assert bench.bodies() == [b"one"]


def test_no_time_brings_the_message_again_at_once(bench):
    bench.put("T", 0, b"one")
    (message,) = bench.pop()
    bench.postpone(message, 0)
    bench.pass_time(1)
    assert bench.bodies() == [b"one"]


def test_the_new_handle_acks_and_the_old_one_does_not(bench):
    bench.put("T", 0, b"one")
    (message,) = bench.pop()
    new = renewed(message, bench.postpone(message, 20_000))
    bench.ack(message)
    assert len(bench.dispatcher.pop.outstanding.ledger) == 1
    bench.ack(new)
    assert len(bench.dispatcher.pop.outstanding.ledger) == 0


def test_a_void_handle_cannot_be_changed(bench):
    bench.put("T", 0, b"one")
    (message,) = bench.pop()
    bench.ack(message)
    response = bench.postpone(message, 20_000)
    assert (response.code, "void" in response.remark) == (ResponseCode.NO_MESSAGE, True)
    bench.pass_time(60_000)
    assert bench.bodies() == []


def test_the_time_may_be_changed_again_and_again(bench):
    bench.put("T", 0, b"one")
    (message,) = bench.pop()
    for _ in range(20):
        message = renewed(message, bench.postpone(message, 5_000))
    assert len(bench.dispatcher.pop.outstanding.ledger) == 1
    bench.pass_time(5_100)
    assert bench.bodies() == [b"one"]


def test_a_negative_time_is_refused(bench):
    bench.put("T", 0, b"one")
    (message,) = bench.pop()
    assert bench.postpone(message, -1).code == ResponseCode.INVALID_PARAMETER


# ---- in order ----


def order(bench, attempt, **more):
    return bench.pop(order="true", attemptId=attempt, queueId=0, **more)


def test_a_queue_popped_in_order_is_blocked_until_all_is_acked(bench):
    for number in range(4):
        bench.put("T", 0, b"%d" % number)
    first, second = order(bench, "a1", maxMsgNums=2)
    assert order(bench, "a2") == []
    bench.ack(second)
    assert bench.state.offsets.get("CG", "T", 0) == 0
    assert order(bench, "a2") == []
    bench.ack(first)
    assert bench.state.offsets.get("CG", "T", 0) == 2
    assert [message.body for message in order(bench, "a2")] == [b"2", b"3"]


def test_the_same_attempt_gets_the_same_messages(bench):
    bench.put("T", 0, b"one")
    assert [message.body for message in order(bench, "a1")] == [b"one"]
    assert [message.body for message in order(bench, "a1")] == [b"one"]
    assert order(bench, "a2") == []


def test_only_what_is_not_acked_comes_again_in_order(bench):
    for number in range(4):
        bench.put("T", 0, b"%d" % number)
    messages = order(bench, "a1")
    bench.ack(messages[1])
    bench.pass_time(10_000)
    # One at a time: what was acked out of turn stays away, and nothing between is left out.
    seen = []
    for attempt in range(3):
        (message,) = order(bench, f"b{attempt}", maxMsgNums=1)
        seen.append(message.body)
        bench.ack(message)
    assert seen == [b"0", b"2", b"3"]
    assert bench.state.offsets.get("CG", "T", 0) == 4


def test_what_was_acked_between_others_in_order_stays_away_from_every_later_pop(bench):
    for number in range(4):
        bench.put("T", 0, b"%d" % number)
    bench.ack(order(bench, "a", maxMsgNums=2)[1])
    for attempt in "bcd":
        bench.pass_time(10_000)
        assert [message.body for message in order(bench, attempt, maxMsgNums=3)] == [b"0", b"2"]


@pytest.mark.parametrize(("acked", "left"), [((1, 2), [b"3", b"4"]), ((1, 3), [b"2", b"4"]), ((3, 4), [b"1", b"2"])])
def test_what_was_acked_in_an_earlier_pop_in_order_stays_away_after_a_start(bench, acked, left):
    for number in range(5):
        bench.put("T", 0, b"%d" % number)
    messages = order(bench, "a")
    for number in acked:
        bench.ack(messages[number])
    bench.pass_time(10_000)
    (first,) = order(bench, "b", maxMsgNums=1)
    orders = bench.dispatcher.pop.orders
    orders.load(orders.to_json())
    bench.ack(first)
    assert [message.body for message in order(bench, "c")] == left
    assert bench.state.offsets.get("CG", "T", 0) == int(left[0])


def test_how_often_a_message_was_handed_out_is_counted(bench):
    for number in range(2):
        bench.put("T", 0, b"%d" % number)
    counts = []
    for attempt in ("a", "b", "c"):
        fields = {"order": "true", "attemptId": attempt, "queueId": 0, "maxMsgNums": 1 if attempt == "a" else 2}
        response = bench.answer(bench.peer, RequestCode.POP_MESSAGE, pop_fields(bench.clock(), **fields))
        counts.append(response.ext_fields["orderCountInfo"])
        bench.pass_time(10_000)
    assert counts == ["0 0 0", "0 qo0%0 1;0 0 0", "0 qo0%0 2;0 qo0%1 1;0 0 1"]


def test_a_held_pop_in_order_is_served_when_the_queue_is_free(bench):
    for number in range(2):
        bench.put("T", 0, b"%d" % number)
    (first,) = order(bench, "a", maxMsgNums=1)
    peers = RecordingPeer(), RecordingPeer()
    fields = {"order": "true", "queueId": 0, "maxMsgNums": 1, "pollTime": 30_000}
    for attempt, peer in enumerate(peers):
        assert bench.ask(peer, RequestCode.POP_MESSAGE, pop_fields(bench.clock(), attemptId=attempt, **fields)) is None
    bench.ack(first)
    assert [len(peer.sent) for peer in peers] == [1, 0]
    bench.pass_time(10_000)
    assert [len(peer.sent) for peer in peers] == [1, 1]


@pytest.mark.parametrize("first_ms", [1_000, 30_000])
def test_a_held_pop_in_order_follows_changes_of_the_time(bench, first_ms):
    bench.put("T", 0, b"one")
    (message,) = order(bench, "a")
    peer = RecordingPeer()
    fields = pop_fields(bench.clock(), order="true", queueId=0, pollTime=60_000)
    assert bench.ask(peer, RequestCode.POP_MESSAGE, fields) is None
    bench.postpone(message, first_ms)
    bench.postpone(message, 2_000)
    bench.pass_time(1_999)
    assert peer.sent == []
    bench.pass_time(1)
    assert len(peer.sent) == 1


def test_a_held_pop_in_order_waits_no_longer_for_an_acked_message(bench):
    for number in range(2):
        bench.put("T", 0, b"%d" % number)
    messages = order(bench, "a", invisibleTime=5_000)
    peer = RecordingPeer()
    bench.postpone(messages[1], 30_000)
    fields = pop_fields(bench.clock(), order="true", queueId=0, pollTime=60_000)
    assert bench.ask(peer, RequestCode.POP_MESSAGE, fields) is None
    bench.ack(messages[1])
    bench.pass_time(5_000)
    assert len(peer.sent) == 1


def test_the_time_of_a_message_in_order_may_be_changed(bench):
    bench.put("T", 0, b"one")
    (message,) = order(bench, "a")
    bench.pass_time(1_000)
    response = bench.postpone(message, 2_000)
    assert response.ext_fields == {
        "popTime": str(message.handle.pop_time_ms), "invisibleTime": "3000", "reviveQid": "999",
    }  # fmt: skip
    bench.pass_time(1_999)
    assert order(bench, "b") == []
    bench.pass_time(1)
    assert [found.body for found in order(bench, "b")] == [b"one"]


@pytest.mark.parametrize(
    "deleted",
    [(RequestCode.DELETE_TOPIC_IN_BROKER, "topic", "T"), (RequestCode.DELETE_SUBSCRIPTIONGROUP, "groupName", "CG")],
    ids=["topic", "group"],
)
def test_what_is_made_again_under_a_deleted_name_begins_without_acks(bench, deleted):
    for number in range(4):
        bench.put("T", 0, b"%d" % number)
    messages = order(bench, "a")
    for message in messages[1:3]:
        bench.ack(message)
    code, field, name = deleted
    bench.answer(bench.peer, code, {field: name, "cleanOffset": "true"})
    if name == "T":
        bench.state.topics.put(TopicConfig("T", 2, 2))
        for number in range(4):
            bench.put("T", 0, b"%d" % number)
    else:
        bench.state.groups.put(GroupConfig("CG"))
    assert [message.body for message in order(bench, "b")] == [b"0", b"1", b"2", b"3"]


def test_a_reset_to_the_present_offset_ends_the_block(bench):
    bench.put("T", 0, b"one")
    order(bench, "a", invisibleTime=3_600_000)
    peer = RecordingPeer()
    fields = pop_fields(bench.clock(), order="true", queueId=0, pollTime=60_000)
    assert bench.ask(peer, RequestCode.POP_MESSAGE, fields) is None
    wanted = {"topic": "T", "group": "CG", "timestamp": 0, "isForce": "true", "queueId": 0, "offset": 0}
    assert bench.answer(bench.peer, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, wanted).code == ResponseCode.SUCCESS
    assert len(peer.sent) == 1


def test_a_reset_of_the_offset_ends_the_block(bench):
    for number in range(2):
        bench.put("T", 0, b"%d" % number)
    for message in order(bench, "a"):
        bench.ack(message)
    order(bench, "b")
    bench.put("T", 0, b"2")
    order(bench, "c")
    bench.state.offsets.commit("CG", "T", 0, 0)
    assert [message.body for message in order(bench, "d")] == [b"0", b"1", b"2"]
