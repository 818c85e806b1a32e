"""The broker's settings as the console reads and writes them."""

import pytest

from broker_core.api import RequestCode, SettingKind, SettingSpec, setting_specs
from broker_core.config import BrokerConfig, live_settings, setting_value, with_settings
from monitoring.admin.settings import Fault, Setting, change_request, fault_of, settings_of, settings_request
from tests.support.fake_operations import fake_broker_answers

SPECS = setting_specs()


def setting(key: str, value: str = "") -> Setting:
    return Setting(key, value, SPECS.get(key))


def test_settings_are_compared_with_their_defaults():
    found = {one.key: one for one in settings_of(fake_broker_answers()[settings_request().code])}

    assert found["fileReservedTime"].differs
    assert found["fileReservedTime"].default == "72"
    assert not found["deleteWhen"].differs
    assert not found["storePathRootDir"].differs, "where the store is has no default"
    assert found["brokerRole"].spec is None
    assert not found["brokerRole"].is_live


def test_what_is_live_is_what_the_broker_says():
    assert {key for key, spec in SPECS.items() if spec.is_live} == live_settings().keys()
    assert SPECS["fileReservedTime"] == SettingSpec("fileReservedTime", SettingKind.NUMBER, "72", True, 0, 1_000_000)
    assert "tls.server.keyPassword" not in SPECS


def test_a_change_is_lines():
    request = change_request({"deleteWhen": "05", "fileReservedTime": "48"})
    assert (request.code, request.body) == (RequestCode.UPDATE_BROKER_CONFIG, b"deleteWhen=05\nfileReservedTime=48\n")


@pytest.mark.parametrize(
    ("key", "text", "fault"),
    [
        ("fileReservedTime", "48", None),
        ("fileReservedTime", "-1", Fault.NO_NUMBER),
        ("fileReservedTime", "²", Fault.NO_NUMBER),
        ("fileReservedTime", "1000001", Fault.OUT_OF_BOUNDS),
        ("longPollingEnable", "yes", Fault.NO_SWITCH),
        ("longPollingEnable", "false", None),
        ("deleteWhen", "04;16", None),
        ("deleteWhen", "24", Fault.NO_HOURS),
        ("deleteWhen", "", Fault.NO_HOURS),
        ("deleteWhen", "04\nbrokerPermission=0", Fault.LINE_BREAK),
    ],
)
def test_a_value_that_cannot_be_is_told_before_it_is_sent(key, text, fault):
    assert fault_of(setting(key), text) is fault


@pytest.mark.parametrize("key", sorted(live_settings()))
def test_the_default_of_every_live_setting_can_be_sent(key):
    default = SPECS[key].default
    assert fault_of(setting(key), default) is None
    assert setting_value(with_settings(BrokerConfig(), {key: default}), key) == setting_value(BrokerConfig(), key)
