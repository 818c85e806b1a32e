"""What is found of a message in a store, and what is said of what is not."""

import pytest

from broker_core.errors import UsageError
from broker_core.protocol.message.resent_properties import ORIGIN_LINK
from broker_core.worker.lifeline.gather import ALIKE_MAX, Reach, gather, id_of
from broker_core.worker.lifeline.join import join, readable_places
from broker_core.worker.lifeline.model import EventKind, Evidence
from tests.support.engine import Engine


def pub(key: str) -> bytes:
    fields = ["SubBefore", "2000", "DefaultRegion", "billing", "R1", key, "0", ""]
    after = ["SubAfter", "R1", key, "148", "true", "", "0", "2148", "billing"]
    return "".join("\x01".join(record) + "\x02" for record in (fields, after)).encode()


def test_copies_are_found_by_the_unique_key_in_every_topic_that_may_hold_one(engine: Engine):
    first = engine.put("orders", 0, b"a", UNIQ_KEY="U1")
    engine.put("orders", 0, b"b", UNIQ_KEY="U2")
    retry = engine.put("%RETRY%billing", 0, b"a", UNIQ_KEY="U1", RETRY_TOPIC="orders")
    dead = engine.put("%DLQ%billing", 0, b"a", UNIQ_KEY="U1")

    for place in (first, retry):
        assert [one.physical_offset for one in gather(engine.store, place).records] == [first, retry, dead]


def test_from_a_dead_letter_the_way_back_is_found_by_its_origin(engine: Engine):
    first = engine.put("orders", 0, b"a", UNIQ_KEY="U1")
    dead = engine.put("%DLQ%billing", 0, b"a", UNIQ_KEY="U1", DLQ_ORIGIN_TOPIC="orders")

    assert [one.physical_offset for one in gather(engine.store, dead).records] == [first, dead]


def test_traces_are_found_by_their_keys_and_read(engine: Engine):
    place = engine.put("orders", 0, b"a", UNIQ_KEY="U1")
    trace = engine.put("RMQ_SYS_TRACE_TOPIC", 0, pub("U1"), KEYS="U1 k1", UNIQ_KEY="T1")

    found = gather(engine.store, place)

    attempt = next(event for event in join(found, ()).events if event.kind is EventKind.ATTEMPT)
    assert (attempt.evidence, attempt.outcome, attempt.physical_offset) == (Evidence.TRACE, "success", trace)
    assert not any("tracing is off" in text for text in found.missing)


def test_without_traces_and_without_a_unique_key_it_is_said(engine: Engine):
    keyed, bare = engine.put("orders", 0, b"a", UNIQ_KEY="U1"), engine.put("orders", 0, b"a")

    assert any("tracing is off" in text for text in gather(engine.store, keyed).missing)
    assert any("no unique key" in text for text in gather(engine.store, bare).missing)


def test_members_of_a_batch_with_one_unique_key_are_not_taken_for_copies(engine: Engine):
    first = engine.put("orders", 0, b"first", UNIQ_KEY="B1")
    engine.put("orders", 0, b"other", UNIQ_KEY="B1")

    found = gather(engine.store, first)

    assert len(found.records) == 1
    assert "1 other messages have the same unique key, as in a batch; they are left out." in found.missing


def test_a_message_that_was_sent_again_is_found_by_key_and_body(engine: Engine):
    first = engine.put("orders", 0, b"a", UNIQ_KEY="U1", KEYS="k1")
    again = engine.put("orders", 0, b"a", UNIQ_KEY="U9", KEYS="k1")
    engine.put("orders", 0, b"z", UNIQ_KEY="U8", KEYS="k1")

    assert [one.physical_offset for one in gather(engine.store, first).alike] == [again]
    assert [event.kind for event in join(gather(engine.store, again), ()).events if event.evidence is Evidence.INFERRED] == [
        EventKind.RESENT_FROM
    ]


def test_where_no_message_is_there_is_nothing_to_tell(engine: Engine):
    with pytest.raises(UsageError, match="no message at 7"):
        gather(engine.store, 7)


def test_of_many_messages_of_one_key_and_body_the_nearest_are_told(engine: Engine):
    places = [engine.put("orders", 0, b"tick", UNIQ_KEY=f"U{number}", KEYS="heartbeat") for number in range(ALIKE_MAX + 6)]

    found = gather(engine.store, places[-1])

    assert [one.physical_offset for one in found.alike] == places[-1 - ALIKE_MAX : -1]
    assert "More than 16 messages have the same key and body; the nearest are told." in found.missing


def resend_of(engine: Engine, place: int, topic: str, body: bytes = b"a", **properties: str) -> int:
    origin = id_of(gather(engine.store, place).message)
    return engine.put(topic, 0, body, **properties | {ORIGIN_LINK: origin})


def resends(engine: Engine, place: int) -> list[tuple[str, Evidence, int]]:
    events = join(gather(engine.store, place), ()).events
    wanted = (EventKind.RESENT, EventKind.RESENT_FROM)
    found = [event for event in events if event.kind in wanted]
    return [
        (event.kind.value, event.evidence, event.physical_offset)
        for event in sorted(found, key=lambda one: one.physical_offset)
    ]


def test_a_resend_that_kept_its_unique_key_is_found_in_any_topic(engine: Engine):
    first = engine.put("orders", 0, b"a", UNIQ_KEY="U1")
    again = resend_of(engine, first, "orders-test", UNIQ_KEY="U1")
    assert resends(engine, first) == [("resent", Evidence.STORED, again)]
    assert resends(engine, again) == [("resent", Evidence.STORED, again)]


def test_a_resend_with_another_unique_key_and_body_is_followed_both_ways(engine: Engine):
    first = engine.put("orders", 0, b"a", UNIQ_KEY="U1", KEYS="k1")
    again = resend_of(engine, first, "orders-test", b"edited", UNIQ_KEY="U2", KEYS="k1")
    third = resend_of(engine, again, "orders", b"edited twice", UNIQ_KEY="U3", KEYS="k1")
    assert resends(engine, first) == [("resent", Evidence.STORED, again)]
    assert resends(engine, again) == [("resent from", Evidence.STORED, first), ("resent", Evidence.STORED, third)]
    assert resends(engine, third) == [("resent from", Evidence.STORED, first), ("resent from", Evidence.STORED, again)]
    assert ("orders-test", 0, 0) in readable_places(gather(engine.store, first))


def test_a_dead_letter_that_is_sent_to_its_group_again_is_no_retry(engine: Engine):
    engine.put("orders", 0, b"a", UNIQ_KEY="U1")
    dead = engine.put("%DLQ%billing", 0, b"a", UNIQ_KEY="U1", DLQ_ORIGIN_TOPIC="orders")
    again = resend_of(engine, dead, "%RETRY%billing", UNIQ_KEY="U1", RETRY_TOPIC="orders")
    assert resends(engine, dead) == [("resent", Evidence.STORED, again)]


def test_an_origin_that_is_gone_is_named(engine: Engine):
    place = engine.put("orders", 0, b"a", UNIQ_KEY="U1", ORBIT_ORIGIN_ID="7F00000100002A9F00000000FFFFFFFF")
    broken = engine.put("orders", 0, b"a", UNIQ_KEY="U2", ORBIT_ORIGIN_ID="no id")
    for one in (place, broken):
        assert "The message that it was made of is not in this store, or no longer." in gather(engine.store, one).missing


def test_too_many_topics_are_said(engine: Engine):
    for topic in ("a", "b"):
        place = engine.put(topic, 0, b"x", UNIQ_KEY=f"U-{topic}", KEYS="k")
    found = gather(engine.store, place, Reach(other_topics_max=1))
    assert found.missing.count("There are 2 topics; resends were looked for in 1 of them.") == 1
