from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from broker_core.errors import CodecError, UsageError
from broker_core.protocol.message.resent_properties import ORIGIN_LINK
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.rewrite import Outgoing, ReplayTarget, Skipped, first_topic, outgoing

PLAIN = ReplayItem("orders", 3, 17, "ID", 2_000, 1_000, 5, 0, b"body", {"TAGS": "paid", "UNIQ_KEY": "u", "WAIT": "true"})
DEAD = replace(
    PLAIN, topic="%DLQ%stock", queue_id=0, properties={"RETRY_TOPIC": "orders", "ORIGIN_MESSAGE_ID": "x", "region": "eu"}
)
RETRY = replace(
    PLAIN,
    topic="SCHEDULE_TOPIC_XXXX",
    queue_id=2,
    properties={"REAL_TOPIC": "%RETRY%stock", "REAL_QID": "0", "RETRY_TOPIC": "orders", "DELAY": "3", "a": "b"},
)
WAITING = replace(
    PLAIN, topic="SCHEDULE_TOPIC_XXXX", queue_id=2, properties={"REAL_TOPIC": "orders", "REAL_QID": "6", "DELAY": "3"}
)
HALF = replace(
    PLAIN,
    topic="RMQ_SYS_TRANS_HALF_TOPIC",
    sys_flag=4,
    properties={"REAL_TOPIC": "orders", "REAL_QID": "1", "TRAN_MSG": "true", "PGROUP": "p", "a": "b"},
)


def sent(item: ReplayItem, target: ReplayTarget) -> Outgoing:
    found = outgoing(item, target)
    assert isinstance(found, Outgoing)
    return found


def test_a_plain_message_keeps_all_but_what_is_the_brokers():
    assert sent(PLAIN, ReplayTarget(topic="test")) == Outgoing(
        "test", 3, 1_000, 5, 0, b"body", {"TAGS": "paid", "UNIQ_KEY": "u", ORIGIN_LINK: "ID"}
    )
    assert PLAIN.properties["WAIT"] == "true"


def test_a_link_that_the_original_carried_does_not_go_on():
    again = replace(PLAIN, properties=PLAIN.properties | {"ORBIT_ORIGIN_ID": "OLD"})

    assert "ORBIT_ORIGIN_ID" not in sent(again, ReplayTarget(topic="test", link=False)).properties
    assert sent(again, ReplayTarget(topic="test")).properties["ORBIT_ORIGIN_ID"] == again.origin_id


def test_new_ids_no_link_and_born_now():
    found = sent(PLAIN, ReplayTarget(topic="test", new_ids=True, born_now=True, link=False))
    assert found.properties == {"TAGS": "paid"}
    assert found.born_timestamp_ms is None


def test_a_dead_letter_goes_to_its_topic_or_its_group():
    assert first_topic(DEAD) == "orders"
    assert sent(DEAD, ReplayTarget(to_origin=True)).topic == "orders"
    assert sent(DEAD, ReplayTarget(to_origin=True)).properties == {"region": "eu", ORIGIN_LINK: "ID"}
    to_group = sent(DEAD, ReplayTarget(group="stock"))
    assert (to_group.topic, to_group.properties["RETRY_TOPIC"]) == ("%RETRY%stock", "orders")
    assert not to_group.can_be_batched


def test_the_delay_of_a_retry_goes_that_of_a_producer_stays():
    assert "DELAY" not in sent(RETRY, ReplayTarget(to_origin=True)).properties
    assert sent(RETRY, ReplayTarget(to_origin=True)).topic == "orders"
    waiting = sent(WAITING, ReplayTarget(to_origin=True))
    assert (waiting.topic, waiting.queue_id, waiting.properties["DELAY"]) == ("orders", 6, "3")
    assert not waiting.can_be_batched
    assert "DELAY" not in sent(WAITING, ReplayTarget(to_origin=True, without_delay=True)).properties


def test_a_half_message_becomes_a_plain_one():
    assert sent(HALF, ReplayTarget(to_origin=True)) == Outgoing(
        "orders", 1, 1_000, 5, 0, b"body", {"a": "b", ORIGIN_LINK: "ID"}
    )


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (replace(PLAIN, body=b""), "no body"),
        (replace(PLAIN, topic="RMQ_SYS_TRANS_OP_HALF_TOPIC"), "note of a transaction"),
        (replace(DEAD, properties={}), "does not say which topic"),
    ],
)
def test_what_cannot_be_sent_says_why(item, reason):
    found = outgoing(item, ReplayTarget(to_origin=True))
    assert isinstance(found, Skipped)
    assert reason in found.reason


def test_compression_and_tag_bits_stay_hosts_and_transactions_go():
    assert sent(replace(PLAIN, sys_flag=0x301 | 0x2 | 0x8 | 0x10), ReplayTarget(topic="t")).sys_flag == 0x303
    assert sent(replace(PLAIN, sys_flag=0x300 | 0x8), ReplayTarget(topic="t")).sys_flag == 0


@pytest.mark.parametrize("values", [{}, {"topic": "a", "group": "b"}, {"topic": "a", "to_origin": True}])
def test_one_target(values):
    with pytest.raises(UsageError, match="name one of them"):
        ReplayTarget(**values)


def test_a_target_survives_json():
    target = ReplayTarget(group="g", new_ids=True)
    assert ReplayTarget.from_json(asdict(target)) == target
    for wrong in ({"topic": ""}, {"nothing": 1}, {}):
        with pytest.raises(CodecError, match="names no target"):
            ReplayTarget.from_json(wrong)
