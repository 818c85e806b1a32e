from dataclasses import replace

import pytest

from broker_core.config import BrokerConfig
from broker_core.engine.store.config_file import format_config, parse_config
from broker_core.engine.tables.topic_table import TopicTable
from broker_core.errors import CodecError
from broker_core.protocol.admin.topics import TopicConfig
from tests.support.clock import ManualClock

CONFIG = BrokerConfig()


@pytest.fixture
def changes():
    return []


@pytest.fixture
def table(changes):
    return TopicTable(CONFIG, clock=ManualClock(), changed=changes.append)


def test_a_new_broker_has_the_built_in_topics(table):
    shown = {t.name: (t.read_queues, t.write_queues, t.permission) for t in table.all().values()}
    assert shown == {
        "SELF_TEST_TOPIC": (1, 1, 6),
        "TBW102": (8, 8, 7),
        "BenchmarkTest": (1024, 1024, 6),
        "DefaultCluster": (16, 16, 7),
        "broker-a": (1, 1, 7),
        "OFFSET_MOVED_EVENT": (1, 1, 6),
        "SCHEDULE_TOPIC_XXXX": (18, 18, 6),
        "DefaultCluster_REPLY_TOPIC": (1, 1, 6),
    }


@pytest.mark.parametrize(("wanted", "queues"), [(4, 4), (20, 8), (0, 0), (-1, 0)])
def test_a_topic_made_by_a_message_has_as_many_queues_as_wanted_and_allowed(table, changes, wanted, queues):
    topic = table.create_for_send("T", "TBW102", wanted)
    assert topic == TopicConfig("T", queues, queues, permission=6)
    assert changes == [["T"]]


def test_a_template_must_be_there_and_allow_it(table):
    assert table.create_for_send("T", "Nowhere", 4) is None
    assert table.create_for_send("T", "BenchmarkTest", 4) is None


def test_messages_make_no_more_topics_than_the_bound(table):
    table.reconfigure(replace(CONFIG, auto_create_topics_max=len(table) + 1))
    assert table.create_for_send("T", "TBW102", 4) is not None
    assert table.create_for_send("U", "TBW102", 4) is None


def test_every_change_makes_a_new_version(table):
    clock_before = table.version
    table.put(TopicConfig("T", 1, 1))
    table.remove("T")
    assert table.version.counter == clock_before.counter + 2
    assert table.remove("T") is False
    assert table.version.counter == clock_before.counter + 2


def test_what_is_saved_loads_again(table):
    table.put(TopicConfig("T", 3, 2, permission=4, order=True, attributes={"message.type": "FIFO"}))
    loaded = TopicTable(CONFIG, clock=ManualClock(5))
    loaded.load(table.to_json())
    assert (loaded.all(), loaded.version) == (table.all(), table.version)


def test_a_left_over_template_does_not_switch_auto_creation_on_again(table):
    loaded = TopicTable(replace(CONFIG, auto_create_topic=False), clock=ManualClock())
    loaded.load(table.to_json())
    assert loaded.create_for_send("T", "TBW102", 4) is None


def test_a_broken_entry_is_named(table):
    with pytest.raises(CodecError, match="readQueueNums"):
        table.load({"topicConfigTable": {"T": {"readQueueNums": "many"}}})


def test_order_marks_follow_the_name_servers_list(table, changes):
    for name in "AB":
        table.put(TopicConfig(name, 1, 1, order=name == "A"))
    changes.clear()
    table.apply_order(["B"])
    assert [table.get(name).order for name in "AB"] == [False, True]
    table.apply_order(["B"])
    assert changes == [["A", "B"]]


@pytest.mark.parametrize("on", [False, True])
def test_light_queues_are_topics_without_being_in_the_table(on):
    table = TopicTable(replace(CONFIG, store=replace(CONFIG.store, lmq=on)), clock=ManualClock())
    assert table.get("%LMQ%device-1") == (TopicConfig("%LMQ%device-1", 1, 1) if on else None)
    assert ("%LMQ%device-1" in table) is on
    assert "%LMQ%device-1" not in table.all()


def test_what_a_later_version_wrote_survives_rewrites(table):
    newer = {"liteTopicExpiration": 60, "limits": {"a": [1, None]}}
    entry = {"readQueueNums": 4, "writeQueueNums": 4, "attributes": {"message.type": "LITE"}, **newer}
    table.load({"dataVersion": {"stateVersion": 4}, "topicConfigTable": {"T": entry}, "newerTable": {"x": 1}})
    table.apply_order(["T"])
    table.put(TopicConfig("T", 8, 8, attributes={"message.type": "LITE"}))
    table.put(TopicConfig("Other", 8, 8))
    content = parse_config(format_config(table.snapshot()))
    assert (content["newerTable"], content["dataVersion"]["stateVersion"]) == ({"x": 1}, 4)
    kept = content["topicConfigTable"]["T"]
    assert kept.items() >= (entry | {"readQueueNums": 8, "writeQueueNums": 8}).items()
    assert content["topicConfigTable"]["Other"].keys() == kept.keys() - newer.keys() - {"attributes"}
    assert table.remove("T")
    table.put(TopicConfig("T", 8, 8))
    assert not newer.keys() & table.get("T").to_json().keys()
