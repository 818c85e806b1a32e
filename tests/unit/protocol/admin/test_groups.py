import pytest

from broker_core.protocol.admin.groups import (
    GroupConfig,
    group_body,
    read_all_group_settings,
    read_group_configs,
    read_group_settings,
    read_groups_of_topic,
)
from broker_core.protocol.json_body import JsonBodyError, emit, parse_object

CONFIG = {"brokerId": 0, "consumeBroadcastEnable": False, "consumeEnable": True, "consumeFromMinEnable": True,
          "groupName": "billing", "notifyConsumerIdsChangedEnable": True, "retryMaxTimes": 4, "retryQueueNums": 2,
          "whichBrokerWhenConsumeSlowly": 1}  # fmt: skip
NEWER = {"groupRetryPolicy": {"type": "CUSTOMIZED"}, "consumeTimeoutMinute": 15, "consumeMessageOrderly": False}
BILLING = GroupConfig("billing", broadcast_enabled=False, retry_times_max=4, retry_queues=2)


@pytest.mark.parametrize("config", [CONFIG, CONFIG | NEWER])
def test_a_config_is_sent_back_as_it_came(config):
    assert parse_object(group_body(read_group_settings(emit(config)))) == config


def test_a_config_is_read_and_read_in_a_table():
    assert read_group_settings(emit(CONFIG)) == BILLING
    table = emit({"subscriptionGroupTable": {"billing": CONFIG}})
    assert read_all_group_settings(table) == {"billing": BILLING}
    assert read_group_configs(table) == {"billing": CONFIG}


def test_a_group_without_a_name_is_left_out():
    assert list(read_group_configs(b'{"subscriptionGroupTable":{"g":{"groupName":"g"},"":{}}}')) == ["g"]


@pytest.mark.parametrize("body", [b"{}", b'{"groupName":"g","retryMaxTimes":"many"}'])
def test_what_is_no_config_is_refused(body):
    with pytest.raises(JsonBodyError):
        read_group_settings(body)


@pytest.mark.parametrize("body", [b'{"subscriptionGroupTable":7}', b'{"subscriptionGroupTable":{"g":1}}'])
def test_what_is_no_table_is_refused(body):
    with pytest.raises(JsonBodyError):
        read_group_configs(body)


def test_groups_of_a_topic_are_names():
    assert read_groups_of_topic(b'{"groupList":["b","a"]}') == ["b", "a"]
    assert read_groups_of_topic(b"{}") == []
