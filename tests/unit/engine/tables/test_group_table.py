from dataclasses import replace

import pytest

from broker_core.engine.store.config_file import format_config, parse_config
from broker_core.engine.tables.group_table import GroupTable
from broker_core.errors import CodecError
from broker_core.protocol.admin.groups import GroupConfig
from tests.support.clock import ManualClock


def table(**more):
    return GroupTable(clock=ManualClock(), **{"auto_create": True} | more)


def test_a_group_is_made_at_its_first_use_once():
    changes = []
    groups = table(changed=lambda: changes.append(1))
    assert groups.find("CG") == GroupConfig("CG")
    groups.find("CG")
    assert changes == [1]


@pytest.mark.parametrize("name", ["", " ", "a b", "x" * 256])
def test_an_ill_named_group_is_not_made(name):
    assert table().find(name) is None


def test_without_auto_creation_only_system_groups_are_made():
    groups = table(auto_create=False)
    assert groups.find("CG") is None
    assert groups.find("TOOLS_CONSUMER") is not None
    assert groups.find("CID_RMQ_SYS_TRANS") is not None


def test_first_uses_make_no_more_groups_than_the_bound():
    groups = table(groups_max=len(table().all()) + 1)
    assert groups.find("CG") is not None
    assert groups.find("CG2") is None
    groups.put(GroupConfig("CG2"))
    assert groups.find("CG2") is not None, "an administrator makes more"


def test_what_is_saved_loads_again():
    groups = table()
    groups.put(GroupConfig("CG", consume_enabled=False, retry_times_max=3))
    loaded = table()
    loaded.load(groups.to_json())
    assert (loaded.all(), loaded.version) == (groups.all(), groups.version)


def test_numbers_in_quotes_are_read_and_texts_are_refused():
    assert GroupConfig.from_json({"groupName": "g", "retryMaxTimes": "5"}).retry_times_max == 5
    with pytest.raises(CodecError, match="retryMaxTimes"):
        GroupConfig.from_json({"groupName": "g", "retryMaxTimes": "x"})


NEWER = {"liteBindTopic": "t", "limits": {"a": [1, None]}}
"""Fields as a later RocketMQ may write them."""


def test_what_a_later_version_wrote_survives_rewrites():
    groups = table()
    written = {"retryMaxTimes": 3, "groupSysFlag": 2, **NEWER}
    version = {"counter": 7, "stateVersion": 4, "timestamp": 5}
    groups.load({"dataVersion": version, "subscriptionGroupTable": {"CG": written}, "newerTable": {"x": 1}})
    groups.put(replace(groups.get("CG"), consume_enabled=False))
    groups.put(GroupConfig("CG", retry_times_max=9, others={"groupSysFlag": 1, "madeUp": 1}))
    groups.put(GroupConfig("Other", others={"madeUp": 1}))
    content = parse_config(format_config(groups.snapshot()))
    assert content["newerTable"] == {"x": 1}
    assert content["dataVersion"]["stateVersion"] == 4
    kept = content["subscriptionGroupTable"]["CG"]
    assert {key: kept[key] for key in ("retryMaxTimes", "groupSysFlag", *NEWER)} == {
        "retryMaxTimes": 9,
        "groupSysFlag": 1,
        **NEWER,
    }
    assert not {"madeUp"} & (kept.keys() | content["subscriptionGroupTable"]["Other"].keys())
