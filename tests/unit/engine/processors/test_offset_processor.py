"""Offsets of groups and queues, and single messages."""

import pytest

from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.json_body import parse_object
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import RecordingPeer, pull_fields

PEER = RecordingPeer()
COMMIT, INLINE = 1, 4
QUEUE = {"topic": "T", "queueId": 0}
GROUP = {"consumerGroup": "CG", **QUEUE}


def query(bench, **more):
    response = bench.answer(PEER, Q.QUERY_CONSUMER_OFFSET, GROUP | more)
    return response.code, response.ext_fields.get("offset")


def test_a_committed_offset_is_found_and_may_go_back(bench):
    for _ in range(3):
        bench.put()
    for offset in (3, 1):
        assert bench.answer(PEER, Q.UPDATE_CONSUMER_OFFSET, GROUP | {"commitOffset": offset}).code == R.SUCCESS
        assert query(bench) == (R.SUCCESS, str(offset))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"topic": "Nowhere"}, R.TOPIC_NOT_EXIST),
        ({"queueId": 4}, R.SYSTEM_ERROR),
        ({"queueId": -1}, R.SYSTEM_ERROR),
        ({"consumerGroup": "a@b"}, R.SUBSCRIPTION_GROUP_NOT_EXIST),
        ({"commitOffset": "x"}, R.SYSTEM_ERROR),
    ],
)
def test_an_offset_of_what_does_not_exist_is_not_stored(bench, change, code):
    bench.put()
    assert bench.answer(PEER, Q.UPDATE_CONSUMER_OFFSET, GROUP | {"commitOffset": 1} | change).code == code
    assert bench.state.offsets.items() == []


@pytest.mark.parametrize("offset", [-1, -(1 << 63), 3, 4711, 928803233967072000, (1 << 63) - 1])
def test_an_offset_that_its_queue_cannot_have_is_refused_and_changes_nothing(bench, offset):
    for _ in range(2):
        bench.put()
    assert bench.answer(PEER, Q.UPDATE_CONSUMER_OFFSET, GROUP | {"commitOffset": 1}).code == R.SUCCESS
    changes = bench.state.offsets.changes
    response = bench.answer(PEER, Q.UPDATE_CONSUMER_OFFSET, GROUP | {"commitOffset": offset})
    remark = f"Target offset {offset} not in consume queue range [0-2] of queue 0 of topic T"
    assert (response.code, response.remark) == (R.SYSTEM_ERROR, remark)
    assert (query(bench), bench.state.offsets.changes) == ((R.SUCCESS, "1"), changes)


def test_a_queue_without_messages_has_offset_0_alone(bench):
    bench.put(queue_id=1)
    assert bench.answer(PEER, Q.UPDATE_CONSUMER_OFFSET, GROUP | {"commitOffset": 1}).code == R.SYSTEM_ERROR
    assert bench.answer(PEER, Q.UPDATE_CONSUMER_OFFSET, GROUP | {"commitOffset": 0}).code == R.SUCCESS


def test_an_offset_of_messages_that_are_cleaned_away_is_stored(bench, monkeypatch):
    """A consumer that is slower than retention has it, and its next pull tells it where the queue begins."""
    for _ in range(3):
        bench.put()
    monkeypatch.setattr(bench.state.store, "min_offset", lambda _topic, _queue_id: 2)
    assert bench.answer(PEER, Q.UPDATE_CONSUMER_OFFSET, GROUP | {"commitOffset": 1}).code == R.SUCCESS
    assert query(bench) == (R.SUCCESS, "1")


def test_a_consumer_of_a_topic_that_was_made_again_goes_on(bench):
    for _ in range(5):
        bench.put()
    wanted = {"sysFlag": COMMIT | INLINE, "commitOffset": 5}
    assert bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=5, **wanted)).code == R.PULL_NOT_FOUND
    bench.state.topics.remove("T")
    bench.state.store.remove_topic("T")
    bench.state.offsets.remove_topic("T")
    bench.put(body=b"new")
    assert bench.ask(PEER, Q.UPDATE_CONSUMER_OFFSET, GROUP | {"commitOffset": 5}).code == R.SYSTEM_ERROR
    moved = bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=5, **wanted))
    assert (moved.code, moved.ext_fields["nextBeginOffset"]) == (R.PULL_OFFSET_MOVED, "1")
    assert bench.state.offsets.get("CG", "T", 0) == -1, "the new message is not passed over"
    first = bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=int(query(bench)[1]), sysFlag=COMMIT | INLINE))
    assert decode_record(first.body_slices[0]).body == b"new"


def test_a_new_group_starts_at_0_on_a_young_queue(bench):
    assert query(bench) == (R.SUCCESS, "0")
    bench.put()
    assert query(bench) == (R.SUCCESS, "0")
    assert query(bench, setZeroIfNotFound="false") == (R.QUERY_NOT_FOUND, None)


def test_a_new_group_has_no_offset_when_the_queues_first_message_is_far_back(bench, monkeypatch):
    bench.put()
    far = bench.state.store.commit_log_max_offset + (1 << 31)
    monkeypatch.setattr(type(bench.state.store), "commit_log_max_offset", property(lambda _self: far))
    assert query(bench) == (R.QUERY_NOT_FOUND, None)


def test_ends_of_a_queue(bench):
    for _ in range(3):
        bench.put()
    assert bench.answer(PEER, Q.GET_MAX_OFFSET, QUEUE).ext_fields == {"offset": "3"}
    assert bench.answer(PEER, Q.GET_MIN_OFFSET, QUEUE).ext_fields == {"offset": "0"}
    unknown = {"topic": "Nowhere", "queueId": 5}
    assert bench.answer(PEER, Q.GET_MAX_OFFSET, unknown).ext_fields == {"offset": "0"}
    assert bench.answer(PEER, Q.GET_MIN_OFFSET, unknown).ext_fields == {"offset": "0"}


def test_offset_by_time_and_the_earliest_time(bench):
    start = bench.clock()
    for _ in range(3):
        bench.put()
        bench.clock.advance(1_000)

    def found(timestamp, **more):
        return bench.answer(PEER, Q.SEARCH_OFFSET_BY_TIMESTAMP, QUEUE | {"timestamp": timestamp} | more).ext_fields["offset"]

    def lower(timestamp):
        return found(timestamp, boundaryType="LOWER")

    for search in (lower, found):  # tools name no boundary, those of 5.x too
        exact = [search(start + after) for after in (-9, 0, 1, 499, 501, 1_000, 2_000, 2_001, 9_000)]
        assert exact == ["0", "0", "1", "1", "1", "1", "2", "3", "3"]
    assert found(start, queueId=3) == found(start, topic="Nowhere") == "0"
    assert found(start + 1_999, boundaryType="UPPER") == "1"
    assert bench.answer(PEER, Q.GET_EARLIEST_MSG_STORETIME, QUEUE).ext_fields == {"timestamp": str(start)}
    empty = bench.answer(PEER, Q.GET_EARLIEST_MSG_STORETIME, QUEUE | {"queueId": 3})
    assert empty.ext_fields == {"timestamp": "-1"}


def test_a_message_is_found_by_the_offset_in_its_id(bench):
    bench.put(body=b"first")
    response = bench.put(body=b"second")
    _, offset = parse_offset_message_id(response.ext_fields["msgId"])
    found = bench.answer(PEER, Q.VIEW_MESSAGE_BY_ID, {"offset": offset})
    assert decode_record(found.body_slices[0]).body == b"second"


@pytest.mark.parametrize("offset", [-1, 1, 1 << 40])
def test_where_no_message_starts_none_is_found(bench, offset):
    bench.put()
    response = bench.answer(PEER, Q.VIEW_MESSAGE_BY_ID, {"offset": offset})
    assert (response.code, response.remark) == (R.SYSTEM_ERROR, f"can not find message by the offset, {offset}")


def test_all_offsets_in_one_answer(bench):
    assert bench.answer(PEER, Q.GET_ALL_CONSUMER_OFFSET).code == R.SYSTEM_ERROR
    bench.put()
    bench.answer(PEER, Q.UPDATE_CONSUMER_OFFSET, GROUP | {"commitOffset": 1})
    response = bench.answer(PEER, Q.GET_ALL_CONSUMER_OFFSET)
    assert parse_object(response.body)["offsetTable"] == {"T@CG": {"0": 1}}
