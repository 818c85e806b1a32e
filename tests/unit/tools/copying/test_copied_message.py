"""What is left out of a message, and which topics become others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker_core.errors import UsageError
from broker_core.tools.copying.copied_message import copied_message, is_copy_of, target_topic, what_becomes
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.rewrite import Skipped

ITEM = ReplayItem("orders", 1, 5, "ID", 2_000, 1_000, 7, 0, b"body", {"KEYS": "k", "city": "x"})


@pytest.mark.parametrize(
    ("topic", "target"),
    [
        ("orders", "orders"),
        ("RMQ_SYS_TRACE_TOPIC", "RMQ_SYS_TRACE_TOPIC"),
        ("%DLQ%g", "%DLQ%g"),
        ("%RETRY%g", "copied-RETRY-g"),
        ("%RETRY%g_orders", "copied-RETRY-g_orders"),
        ("SCHEDULE_TOPIC_XXXX", "copied-SCHEDULE_TOPIC_XXXX"),
        ("RMQ_SYS_TRANS_HALF_TOPIC", "copied-RMQ_SYS_TRANS_HALF_TOPIC"),
        ("rmq_sys_wheel_timer", "copied-rmq_sys_wheel_timer"),
        ("TBW102", "copied-TBW102"),
    ],
)
def test_where_a_topic_goes(topic, target):
    assert target_topic(topic) == target


@pytest.mark.parametrize("topic", ["", "a b", "x" * 128, "%RETRY%" + "x" * 118])
def test_names_that_no_broker_takes_are_refused(topic):
    with pytest.raises(UsageError):
        target_topic(topic)


def test_each_kind_of_topic_is_spoken_of():
    names = ("%DLQ%g", "%RETRY%g", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TBW102")
    said = list(what_becomes({name: target_topic(name) for name in ("orders", *names)}))
    assert [line.split(":")[0].split(" ")[0] for line in said[: len(names)]] == list(names)
    assert len(said) == len(names) + 3


def test_delays_that_are_over_and_what_brokers_set_are_left_out():
    stored = {"DELAY": "3", "REAL_TOPIC": "orders", "TRAN_MSG": "true", "PGROUP": "p", "CLUSTER": "c", "TIMER_DELIVER_MS": "9"}
    sent = copied_message(replace(ITEM, sys_flag=0x8 | 0x10, properties={**ITEM.properties, **stored}))
    assert (sent.properties, sent.sys_flag) == (ITEM.properties, 0)
    assert (sent.topic, sent.queue_id, sent.born_timestamp_ms, sent.flag, sent.body) == ("orders", 1, 1_000, 7, b"body")
    compressed = copied_message(replace(ITEM, sys_flag=0x1 | 0x300 | 0x20))
    assert compressed.sys_flag == 0x301


def test_properties_that_cannot_be_sent_are_said():
    assert isinstance(copied_message(replace(ITEM, properties={"long": "x" * 40_000})), Skipped)


def test_a_copy_is_known_by_all_that_was_sent_and_may_have_more():
    sent = copied_message(ITEM)
    there = replace(ITEM, queue_offset=99, properties={**ITEM.properties, "UNIQ_KEY": "of the broker", "CLUSTER": "c"})
    assert is_copy_of(there, sent)
    for wrong in ({"body": b"x"}, {"flag": 1}, {"born_timestamp_ms": 1}, {"properties": {"KEYS": "k"}}):
        assert not is_copy_of(replace(there, **wrong), sent)
