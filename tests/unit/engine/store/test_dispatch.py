from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.config import StoreConfig
from broker_core.engine.store.dispatch import TagsOfPuts, further_queues, unit_tags_code
from broker_core.errors import UsageError
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.tags import tags_code

DEFAULT = DelayLevels(StoreConfig().message_delay_level)


@pytest.mark.parametrize(("level", "delay_ms"), [(1, 1_000), (3, 10_000), (5, 60_000), (18, 7_200_000), (30, 7_200_000)])
def test_default_levels_are_rocketmqs(level, delay_ms):
    assert DEFAULT.delay_ms(level) == delay_ms


@pytest.mark.parametrize("text", ["1x", "s", "1.5s", "-1s", "1s 10"])
def test_other_delays_are_refused(text):
    with pytest.raises(UsageError, match="messageDelayLevel"):
        DelayLevels(text)


@given(
    st.lists(
        st.lists(st.sampled_from([b"TAGS\x01A", b"TAGS\x01B", b"TAGS\x01", b"XTAGS\x01A", b"K\x01v", b"", b"A"]), max_size=4),
        max_size=30,
    )
)
def test_tags_of_consecutive_puts_are_those_of_each_alone(messages):
    tags = TagsOfPuts()
    for items in messages:
        for properties in (b"\x02".join(items), b"\x02".join(items) + b"\x02"):
            assert tags.code(properties) == unit_tags_code("T", properties, 0, DEFAULT)


def test_a_unit_holds_the_hash_of_the_tag():
    assert unit_tags_code("T", b"A\x01b\x02TAGS\x01pay-success", 5, DEFAULT) == tags_code("pay-success") < 0
    assert unit_tags_code("T", b"A\x01b", 5, DEFAULT) == 0


def test_a_unit_of_the_schedule_topic_holds_the_time_it_is_due():
    assert unit_tags_code("SCHEDULE_TOPIC_XXXX", b"DELAY\x013\x02TAGS\x01A", 1700000000123, DEFAULT) == 1700000010123
    assert unit_tags_code("SCHEDULE_TOPIC_XXXX", b"TAGS\x01A", 1700000000123, DEFAULT) == 65
    assert unit_tags_code("Other", b"DELAY\x013\x02TAGS\x01A", 1700000000123, DEFAULT) == 65


def test_further_queues_of_a_multi_dispatch_record_are_named_with_their_offsets():
    properties = b"INNER_MULTI_DISPATCH\x01%LMQ%a,plain\x02INNER_MULTI_QUEUE_OFFSET\x017,9"
    assert list(further_queues(3, properties)) == [("%LMQ%a", 0, 7), ("plain", 3, 9)]


INCOMPLETE = [b"", b"INNER_MULTI_DISPATCH\x01a", b"INNER_MULTI_DISPATCH\x01a\x02INNER_MULTI_QUEUE_OFFSET\x01x"]


@pytest.mark.parametrize("properties", INCOMPLETE)
def test_records_without_whole_dispatch_facts_have_none(properties):
    assert list(further_queues(0, properties)) == []
