"""Lives that are put together from records, offsets and traces made by hand."""

from dataclasses import replace

import pytest

from broker_core.protocol.message.model import HostAddress, StoredMessage
from broker_core.protocol.retry_names import KnownNames
from broker_core.worker.lifeline.gather import Gathered
from broker_core.worker.lifeline.join import join, readable_places
from broker_core.worker.lifeline.model import EventKind, Evidence, Position
from broker_core.worker.lifeline.traces import Trace, TraceKind

HOST = HostAddress.parse("10.0.0.9:51200")
HALF, DELAYS = "RMQ_SYS_TRANS_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX"
BORN_MS = 1_000_000


def record(topic: str, place: int, after_ms: int, *, offset: int = 0, reconsumed: int = 0, **properties: str) -> StoredMessage:
    return StoredMessage(
        store_size=100, magic_code=0, body_crc=1, topic=topic, queue_id=0, flag=0, queue_offset=offset, physical_offset=place,
        sys_flag=0, born_timestamp_ms=BORN_MS, born_host=HOST, store_timestamp_ms=BORN_MS + after_ms, store_host=HOST,
        reconsume_times=reconsumed, prepared_transaction_offset=0, body=b"x", properties={"UNIQ_KEY": "U1"} | properties,
        properties_bytes=b"",
    )  # fmt: skip


def gathered(*records: StoredMessage, **more: object) -> Gathered:
    values = {"due_ms": {}, "op": None, "alike": (), "traces": (), "missing": ()}
    return Gathered(message=records[0], records=records, **values | more)


def told(found: Gathered, *positions: Position) -> list[tuple[EventKind, Evidence, int]]:
    return [(event.kind, event.evidence, event.at_ms - BORN_MS) for event in join(found, positions).events]


def retried() -> tuple[StoredMessage, ...]:
    waits = record(DELAYS, 200, 50, reconsumed=1, REAL_TOPIC="%RETRY%billing")
    return record("orders", 100, 5, offset=7), waits, record("%RETRY%billing", 300, 10_070, offset=3, reconsumed=1)


def test_a_retry_tells_that_an_attempt_failed_before_it():
    story = join(gathered(*retried(), due_ms={200: BORN_MS + 10_050}), ())

    assert [event.kind for event in story.events] == [
        EventKind.PRODUCED, EventKind.STORED, EventKind.ATTEMPT, EventKind.RETRY_WAITS, EventKind.RETRY,
    ]  # fmt: skip
    attempt, waits, retry = story.events[2:]
    assert (attempt.evidence, attempt.outcome, attempt.number, attempt.group) == (Evidence.INFERRED, "failed", 1, "billing")
    assert (attempt.topic, attempt.queue_offset) == ("orders", 7)
    assert waits.until_ms == retry.until_ms == BORN_MS + 10_050
    assert retry.at_ms - retry.until_ms == 20


def popped(topic: str = "%RETRY%g_a_t", **properties: str) -> StoredMessage:
    return record(topic, 300, 10_070, offset=3, reconsumed=1, **{"1ST_POP_TIME": "1"} | properties)


BOTH = KnownNames({"g", "g_a"}, {"t", "a_t"})


def test_the_topic_of_the_message_tells_which_of_two_pairs_its_retry_is_of():
    for topic, group in (("t", "g_a"), ("a_t", "g")):
        story = join(gathered(record(topic, 100, 5), popped(), known=BOTH), ())
        assert [event.group for event in story.events if event.kind is EventKind.RETRY] == [group]
        assert not any("Retry topic" in text for text in story.missing)


def test_a_retry_of_two_possible_pairs_is_said_to_be():
    story = join(gathered(popped(), known=BOTH), ())
    assert [event.group for event in story.events if event.kind is EventKind.RETRY] == ["g / g_a"]
    assert "Retry topic %RETRY%g_a_t fits several pairs of group and topic: g+a_t, g_a+t." in story.missing


def test_a_retry_of_a_known_pair_and_of_the_newer_name_is_its_own():
    one = join(gathered(popped(), known=KnownNames({"g_a"}, {"t"})), ())
    newer = join(gathered(popped("%RETRY%g_a+t")), ())
    for story in (one, newer):
        assert [event.group for event in story.events if event.kind is EventKind.RETRY] == ["g_a"]
        assert not any("Retry topic" in text for text in story.missing)


def test_a_traced_attempt_is_not_inferred_as_well():
    before = Trace(
        kind=TraceKind.BEFORE,
        position=900,
        message_id="U1",
        at_ms=BORN_MS + 20,
        group="billing",
        request_id="R1",
        retry_times=0,
    )
    after = Trace(kind=TraceKind.AFTER, position=900, message_id="U1", request_id="R1", cost_ms=28)
    second = replace(before, at_ms=BORN_MS + 10_080, request_id="R2", retry_times=1)
    done = replace(after, request_id="R2", cost_ms=212, is_success=True)

    story = join(gathered(*retried(), traces=(before, after, second, done)), ())

    attempts = [event for event in story.events if event.kind is EventKind.ATTEMPT]
    assert [(event.evidence, event.number, event.outcome) for event in attempts] == [
        (Evidence.TRACE, 1, "failed"),
        (Evidence.TRACE, 2, "success"),
    ]
    assert (attempts[1].topic, attempts[1].until_ms - attempts[1].at_ms) == ("%RETRY%billing", 212)


def test_an_attempt_without_its_end_has_an_unknown_outcome():
    before = Trace(
        kind=TraceKind.BEFORE, position=9, message_id="U1", at_ms=BORN_MS + 9, group="billing", request_id="R1", retry_times=0
    )

    events = join(gathered(record("orders", 1, 5), traces=(before,)), ()).events

    assert (events[-1].outcome, events[-1].until_ms) == ("unknown", -1)


def test_an_op_record_without_a_real_message_is_a_rollback_by_inference():
    half = record(HALF, 100, 2, offset=40, PGROUP="shop", REAL_TOPIC="orders")
    op = record("RMQ_SYS_TRANS_OP_HALF_TOPIC", 200, 90)

    assert told(gathered(half, op=op))[-1] == (EventKind.ROLLED_BACK, Evidence.INFERRED, 90)


def committed_late(op_after_ms: int) -> Gathered:
    """A transaction whose message was consumed and came back before its op record was written."""
    half = record(HALF, 100, 2, offset=40, PGROUP="shop", REAL_TOPIC="orders")
    real = replace(record("orders", 200, 89, offset=7), sys_flag=0x8, prepared_transaction_offset=100)
    waits = record(DELAYS, 300, 95, reconsumed=1, REAL_TOPIC="%RETRY%billing")
    return gathered(half, real, waits, op=record("RMQ_SYS_TRANS_OP_HALF_TOPIC", 400, op_after_ms))


@pytest.mark.parametrize("op_after_ms", [0, 89, 90, 3_000])
def test_a_commit_is_told_before_what_it_made_readable_whenever_its_op_record_was_written(op_after_ms):
    found = committed_late(op_after_ms)

    events = join(found, ()).events

    assert [event.kind for event in events] == [
        EventKind.PRODUCED, EventKind.HALF, EventKind.COMMITTED, EventKind.STORED, EventKind.ATTEMPT, EventKind.RETRY_WAITS,
    ]  # fmt: skip
    commit, stored = events[2:4]
    assert (commit.at_ms, commit.evidence, commit.source) == (stored.at_ms, Evidence.STORED, "Op record")
    assert (commit.physical_offset, stored.physical_offset) == (400, 200)


def test_a_commit_without_its_op_record_is_known_from_the_real_message():
    story = join(replace(committed_late(0), op=None), ())

    commit = story.events[2]
    assert (commit.kind, commit.source, commit.physical_offset) == (EventKind.COMMITTED, "Real message", 200)
    assert "The op record of the transaction was not found." in story.missing


def test_checks_are_counted_and_postponed_ones_told_apart():
    half = record(HALF, 100, 2)
    copies = [
        record(HALF, place, place, TRANSACTION_CHECK_TIMES=times) for place, times in ((200, "1"), (300, "1"), (400, "2"))
    ]

    kinds = [event.kind for event in join(gathered(half, *copies), ()).events]

    assert kinds[1:] == [EventKind.HALF, EventKind.CHECKED, EventKind.POSTPONED, EventKind.CHECKED]


def test_groups_passed_it_or_are_before_it_and_the_time_is_known_from_the_history_only():
    stored = record("orders", 100, 5, offset=7)
    positions = (
        Position("billing", "orders", 0, 7, 8, BORN_MS + 70),
        Position("audit", "orders", 0, 7, 30),
        Position("search", "orders", 0, 7, 4),
    )

    events = join(gathered(stored), positions).events

    assert [(event.group, event.kind, event.evidence) for event in events[2:]] == [
        ("billing", EventKind.PASSED, Evidence.HISTORY),
        ("audit", EventKind.PASSED, Evidence.OFFSET),
        ("search", EventKind.AHEAD, Evidence.OFFSET),
    ]
    assert (events[2].at_ms, events[3].at_ms, events[4].number) == (BORN_MS + 70, -1, 3)


def test_what_consumers_cannot_read_is_no_place_of_groups():
    places = readable_places(gathered(record(HALF, 1, 1), record("TRANS_CHECK_MAX_TIME_TOPIC", 2, 2), *retried()))

    assert places == [("%RETRY%billing", 0, 3), ("orders", 0, 7)]


def test_what_a_retry_was_made_of_is_named_when_it_is_gone():
    story = join(gathered(record("%RETRY%billing", 300, 70, reconsumed=1)), ())

    assert "What billing read at attempt 1 is no longer stored." in story.missing


def test_a_message_with_the_same_key_and_body_is_a_resend_by_inference():
    again = record("orders", 500, 900)

    assert told(gathered(record("orders", 100, 5), alike=(again,)))[-1] == (EventKind.RESENT, Evidence.INFERRED, 900)


def test_a_delivery_after_its_time_is_late():
    waits = record(DELAYS, 100, 5, REAL_TOPIC="orders", DELAY="3")
    events = join(gathered(waits, record("orders", 200, 10_030), due_ms={100: BORN_MS + 10_005}), ()).events

    assert [(event.kind, event.number) for event in events[1:]] == [(EventKind.DELAYED, 3), (EventKind.DELIVERED, -1)]
    assert events[-1].at_ms - events[-1].until_ms == 25


# ---- protocols -----------------------------------------------------------------------------------------------------------


def protocols(story):
    return {event.kind: event.protocol for event in story.events}


def test_a_client_of_grpc_is_known_by_the_host_that_its_proxy_noted():
    story = join(gathered(record("orders", 100, 5, __BORNHOST="laptop")), ())
    assert protocols(story) == {EventKind.PRODUCED: "gRPC", EventKind.STORED: ""}


def test_a_client_of_remoting_is_born_elsewhere_than_the_broker_and_the_console_is_not():
    broker = HostAddress.parse("10.0.0.9:10911")
    sent = replace(record("orders", 100, 5), store_host=broker)
    assert protocols(join(gathered(sent), ()))[EventKind.PRODUCED] == "remoting"
    console = replace(sent, born_host=broker)
    assert protocols(join(gathered(console), ()))[EventKind.PRODUCED] == ""


def test_traces_are_written_by_clients_of_remoting():
    pub = Trace(kind=TraceKind.PUB, position=900, message_id="U1", at_ms=BORN_MS, group="shop", is_success=True)
    before = Trace(kind=TraceKind.BEFORE, position=901, message_id="U1", at_ms=BORN_MS + 9, group="g", request_id="R")
    story = join(gathered(record("orders", 100, 5), traces=(pub, before)), ())
    assert (protocols(story)[EventKind.SENT], protocols(story)[EventKind.ATTEMPT]) == ("remoting", "remoting")


def test_a_retry_of_a_pop_tells_how_its_attempt_received_the_message():
    first, _waits, retry = retried()
    popped = replace(retry, properties=retry.properties | {"1ST_POP_TIME": "1"})
    assert protocols(join(gathered(first, popped), ()))[EventKind.ATTEMPT] == "POP"
    assert protocols(join(gathered(*retried()), ()))[EventKind.ATTEMPT] == ""


def test_a_group_that_passed_a_message_has_the_protocol_of_its_members():
    passed = Position("billing", "orders", 0, 7, 8, protocol="gRPC")
    ahead = Position("audit", "orders", 0, 7, 3, protocol="gRPC")
    story = join(gathered(record("orders", 100, 5, offset=7)), (passed, ahead))
    assert (protocols(story)[EventKind.PASSED], protocols(story)[EventKind.AHEAD]) == ("gRPC", "")
