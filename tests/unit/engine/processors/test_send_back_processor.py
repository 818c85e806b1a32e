"""Messages given back: retried by way of the delay levels, buried when no retry is left."""

import pytest

from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import RecordingPeer, broker_bench

PEER = RecordingPeer()
SCHEDULE = "SCHEDULE_TOPIC_XXXX"


def give_back(bench, offset=0, **more):
    fields = {"group": "CG", "offset": offset, "delayLevel": 0, "originTopic": "T"}
    return bench.answer(PEER, Q.CONSUMER_SEND_MSG_BACK, fields | more)


def newest(bench, topic, queue_id=0):
    offset = bench.state.store.max_offset(topic, queue_id) - 1
    (record,) = bench.state.store.get_messages(topic, queue_id, offset, 1).records
    return decode_record(record)


def sent(bench):
    answer = bench.put(body=b"bad", properties="TAGS\x01a\x02KEYS\x01k")
    return answer.ext_fields["msgId"], parse_offset_message_id(answer.ext_fields["msgId"])[1]


def test_a_retry_is_a_whole_copy_that_waits_at_level_3(bench):
    message_id, offset = sent(bench)
    assert give_back(bench, offset).code == R.SUCCESS
    copy = newest(bench, SCHEDULE, 2)
    assert (copy.body, copy.reconsume_times, str(copy.born_host)) == (b"bad", 1, "10.0.0.7:4711")
    assert copy.properties == {
        "TAGS": "a", "KEYS": "k", "CLUSTER": "DefaultCluster", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": message_id,
        "DELAY": "3", "REAL_TOPIC": "%RETRY%CG", "REAL_QID": "0",
    }  # fmt: skip
    topic = bench.state.topics.get("%RETRY%CG")
    assert (topic.read_queues, topic.write_queues, topic.permission, topic.sys_flag) == (1, 1, 6, 0)
    assert bench.state.counters.groups["CG"].consume_failed == 1


def test_sixteen_retries_use_levels_3_to_18_and_the_next_is_the_dead_letter(bench):
    message_id, offset = sent(bench)
    for times in range(16):
        assert give_back(bench, offset).code == R.SUCCESS
        level = min(3 + times, 18)
        copy = newest(bench, SCHEDULE, level - 1)
        assert (copy.reconsume_times, copy.properties["DELAY"]) == (times + 1, str(level))
        assert (copy.properties["RETRY_TOPIC"], copy.properties["ORIGIN_MESSAGE_ID"]) == ("T", message_id)
        offset = copy.physical_offset
    assert give_back(bench, offset).code == R.SUCCESS
    dead = newest(bench, "%DLQ%CG")
    assert (dead.body, dead.reconsume_times, "DELAY" in dead.properties) == (b"bad", 17, False)
    assert (dead.properties["RETRY_TOPIC"], dead.properties["ORIGIN_MESSAGE_ID"]) == ("T", message_id)


@pytest.mark.parametrize("more", [{"delayLevel": -1}, {"maxReconsumeTimes": 0}])
def test_a_message_without_retries_left_is_in_the_dead_letter_topic_at_once(bench, more):
    message_id, offset = sent(bench)
    assert give_back(bench, offset, **more).code == R.SUCCESS
    dead = newest(bench, "%DLQ%CG")
    assert (dead.body, dead.reconsume_times) == (b"bad", 1)
    assert dead.properties["ORIGIN_MESSAGE_ID"] == message_id
    assert bench.state.topics.get("%DLQ%CG").permission == 6
    assert bench.state.store.max_offset(SCHEDULE, 2) == 0


@pytest.mark.parametrize(("asked", "used"), [(1, 1), (18, 18), (40, 18)])
def test_the_level_that_the_consumer_asks_for_is_used(bench, asked, used):
    give_back(bench, sent(bench)[1], delayLevel=asked)
    assert newest(bench, SCHEDULE, used - 1).properties["DELAY"] == str(used)


def test_the_group_says_how_often_and_over_how_many_queues(tmp_path):
    with broker_bench(tmp_path) as bench:
        group = {"groupName": "CG", "retryQueueNums": 3, "retryMaxTimes": 1}
        bench.answer(PEER, Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=group)
        offset = sent(bench)[1]
        for _ in range(40):
            give_back(bench, offset)
        queues = {
            decode_record(record).properties["REAL_QID"]
            for start in (0, 20)
            for record in bench.state.store.get_messages(SCHEDULE, 2, start, 20).records
        }
        assert queues == {"0", "1", "2"}
        give_back(bench, newest(bench, SCHEDULE, 2).physical_offset)
        assert newest(bench, "%DLQ%CG").body == b"bad"


def test_unit_mode_is_noted_in_the_retry_topic(bench):
    give_back(bench, sent(bench)[1], unitMode="true")
    assert bench.state.topics.get("%RETRY%CG").sys_flag == 2


def test_a_group_without_retry_queues_drops_the_message(bench):
    bench.answer(PEER, Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body={"groupName": "CG", "retryQueueNums": 0})
    assert give_back(bench, sent(bench)[1]).code == R.SUCCESS
    assert bench.state.store.queues() == [("T", 0)]


def test_an_offset_without_a_message_is_refused(bench):
    sent(bench)
    assert give_back(bench, offset=3).code == R.SYSTEM_ERROR


def test_an_unknown_group_is_refused(bench):
    assert give_back(bench, group="not a name").code == R.SUBSCRIPTION_GROUP_NOT_EXIST


def test_a_retry_topic_without_write_permission_is_refused(bench):
    give_back(bench, sent(bench)[1])
    fields = {
        "topic": "%RETRY%CG", "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 4,
        "topicFilterType": "SINGLE_TAG",
    }  # fmt: skip
    bench.answer(PEER, Q.UPDATE_AND_CREATE_TOPIC, fields)
    assert give_back(bench).code == R.NO_PERMISSION


def test_a_copy_that_cannot_be_stored_is_told_so(bench, monkeypatch):
    offset = sent(bench)[1]
    monkeypatch.setattr(bench.state.store, "put", lambda _message: PutResult(PutStatus.SERVICE_NOT_AVAILABLE))
    response = give_back(bench, offset)
    assert (response.code, response.remark) == (R.SYSTEM_ERROR, "SERVICE_NOT_AVAILABLE")
    assert "CG" not in bench.state.counters.groups
