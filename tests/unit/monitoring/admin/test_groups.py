import pytest

from broker_core.api import JsonBodyError, RequestCode, emit, parse_object
from monitoring.admin.groups import GroupSettings, change_settings, delete_request, read_settings

CONFIG = {"brokerId": 0, "consumeBroadcastEnable": False, "consumeEnable": True, "consumeFromMinEnable": True,
          "groupName": "billing", "notifyConsumerIdsChangedEnable": True, "retryMaxTimes": 4, "retryQueueNums": 2,
          "whichBrokerWhenConsumeSlowly": 1}  # fmt: skip
NEWER = {"groupRetryPolicy": {"type": "CUSTOMIZED"}, "consumeTimeoutMinute": 15, "consumeMessageOrderly": False}


def test_a_config_is_read_and_sent_back_as_it_came():
    for config in (CONFIG, CONFIG | NEWER):
        request = change_settings(read_settings(emit(config)))
        assert request.code == RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
        assert parse_object(request.body) == config


def test_a_config_is_read():
    settings = read_settings(emit(CONFIG))
    assert settings == GroupSettings("billing", broadcast_enabled=False, retry_times_max=4, retry_queues=2)


@pytest.mark.parametrize("body", [b"{}", b'{"groupName":"g","retryMaxTimes":"many"}'])
def test_what_is_no_config_is_refused(body):
    with pytest.raises(JsonBodyError):
        read_settings(body)


def test_a_group_goes_with_its_offsets_or_without():
    assert delete_request("g", with_offsets=True).fields == {"groupName": "g", "removeOffset": "true", "cleanOffset": "true"}
    assert delete_request("g", with_offsets=False).fields["cleanOffset"] == "false"
