"""Settings of topics in files: JSON as brokers keep it, lists, CSV, and what is wrong with an entry."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.api import TopicConfig, UsageError
from monitoring.admin.topic_files import TOPICS_MAX, EntryFault, TopicEntry, read_topic_file, topics_csv, topics_json

ORDERS = TopicConfig("orders", 16, 8, 6, order=True, attributes={"message.type": "FIFO", "team": "shop"})
AUDIT = TopicConfig("audit-log", 2, 2, 4)
DASHED = TopicConfig("-cmd", 2, 2, 6, filter_type="=1+1", attributes={"@team": "=x"})


def entry(config: dict[str, object]) -> TopicEntry:
    return read_topic_file(json.dumps([config]).encode())[0]


@pytest.mark.parametrize("write", [topics_json, topics_csv])
def test_what_was_written_is_read_again(write):
    found = read_topic_file(write([ORDERS, AUDIT, DASHED]))
    blank = TopicConfig("", 1, 1, 0)
    assert [one.merged(TopicConfig(one.name, 1, 1, 0)) for one in found] == [DASHED, AUDIT, ORDERS]
    assert blank.name == ""


def test_the_file_of_a_broker_is_read():
    body = b"""{"dataVersion":{"counter":3,"timestamp":1795,"stateVersion":0},"topicConfigTable":{
        "TBW102":{"order":false,"perm":7,"readQueueNums":8,"topicFilterType":"SINGLE_TAG","topicName":"TBW102","topicSysFlag":0,
        "writeQueueNums":8,"attributes":{}},
        "orders":{"order":false,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG","topicName":"orders",
        "topicSysFlag":0,"writeQueueNums":4,"attributes":{"+message.type":"FIFO"}}}}"""
    first, second = read_topic_file(body)
    assert (first.name, first.given["permission"], first.fault) == ("TBW102", 7, None)
    assert (second.given["write_queues"], second.given["attributes"]) == (4, {"message.type": "FIFO"})


def test_what_a_table_does_not_say_stays_as_it_is():
    (one,) = read_topic_file("\ufefftopic;writeQueueNums;perm;attributes\norders;12;;\n".encode())
    assert one == TopicEntry("orders", {"write_queues": 12})
    assert one.merged(ORDERS) == TopicConfig("orders", 16, 12, 6, order=True, attributes=ORDERS.attributes)


@pytest.mark.parametrize(
    ("config", "fault", "word"),
    [
        ({"perm": 6}, EntryFault.NAME, ""),
        ({"topic": "a", "writeQueueNums": "x"}, EntryFault.NUMBER, "writeQueueNums=x"),
        ({"topic": "a", "readQueueNums": 0}, EntryFault.NUMBER, "readQueueNums=0"),
        ({"topic": "a", "readQueueNums": 5_000}, EntryFault.NUMBER, "readQueueNums=5000"),
        ({"topic": "a", "perm": 9}, EntryFault.PERMISSION, "perm=9"),
        ({"topic": "a", "order": "perhaps"}, EntryFault.TRUTH, "order=perhaps"),
        ({"topic": "a", "attributes": "team"}, EntryFault.ATTRIBUTES, "attributes=team"),
    ],
)
def test_a_wrong_entry_says_what_is_wrong(config, fault, word):
    one = entry(config)
    assert (one.fault, one.word) == (fault, word)


def test_a_topic_that_comes_twice_is_refused_the_second_time():
    first, second = read_topic_file(b"topic,perm\norders,6\norders,4\n")
    assert first.fault is None
    assert (second.fault, second.word) == (EntryFault.TWICE, "orders")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no column topicName"),
        (b"orders\n", "no column topicName"),
        (b"topic,perm\n", "no topic in the file"),
        (b"[]", "no topic in the file"),
        (b"{", "no JSON"),
        (b'{"topics": []}', "no topicConfigTable"),
        (b"[" * 100_000, "no JSON"),
        (b"topic\n\xff\xfe", "no text in UTF-8"),
        (b"topic\n" + b"a\n" * (TOPICS_MAX + 1), "10,001 topics"),
    ],
)
def test_a_file_of_something_else_is_refused(data, words):
    with pytest.raises(UsageError, match=words):
        read_topic_file(data)


KEYS = st.sampled_from(["topicName", "topicConfigTable", "perm", "order", "attributes", "readQueueNums", "x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)
TABLES = st.text(alphabet='topic,;\t\r\n"=6x', max_size=200).map(lambda text: f"topic,perm,attributes\n{text}".encode())
FILES = (
    st.binary(max_size=400) | st.text(max_size=400).map(str.encode) | VALUES.map(lambda one: json.dumps(one).encode()) | TABLES
)


@given(FILES)
def test_any_file_is_read_or_refused(data):
    try:
        found = read_topic_file(data)
    except UsageError:
        return
    assert found
    for one in found:
        assert one.fault is not None or one.merged(TopicConfig(one.name, 1, 1, 6)).name == one.name
