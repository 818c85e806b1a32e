import pytest

from broker_core.protocol.admin.topics import (
    TopicConfig,
    read_all_topic_settings,
    read_topic_configs,
    read_topic_names,
    read_topic_settings,
    topic_fields,
)
from broker_core.protocol.json_body import JsonBodyError, emit

CONFIG = {"attributes": {"message.type": "FIFO"}, "order": True, "perm": 6, "readQueueNums": 8, "topicName": "orders",
          "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "writeQueueNums": 4}  # fmt: skip
ORDERS = TopicConfig("orders", 8, 4, 6, order=True, attributes={"message.type": "FIFO"})


def test_a_config_is_read_and_read_in_a_table():
    assert read_topic_settings(emit(CONFIG)) == ORDERS
    table = emit({"topicConfigTable": {"orders": CONFIG}})
    assert read_all_topic_settings(table) == {"orders": ORDERS}
    assert read_topic_configs(table) == {"orders": CONFIG}


def test_a_table_names_its_topics():
    body = b'{"topicConfigTable":{"T":{"perm":4,"readQueueNums":2,"topicName":"T","writeQueueNums":3}}}'
    assert read_all_topic_settings(body) == {"T": TopicConfig("T", 2, 3, 4)}


def test_a_config_of_4x_has_no_attributes():
    assert read_topic_settings(emit({**CONFIG, "attributes": None})).attributes == {}


@pytest.mark.parametrize("body", [b"{}", b"[1]", b'{"topicName":"t","perm":"six"}'])
def test_what_is_no_config_is_refused(body):
    with pytest.raises(JsonBodyError):
        read_topic_settings(body)


@pytest.mark.parametrize("read", [read_all_topic_settings, read_topic_configs])
@pytest.mark.parametrize("body", [b"{}", b'{"topicConfigTable":7}', b'{"topicConfigTable":{"T":1}}'])
def test_a_table_that_is_none_is_refused(read, body):
    with pytest.raises(JsonBodyError, match="topicConfigTable"):
        read(body)


def test_a_topic_without_queues_is_refused():
    with pytest.raises(JsonBodyError):
        read_all_topic_settings(b'{"topicConfigTable":{"T":{}}}')


def test_names_are_sorted():
    assert read_topic_names(b'{"topicList":["b","a"]}') == ["a", "b"]
    assert read_topic_names(b"{}") == []


def test_settings_are_sent_as_fields():
    assert topic_fields(ORDERS, "+k=v") == {
        "topic": "orders", "defaultTopic": "TBW102", "readQueueNums": "8", "writeQueueNums": "4", "perm": "6",
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "true", "attributes": "+k=v",
    }  # fmt: skip
    assert "attributes" not in topic_fields(ORDERS)


def test_an_order_in_text_is_read_as_the_broker_reads_it():
    assert not read_topic_settings(emit({**CONFIG, "order": "false"})).order
