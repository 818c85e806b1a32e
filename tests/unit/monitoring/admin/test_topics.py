import pytest

from broker_core.api import JsonBodyError, RequestCode, emit
from monitoring.admin.topics import (
    TopicSettings,
    TopicType,
    attribute_changes,
    change_settings,
    delete_requests,
    read_all_settings,
    read_route,
    read_settings,
    topic_type,
)

CONFIG = {"attributes": {"message.type": "FIFO"}, "order": True, "perm": 6, "readQueueNums": 8, "topicName": "orders",
          "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "writeQueueNums": 4}  # fmt: skip
ORDERS = TopicSettings("orders", 8, 4, 6, order=True, attributes={"message.type": "FIFO"})


def test_a_config_is_read_and_read_in_a_table():
    assert read_settings(emit(CONFIG)) == ORDERS
    assert read_all_settings(emit({"topicConfigTable": {"orders": CONFIG}})) == {"orders": ORDERS}


def test_a_config_of_4x_has_no_attributes():
    assert read_settings(emit({**CONFIG, "attributes": None})).attributes == {}


@pytest.mark.parametrize("body", [b"{}", b"[1]", b'{"topicName":"t","perm":"six"}'])
def test_what_is_no_config_is_refused(body):
    with pytest.raises(JsonBodyError):
        read_settings(body)


def test_a_table_that_is_none_is_refused():
    with pytest.raises(JsonBodyError, match="topicConfigTable"):
        read_all_settings(b"{}")


def test_a_change_sends_all_settings_and_the_difference_of_attributes():
    after = TopicSettings("orders", 16, 16, 4, attributes={"message.type": "NORMAL", "k": "v"})
    request = change_settings(ORDERS, after)
    assert request.code == RequestCode.UPDATE_AND_CREATE_TOPIC
    assert request.fields == {
        "topic": "orders", "defaultTopic": "TBW102", "readQueueNums": "16", "writeQueueNums": "16", "perm": "4",
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false", "attributes": "+k=v,+message.type=NORMAL",
    }  # fmt: skip
    assert "attributes" not in change_settings(ORDERS, ORDERS).fields
    assert attribute_changes({"a": "1"}, {}) == "-a"


def test_a_topic_is_deleted_at_broker_and_name_server():
    assert [(one.code, one.name_server) for one in delete_requests("t")] == [
        (RequestCode.DELETE_TOPIC_IN_BROKER, False), (RequestCode.DELETE_TOPIC_IN_NAMESRV, True),
    ]  # fmt: skip


def test_a_route_has_the_brokers_with_queues_and_their_addresses_master_first():
    route = {
        "brokerDatas": [{"brokerName": "b", "cluster": "C", "brokerAddrs": {"1": "h:2", "0": "h:1"}}],
        "queueDatas": [
            {"brokerName": "b", "readQueueNums": 8, "writeQueueNums": 4, "perm": 6},
            {"brokerName": "a", "readQueueNums": 1, "writeQueueNums": 1, "perm": 4},
        ],
    }
    gone, there = read_route(emit(route))
    assert (there.broker_name, there.cluster, there.addresses) == ("b", "C", ((0, "h:1"), (1, "h:2")))
    assert (there.read_queues, there.write_queues, there.permission) == (8, 4, 6)
    assert (gone.broker_name, gone.addresses) == ("a", ())


@pytest.mark.parametrize(
    ("name", "given", "kind"),
    [
        ("orders", {}, TopicType.NORMAL),
        ("orders", {"order": True}, TopicType.FIFO),
        ("orders", {"declared": "TRANSACTION"}, TopicType.TRANSACTION),
        ("orders", {"declared": "SOMETHING"}, TopicType.NORMAL),
        ("%RETRY%g", {}, TopicType.RETRY),
        ("%DLQ%g", {}, TopicType.DEAD_LETTER),
        ("SCHEDULE_TOPIC_XXXX", {"is_system": True}, TopicType.DELAY),
        ("RMQ_SYS_TRANS_HALF_TOPIC", {"is_system": True}, TopicType.TRANSACTION),
        ("TBW102", {"is_system": True}, TopicType.SYSTEM),
    ],
)
def test_a_topic_has_a_type(name, given, kind):
    assert topic_type(name, **{"is_system": False} | given) is kind
