import pytest

from broker_core.api import RequestCode, TopicConfig
from monitoring.admin.topics import TopicType, attribute_changes, change_settings, delete_requests, topic_type

ORDERS = TopicConfig("orders", 8, 4, 6, order=True, attributes={"message.type": "FIFO"})


def test_a_change_sends_all_settings_and_the_difference_of_attributes():
    after = TopicConfig("orders", 16, 16, 4, attributes={"message.type": "NORMAL", "k": "v"})
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


@pytest.mark.parametrize(
    ("name", "given", "kind"),
    [
        ("orders", {}, TopicType.NORMAL),
        ("orders", {"order": True}, TopicType.FIFO),
        ("orders", {"declared": "TRANSACTION"}, TopicType.TRANSACTION),
        ("orders", {"declared": "UNSPECIFIED"}, TopicType.UNSPECIFIED),
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
