from dataclasses import replace

import pytest

from broker_core.engine.processors.pop import queue_reader
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_bench import RecordingPeer
from tests.support.pop_bench import pop_bench, pop_fields, popped


@pytest.fixture
def bench(tmp_path):
    with pop_bench(tmp_path / "store") as made:
        yield made


def held(bench, peer, **more):
    """A pop that is held, or the answer to it."""
    return bench.ask(peer, RequestCode.POP_MESSAGE, pop_fields(bench.clock(), pollTime=15_000, **more))


def test_the_answer_has_the_form_of_5_3_3(bench):
    for number in range(3):
        bench.put("T", 0, b"%d" % number)
    response = bench.answer(bench.peer, RequestCode.POP_MESSAGE, pop_fields(bench.clock(), queueId=0, maxMsgNums=2))
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, "FOUND")
    assert response.ext_fields == {
        "popTime": str(bench.clock()), "invisibleTime": "10000", "reviveQid": "0", "restNum": "1", "startOffsetInfo": "0 0 0",
        "msgOffsetInfo": "0 0 0,1",
    }  # fmt: skip
    assert [message.body for message in popped(response, "T")] == [b"0", b"1"]
    assert bench.state.offsets.get("CG", "T", 0) == 2


def test_an_empty_queue_is_answered_with_all_fields(bench):
    response = bench.answer(bench.peer, RequestCode.POP_MESSAGE, pop_fields(bench.clock()))
    assert (response.code, response.remark) == (ResponseCode.POLLING_TIMEOUT, "NO_MESSAGE_IN_QUEUE")
    assert response.ext_fields["msgOffsetInfo"] == ""


@pytest.mark.parametrize(
    ("wrong", "code", "says"),
    [
        ({"topic": "nope"}, 17, "not exist"),
        ({"maxMsgNums": 33}, 29, "greater than 32"),
        ({"maxMsgNums": 0}, 29, "1 to 32"),
        ({"queueId": 2}, 29, "readQueueNums:[2]"),
        ({"invisibleTime": -1}, 29, "invisibleTime"),
        ({"bornTime": 1}, 210, "timeout too much"),
        ({"exp": "|| ||"}, 23, "no tag"),
        ({"exp": "A" * 5_000, "pollTime": 15_000}, 23, "5,000 characters"),
        ({"consumerGroup": "a b"}, 26, "does not exist"),
        ({"topic": "x" * 127, "consumerGroup": "g" * 200}, 29, "247 characters together"),
        ({"maxMsgNums": "many"}, 1, "maxMsgNums"),
    ],
)
def test_what_cannot_be_served_is_refused_with_its_reason(bench, wrong, code, says):
    bench.state.topics.put(TopicConfig("x" * 127, 1, 1))
    response = bench.answer(bench.peer, RequestCode.POP_MESSAGE, pop_fields(bench.clock(), **wrong))
    assert (response.code, says in response.remark) == (code, True), response.remark
    assert response.ext_fields["popTime"] == "0"


def test_popped_messages_are_out_of_sight_until_their_time_is_over(bench):
    bench.put("T", 0, b"one")
    (first,) = bench.pop()
    bench.pass_time(9_999)
    assert bench.bodies() == []
    bench.pass_time(1)
    (again,) = bench.pop()
    assert again.body == b"one"
    assert (again.message.reconsume_times, again.handle.flag) == (1, "1")
    assert again.message.properties["1ST_POP_TIME"] == str(first.handle.pop_time_ms)


def test_acked_messages_never_come_again(bench):
    bench.put("T", 0, b"one")
    bench.put("T", 1, b"two")
    for message in bench.pop():
        assert bench.ack(message).code == ResponseCode.SUCCESS
    bench.pass_time(60_000)
    assert bench.bodies() == []
    assert len(bench.dispatcher.pop.outstanding.ledger) == 0


def test_a_message_that_came_again_is_acked_by_the_handle_it_carries(bench):
    bench.put("T", 0, b"one")
    bench.pop()
    bench.pass_time(10_000)
    (again,) = bench.pop()
    bench.ack(again)
    bench.pass_time(60_000)
    assert bench.bodies() == []


def test_a_message_that_was_repeated_too_often_becomes_a_dead_letter(bench):
    group = bench.state.groups.find("CG")
    bench.state.groups.put(type(group)("CG", retry_times_max=2))
    bench.put("T", 0, b"poison", "UNIQ_KEY\x01U1")
    times = 0
    while bench.bodies():
        times += 1
        bench.pass_time(10_000)
    assert times == 3
    (record,) = bench.state.store.get_messages("%DLQ%CG", 0, 0, 32).records
    assert b"poison" in bytes(record)
    assert b"RETRY_TOPIC\x01T" in bytes(record)


@pytest.mark.parametrize(("pairs", "origin"), [(("g_a+t",), "t"), (("g_a+t", "g+a_t"), "%RETRY%g_a_t")])
def test_a_dead_letter_names_its_topic_unless_another_pair_shares_its_retry_topic(bench, pairs, origin):
    """A group that pops ``a_t`` as ``g`` has the retry topic of ``g_a`` on ``t``, and gets the other's messages."""
    for pair in pairs:
        group, topic = pair.split("+")
        bench.state.groups.put(type(bench.state.groups.find("CG"))(group, retry_times_max=1))
        bench.state.topics.put(TopicConfig(topic, 1, 1))
        bench.put(topic, 0, b"poison")
    for _time in range(5):
        bench.pop(topic="t", consumerGroup="g_a")
        bench.pass_time(10_000)
    (record,) = bench.state.store.get_messages("%DLQ%g_a", 0, 0, 32).records
    assert f"RETRY_TOPIC\x01{origin}\x02".encode() in bytes(record)


def test_a_group_begins_with_the_oldest_or_the_newest_message(tmp_path):
    with pop_bench(tmp_path / "store") as bench:
        for number in range(3):
            bench.put("T", 0, b"%d" % number)
        assert bench.bodies(consumerGroup="min") == [b"0", b"1", b"2"]
        # A young topic is read from its beginning anyway.
        assert bench.bodies(consumerGroup="max", initMode=1) == [b"0", b"1", b"2"]
        bench.dispatcher.pop.processor._reader._memory_bytes = -1
        assert bench.bodies(consumerGroup="far", initMode=1) == [b"2"]


def test_tags_are_filtered_and_what_is_passed_over_is_consumed(bench):
    for number in range(4):
        bench.put("T", 0, b"%d" % number, f"TAGS\x01{'AB'[number % 2]}")
    assert bench.bodies(exp="B") == [b"1", b"3"]
    assert bench.bodies(exp="*") == []


def test_a_filter_reads_on_past_many_messages_that_it_does_not_want(bench):
    for _ in range(900):
        bench.put("T", 0, b"x", "TAGS\x01A")
    bench.put("T", 0, b"wanted", "TAGS\x01B")
    assert bench.bodies(exp="B") == [b"wanted"]


def test_retry_topics_of_the_new_kind(tmp_path):
    with pop_bench(tmp_path / "store", pop_retry_topic_v2=True) as bench:
        bench.put("T", 0, b"one")
        bench.pop()
        bench.pass_time(10_000)
        assert "%RETRY%CG+T" in bench.state.topics
        (again,) = bench.pop()
        assert again.handle.flag == "2"
        bench.ack(again)
        bench.pass_time(60_000)
        assert bench.bodies() == []


@pytest.mark.parametrize("first", [True, False])
def test_retries_are_read_after_the_kind_of_their_topics_was_changed(tmp_path, first):
    with pop_bench(tmp_path / "store", pop_retry_topic_v2=first) as bench:
        for body in (b"one", b"two"):
            bench.put("T", 0, body)
        bench.pop()
        bench.pass_time(10_000)
        bench.state.config = replace(bench.state.config, pop_retry_topic_v2=not first)
        again = bench.pop()
        assert sorted(message.body for message in again) == [b"one", b"two"]
        bench.ack(again[0])
        bench.pass_time(10_000)
        (last,) = bench.pop()
        assert last.body == again[1].body
        bench.ack(last)
        bench.pass_time(60_000)
        assert bench.bodies() == []


def test_a_pop_that_has_many_bytes_reads_no_further_queue(bench, monkeypatch):
    monkeypatch.setattr(queue_reader, "ANSWER_BYTES_MAX", 300)
    for queue_id in range(2):
        for _ in range(3):
            bench.put("T", queue_id, bytes(100))
    response = bench.answer(bench.peer, RequestCode.POP_MESSAGE, pop_fields(bench.clock()))
    first = {message.message.queue_id for message in popped(response, "T")}
    assert (len(response.body_slices), len(first), response.ext_fields["restNum"]) == (3, 1, "3")
    assert {message.message.queue_id for message in bench.pop()} == {0, 1} - first


def test_all_queues_have_their_turn(bench):
    for _ in range(200):
        bench.put("T", 0, b"0")
        bench.put("T", 1, b"1")
    taken = [bench.pop(maxMsgNums=1)[0].handle.queue_id for _ in range(100)]
    assert 20 < sum(taken) < 80


# ---- holding ----


def test_a_held_pop_is_answered_inside_of_the_put(bench):
    peer = RecordingPeer()
    assert held(bench, peer) is None
    bench.put("T", 1, b"now")
    (response,) = peer.sent
    assert [message.body for message in popped(response, "T")] == [b"now"]


def test_a_message_in_a_queue_that_is_not_read_any_more_wakes_no_pop(bench):
    peer = RecordingPeer()
    assert held(bench, peer) is None
    bench.state.topics.put(TopicConfig("T", read_queues=1, write_queues=2))
    bench.put("T", 1, b"not read")
    assert peer.sent == []
    bench.put("T", 0, b"read")
    assert [message.body for message in popped(peer.sent[0], "T")] == [b"read"]


def test_what_could_not_be_handed_out_is_tried_again_at_the_next_tick_whatever_its_queue(bench, monkeypatch):
    peer, family = RecordingPeer(), bench.dispatcher.pop
    assert held(bench, peer) is None
    with monkeypatch.context() as patch:
        patch.setattr(family.outstanding, "hand_out", lambda *_args, **_more: False)
        bench.put("T", 1, b"later")
    assert peer.sent == []
    family.processor.tick()
    assert [message.body for message in popped(peer.sent[0], "T")] == [b"later"]


def test_one_message_wakes_one_pop_of_each_group(bench):
    peers = [RecordingPeer() for _ in range(3)]
    for peer, group in zip(peers, ("A", "A", "B"), strict=True):
        assert held(bench, peer, consumerGroup=group) is None
    bench.put("T", 0, b"one")
    assert [len(peer.sent) for peer in peers] == [1, 0, 1]


def test_a_pop_of_a_slow_reader_ends_and_the_message_is_for_another(bench):
    slow, other = RecordingPeer("10.0.0.7:1"), RecordingPeer("10.0.0.7:2")
    held(bench, slow)
    held(bench, other)
    slow.reads_slowly = True
    bench.put("T", 0, b"for the other")
    assert [answer.code for answer in slow.sent] == [ResponseCode.POLLING_TIMEOUT]
    assert [answer.code for answer in other.sent] == [ResponseCode.SUCCESS]


def test_a_held_pop_waits_for_its_queue_and_its_tag(bench):
    peer = RecordingPeer()
    held(bench, peer, queueId=1, exp="B")
    bench.put("T", 0, b"other queue", "TAGS\x01B")
    bench.put("T", 1, b"other tag", "TAGS\x01A")
    assert peer.sent == []
    bench.put("T", 1, b"mine", "TAGS\x01B")
    assert [message.body for message in popped(peer.sent[0], "T")] == [b"mine"]


def test_a_held_pop_is_answered_when_its_time_is_over(bench):
    peer = RecordingPeer()
    held(bench, peer)
    bench.pass_time(14_999)
    assert peer.sent == []
    bench.pass_time(1)
    assert [response.code for response in peer.sent] == [ResponseCode.POLLING_TIMEOUT]


def test_a_held_pop_gets_a_message_that_comes_again(bench):
    bench.put("T", 0, b"one")
    bench.pop()
    peer = RecordingPeer()
    held(bench, peer)
    bench.pass_time(10_000)
    assert [message.body for message in popped(peer.sent[0], "T")] == [b"one"]


def test_more_pops_than_allowed_are_answered_at_once(tmp_path):
    with pop_bench(tmp_path / "store", pop_polling_size=1) as bench:
        assert held(bench, RecordingPeer()) is None
        assert held(bench, RecordingPeer()).code == ResponseCode.POLLING_FULL
        fields = {"consumerGroup": "CG", "topic": "T", "queueId": -1}
        assert bench.answer(bench.peer, RequestCode.POLLING_INFO, fields).ext_fields == {"pollingNum": "1"}


def test_a_lost_connection_takes_its_pops_along(bench):
    peer = RecordingPeer()
    held(bench, peer)
    bench.dispatcher.disconnected(peer)
    bench.put("T", 0, b"for others")
    assert peer.sent == []
    assert bench.bodies() == [b"for others"]


# ---- notification ----


def notification(bench, peer, poll_ms=0):
    fields = {"consumerGroup": "CG", "topic": "T", "queueId": -1, "pollTime": poll_ms, "bornTime": bench.clock()}
    return bench.ask(peer, RequestCode.NOTIFICATION, fields)


def test_a_notification_says_whether_there_is_a_message(bench):
    assert notification(bench, bench.peer).ext_fields == {"hasMsg": "false", "pollingFull": "false"}
    bench.put("T", 1, b"one")
    assert notification(bench, bench.peer).ext_fields == {"hasMsg": "true", "pollingFull": "false"}


def test_a_notification_waits_for_a_message_and_leaves_it(bench):
    peers = RecordingPeer(), RecordingPeer()
    assert notification(bench, peers[0], 10_000) is None
    bench.put("T", 0, b"one")
    assert [response.ext_fields["hasMsg"] for response in peers[0].sent] == ["true"]
    assert bench.bodies() == [b"one"]
    assert notification(bench, peers[1], 5_000) is None
    bench.pass_time(5_000)
    assert [response.ext_fields["hasMsg"] for response in peers[1].sent] == ["false"]


def test_a_notification_does_not_take_the_message_from_a_held_pop(bench):
    peers = RecordingPeer(), RecordingPeer()
    notification(bench, peers[0], 10_000)
    held(bench, peers[1])
    bench.put("T", 0, b"one")
    assert [response.ext_fields["hasMsg"] for response in peers[0].sent] == ["true"]
    assert [message.body for message in popped(peers[1].sent[0], "T")] == [b"one"]


def test_a_reset_of_the_offset_is_followed(bench):
    for number in range(3):
        bench.put("T", 0, b"%d" % number)
    for message in bench.pop():
        bench.ack(message)
    fields = {"consumerGroup": "CG", "topic": "T", "queueId": 0, "commitOffset": 1}
    assert bench.answer(bench.peer, RequestCode.UPDATE_CONSUMER_OFFSET, fields).code == ResponseCode.SUCCESS
    assert bench.bodies() == [b"1", b"2"]


def test_two_pops_from_one_place_in_one_millisecond_do_not_mix(bench):
    bench.put("T", 0, b"one")
    bench.pop()
    bench.state.offsets.commit("CG", "T", 0, 0)
    assert bench.bodies() == []
    bench.clock.advance(1)
    assert bench.bodies() == [b"one"]


class Curtain:
    """Hides what comes after the first message of each queue, until it is lifted."""

    ends = 1

    def end(self, topic, _queue_id):
        return self.ends if topic == "T" else None

    def hides(self, _topic, _queue_id, _offset):
        return False

    def hides_record(self, _record):
        return False


def test_messages_whose_fate_is_open_are_not_popped_and_wake_when_they_are_visible(bench):
    bench.state.store.visibility = curtain = Curtain()
    for number in range(2):
        bench.put("T", 0, b"%d" % number)
    (first,) = bench.pop()
    bench.ack(first)
    peers = RecordingPeer(), RecordingPeer()
    assert held(bench, peers[0]) is None
    assert notification(bench, peers[1], 15_000) is None
    bench.pass_time(1_000)
    assert [peer.sent for peer in peers] == [[], []]
    curtain.ends = None
    bench.pass_time(1_000)
    assert [message.body for message in popped(peers[0].sent[0], "T")] == [b"1"]
    assert [response.ext_fields["hasMsg"] for response in peers[1].sent] == ["true"]


def test_sql_chooses_messages_where_it_is_switched_on(tmp_path):
    with pop_bench(tmp_path / "store", property_filter=True) as bench:
        for number in range(4):
            bench.put("T", 0, b"%d" % number, f"price\x01{number}")
        assert bench.bodies(expType="SQL92", exp="price > 1") == [b"2", b"3"]
        peer = RecordingPeer()
        assert held(bench, peer, expType="SQL92", exp="price > 1") is None
        bench.put("T", 0, b"cheap", "price\x010")
        assert peer.sent == []
        bench.put("T", 0, b"dear", "price\x019")
        assert [message.body for message in popped(peer.sent[0], "T")] == [b"dear"]


@pytest.mark.parametrize(
    ("kind", "expression", "on", "code"), [("SQL92", "a > 1", False, 1), ("SQL92", "a >", True, 23), ("LUA", "x", True, 23)]
)
def test_other_filters_are_refused(tmp_path, kind, expression, on, code):
    with pop_bench(tmp_path / "store", property_filter=on) as bench:
        fields = pop_fields(bench.clock(), expType=kind, exp=expression)
        assert bench.answer(bench.peer, RequestCode.POP_MESSAGE, fields).code == code
