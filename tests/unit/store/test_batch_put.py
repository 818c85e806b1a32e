from __future__ import annotations

import pytest

from broker_core.config import StoreConfig
from broker_core.message.batch import BatchMember, encode_batch
from broker_core.message.record import decode_record, encode_record, topic_field
from broker_core.store.batch_put import BatchDraft, legal_members
from broker_core.store.dispatch import DelayLevels
from tests.support.store_bench import message

LEVELS = DelayLevels(StoreConfig().message_delay_level)


def test_members_get_the_properties_of_the_request_after_their_own():
    body = encode_batch([BatchMember(1, b"a", b"TAGS\x01A"), BatchMember(2, b"b", b"TAGS\x01B\x02"), BatchMember(3, b"c", b"")])
    members = legal_members(message(body, properties=b"CLUSTER\x01c"), 1000)
    assert members == [
        BatchMember(1, b"a", b"TAGS\x01A\x02CLUSTER\x01c"),
        BatchMember(2, b"b", b"TAGS\x01B\x02CLUSTER\x01c"),
        BatchMember(3, b"c", b"CLUSTER\x01c"),
    ]


def test_the_limit_counts_the_framed_batch():
    body = encode_batch([BatchMember(1, b"a", b"")])
    assert legal_members(message(body), len(body)) is not None
    assert legal_members(message(body), len(body) - 1) is None


@pytest.mark.parametrize("topic", ["Orders", "%RETRY%" + "g" * 200])
def test_records_are_those_of_single_messages_at_their_places(topic):
    members = [BatchMember(number, b"x" * number, b"TAGS\x01A") for number in range(5)]
    common = message(b"", topic=topic, queue_id=3)
    draft = BatchDraft(common, topic_field(topic.encode()), members)
    arrivals, block = draft.lay_out(physical_offset=4096, queue_offset=7, now_ms=99, levels=LEVELS)
    assert len(block) == draft.total_bytes
    start = 0
    for number, arrival in enumerate(arrivals):
        alone = message(b"x" * number, topic=topic, queue_id=3, flag=number, properties=b"TAGS\x01A")
        record = encode_record(alone, queue_offset=7 + number, physical_offset=4096 + start, store_timestamp_ms=99)
        assert block[start : start + arrival.record_bytes] == record
        assert (arrival.physical_offset, arrival.queue_offset, arrival.tags_code) == (4096 + start, 7 + number, 65)
        start += arrival.record_bytes
    assert decode_record(block).topic == topic
