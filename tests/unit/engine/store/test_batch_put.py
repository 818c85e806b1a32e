from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.engine.store.batch_put import BatchDraft, draft_batch, legal_members
from broker_core.engine.store.consume_queue import UNIT
from broker_core.errors import CodecError
from broker_core.protocol.message.batch import BatchMember, decode_batch, encode_batch
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.properties import append_properties, find_property
from broker_core.protocol.message.record import encode_record, topic_field
from broker_core.protocol.message.tags import tags_code
from tests.support.store_bench import message

COMMON = b"CLUSTER\x01c"
MEMBERS = 8


def expected(request, members):
    """Records and units of the members, each encoded by itself, at 4096 and from queue offset 7."""
    records, units, offsets, start = [], [], [], 4096
    for number, member in enumerate(members):
        properties = append_properties(member.properties, request.properties)
        alone = message(
            member.body, topic=request.topic, queue_id=request.queue_id, flag=member.flag, properties=properties,
            sys_flag=request.sys_flag, born_host=request.born_host, store_host=request.store_host,
        )  # fmt: skip
        records.append(encode_record(alone, queue_offset=7 + number, physical_offset=start, store_timestamp_ms=99))
        units.append(UNIT.pack(start, len(records[-1]), tags_code(find_property(properties, "TAGS"))))
        offsets.append(start)
        start += len(records[-1])
    return b"".join(records), b"".join(units), offsets


def request_of(members, *, topic="Orders", **changes):
    return message(encode_batch(members), topic=topic, queue_id=3, **({"properties": COMMON} | changes))


def laid_out(draft):
    return draft.lay_out(physical_offset=4096, queue_offset=7, now_ms=99)


def test_members_get_the_properties_of_the_request_after_their_own():
    body = encode_batch([BatchMember(1, b"a", b"TAGS\x01A"), BatchMember(2, b"b", b"TAGS\x01B\x02"), BatchMember(3, b"c", b"")])
    members = legal_members(message(body, properties=COMMON), 1000)
    assert members == [
        BatchMember(1, b"a", b"TAGS\x01A\x02CLUSTER\x01c"),
        BatchMember(2, b"b", b"TAGS\x01B\x02CLUSTER\x01c"),
        BatchMember(3, b"c", b"CLUSTER\x01c"),
    ]


def test_the_limit_counts_the_framed_batch():
    body = encode_batch([BatchMember(1, b"a", b"")] * MEMBERS)
    topic = topic_field(b"Orders")
    assert draft_batch(message(body), topic, len(body)) is not None
    assert draft_batch(message(body), topic, len(body) - 1) is None
    assert legal_members(message(body), len(body) - 1) is None


@pytest.mark.parametrize("topic", ["Orders", "%RETRY%" + "g" * 200])
def test_records_are_those_of_single_messages_at_their_places(topic):
    members = [BatchMember(number, b"x" * number, b"TAGS\x01A") for number in range(1, 6)]
    request = request_of(members, topic=topic)
    legal = legal_members(request, 1000)
    assert legal is not None
    draft = BatchDraft(request, topic_field(topic.encode()), legal)
    assert laid_out(draft) == expected(request, members)
    assert draft.total_bytes == len(laid_out(draft).block)


@pytest.mark.parametrize("topic", ["Orders", "%RETRY%" + "g" * 200])
@pytest.mark.parametrize(
    "properties", [b"TAGS\x01A\x02UNIQ_KEY\x01u%d", b"UNIQ_KEY\x01u%d\x02TAGS\x01A\x02", b"KEYS\x01k%d", b""]
)
@pytest.mark.parametrize("common", [COMMON, b"", b"TAGS\x01Z"])
def test_members_of_equal_lengths_make_the_same_records(topic, properties, common):
    members = [BatchMember(6, b"body%d" % n, properties % n if properties else b"") for n in range(MEMBERS)]
    hosts = {"born_host": HostAddress.parse("[::1]:5"), "sys_flag": 0x1}
    request = request_of(members, topic=topic, properties=common, **hosts)
    draft = draft_batch(request, topic_field(topic.encode()), 10_000)
    assert draft is not None
    assert laid_out(draft) == expected(request, members)
    assert draft.total_bytes == len(laid_out(draft).block)
    assert draft.properties_bytes_max == len(append_properties(members[0].properties, common))


@pytest.mark.parametrize(
    "odd",
    [
        BatchMember(7, b"body", b"TAGS\x01A"),
        BatchMember(6, b"bodies", b"TAGS\x01"),
        BatchMember(6, b"bodi", b"TAGS\x01\x02"),
        BatchMember(6, b"longer", b"TAGS\x01A"),
    ],
)
@pytest.mark.parametrize("place", [0, 3, MEMBERS])
def test_one_member_of_another_kind_is_stored_as_it_is(odd, place):
    members = [BatchMember(6, b"body", b"TAGS\x01A")] * MEMBERS
    members.insert(place, odd)
    request = request_of(members)
    draft = draft_batch(request, topic_field(b"Orders"), 10_000)
    assert draft is not None
    assert laid_out(draft) == expected(request, members)


def test_delayed_members_of_equal_lengths_are_refused_unless_the_name_is_only_in_a_body():
    topic = topic_field(b"Orders")
    delayed = request_of([BatchMember(0, b"body", b"DELAY\x013")] * MEMBERS)
    assert draft_batch(delayed, topic, 10_000) is None
    assert draft_batch(request_of([BatchMember(0, b"b", b"")] * MEMBERS, properties=b"DELAY\x013"), topic, 10_000) is None
    members = [BatchMember(0, b"DELAY\x013", b"A\x01b")] * MEMBERS
    draft = draft_batch(request_of(members), topic, 10_000)
    assert draft is not None
    assert laid_out(draft) == expected(request_of(members), members)


@settings(deadline=None)
@given(st.binary(max_size=400), st.integers(0, 20))
def test_any_bytes_are_drafted_as_what_the_decoder_makes_of_them_or_refused(tail, times):
    """Good members with anything behind: either way the result is that of the plain decoder."""
    body = encode_batch([BatchMember(0, b"body", b"TAGS\x01A")] * times) + tail
    request = message(body, queue_id=3, properties=COMMON)
    draft = draft_batch(request, topic_field(b"Orders"), 10_000)
    try:
        members = decode_batch(body)
    except CodecError:
        assert draft is None
        return
    if draft is not None:
        assert laid_out(draft) == expected(request, members)
