"""Messages given back: kept by the client while retries need delays, buried when none is left."""

import pytest

from broker_core.message.message_id import parse_offset_message_id
from broker_core.message.record import decode_record
from broker_core.remoting.codes import RequestCode as Q
from broker_core.remoting.codes import ResponseCode as R
from tests.support.broker_bench import RecordingPeer

PEER = RecordingPeer()


def give_back(bench, **more):
    bench.put(body=b"bad", properties="TAGS\x01a")
    fields = {"group": "CG", "offset": 0, "delayLevel": 0, "originTopic": "T"}
    return bench.answer(PEER, Q.CONSUMER_SEND_MSG_BACK, fields | more)


def test_a_message_with_retries_left_is_refused_so_that_the_client_keeps_it(bench):
    response = give_back(bench)
    assert (response.code, "consume it again" in response.remark) == (R.SYSTEM_ERROR, True)
    assert bench.state.store.queues() == [("T", 0)]
    assert bench.state.counters.groups["CG"].consume_failed == 1


@pytest.mark.parametrize("more", [{"delayLevel": -1}, {"maxReconsumeTimes": 0}])
def test_a_message_without_retries_left_is_in_the_dead_letter_topic(bench, more):
    sent_id = bench.put(body=b"bad").ext_fields["msgId"]
    _, offset = parse_offset_message_id(sent_id)
    assert give_back(bench, offset=offset, **more).code == R.SUCCESS
    (record,) = bench.state.store.get_messages("%DLQ%CG", 0, 0, 32).records
    message = decode_record(record)
    assert (message.body, message.reconsume_times) == (b"bad", 1)
    assert message.properties["RETRY_TOPIC"] == "T"
    assert message.properties["ORIGIN_MESSAGE_ID"] == sent_id
    assert bench.state.topics.get("%DLQ%CG").permission == 6


def test_a_group_without_retry_queues_drops_the_message(bench):
    bench.answer(PEER, Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body={"groupName": "CG", "retryQueueNums": 0})
    assert give_back(bench).code == R.SUCCESS


def test_an_offset_without_a_message_is_refused(bench):
    assert give_back(bench, offset=3).code == R.SYSTEM_ERROR


def test_an_unknown_group_is_refused(bench):
    assert give_back(bench, group="not a name").code == R.SUBSCRIPTION_GROUP_NOT_EXIST
