import pytest

from broker_core.protocol.admin import answers
from broker_core.protocol.admin.answers import BrokerPlace, QueueOffsets, TopicRow
from broker_core.protocol.filter.rejection import Wanted
from broker_core.protocol.json_body import JsonBodyError


def test_brokers_come_in_order_with_the_master_first():
    body = (
        b'{"brokerAddrTable":{"b":{"brokerAddrs":{1:"h:2"},"brokerName":"b","cluster":"C"},'
        b'"a":{"brokerAddrs":{1:"h:4",0:"h:3"},"brokerName":"a","cluster":"C"},"gone":{"brokerAddrs":{}}}}'
    )
    first, second = answers.read_brokers(body)
    assert (first, first.address, first.has_master) == (BrokerPlace("a", "C", {0: "h:3", 1: "h:4"}), "h:3", True)
    assert (second.name, second.address, second.has_master) == ("b", "h:2", False)


def test_tables_of_a_broker_are_read():
    body = b'{"topicConfigTable":{"T":{"perm":4,"readQueueNums":2,"topicName":"T","writeQueueNums":3}}}'
    assert answers.read_topics(body) == {"T": TopicRow(2, 3, 4)}
    assert answers.read_groups(b'{"subscriptionGroupTable":{"g":{"groupName":"g"},"":{}}}') == {"g"}
    assert answers.read_positions(b'{"offsetTable":{"T@g":{0:5,1:6},"odd":{0:1}}}') == {("g", "T"): {0: 5, 1: 6}}
    assert answers.read_runtime(b'{"table":{"brokerVersion":"401"}}') == {"brokerVersion": "401"}
    assert answers.read_timer_counts(b'{"timingCount":{"T":{"count":3,"timeStamp":9}}}') == {"T": 3}


def test_offsets_of_a_topic_and_members_of_a_group_are_read():
    body = b'{"offsetTable":{{"brokerName":"a","queueId":1,"topic":"T"}:{"lastUpdateTimestamp":9,"maxOffset":7,"minOffset":2}}}'
    assert answers.read_queue_offsets(body) == {1: QueueOffsets(2, 7, 9)}
    body = b'{"connectionSet":[{"clientId":"c"}],"subscriptionTable":{"T":{"subString":"a||b","expressionType":"TAG"}}}'
    assert answers.read_connections(body) == [{"clientId": "c"}]
    assert answers.read_subscriptions(body) == {"T": Wanted("a||b", "TAG")}


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (answers.read_brokers, b'{"brokerAddrTable":[1]}'),
        (answers.read_topics, b'{"topicConfigTable":{"T":{}}}'),
        (answers.read_groups, b'{"subscriptionGroupTable":7}'),
        (answers.read_positions, b'{"offsetTable":{"T@g":{"x":1}}}'),
        (answers.read_queue_offsets, b'{"offsetTable":{"T":{}}}'),
        (answers.read_runtime, b'{"table":3}'),
        (answers.read_connections, b'{"connectionSet":[1]}'),
        (answers.read_subscriptions, b'{"subscriptionTable":[1]}'),
        (answers.read_timer_counts, b'{"timingCount":{"T":{"count":"many"}}}'),
        (answers.read_timer_counts, b'{"timingCount":{"T":3}}'),
        (answers.read_brokers, b"<html>"),
    ],
)
def test_an_answer_of_another_shape_is_refused(read, body):
    with pytest.raises(JsonBodyError):
        read(body)


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("-1", -1), ("", None), (None, None), ("1.5", None)])
def test_a_figure_is_a_number_or_unknown(text, number):
    assert answers.whole_number(text) == number
