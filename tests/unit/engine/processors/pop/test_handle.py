import pytest

from broker_core.engine.processors.pop.handle import (
    message_offset_item,
    order_count_items,
    revive_topic,
    start_offset_item,
)
from broker_core.protocol.message.receipt_handle import flag_of


@pytest.mark.parametrize(("topic", "flag"), [("T", "0"), ("%RETRY%g_T", "1"), ("%RETRY%g+T", "2")])
def test_the_flag_follows_from_the_topic(topic, flag):
    assert flag_of("g", topic) == flag


def test_the_revive_topic_is_that_of_the_cluster():
    assert revive_topic("C1") == "rmq_sys_REVIVE_LOG_C1"


def test_lists_of_offsets():
    assert start_offset_item("0", 1, 100) == "0 1 100"
    assert message_offset_item("1", 0, [2, 3, 4]) == "1 0 2,3,4"


@pytest.mark.parametrize(
    ("counts", "messages", "items"),
    [
        ({}, 3, ["0 0 0"]),
        ({2: 1}, 3, ["0 qo0%2 1", "0 0 0"]),
        ({2: 1, 3: 2}, 2, ["0 qo0%2 1", "0 qo0%3 2", "0 0 1"]),
    ],
)
def test_counts_of_orderly_pops(counts, messages, items):
    assert order_count_items("0", 0, counts, messages) == items
