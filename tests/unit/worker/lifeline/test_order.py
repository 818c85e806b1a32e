"""Events in the order of their causes, also where clocks contradict each other."""

from __future__ import annotations

import pytest

from broker_core.worker.lifeline.model import Event, EventKind, Evidence
from broker_core.worker.lifeline.order import in_order

NUMBERED = {"group": "billing", "number": 1}
QUEUE = {"topic": "orders", "queue_id": 0, "queue_offset": 7}
RETRY_QUEUE = {"topic": "%RETRY%billing", "queue_id": 0, "queue_offset": 3}


def event(kind: EventKind, at_ms: int, **fields: object) -> Event:
    return Event(kind=kind, at_ms=at_ms, evidence=Evidence.STORED, source="", **fields)


def told(recorded: list[Event], *between: Event) -> list[tuple[str, int]]:
    return [(one.kind.value, one.at_ms) for one in in_order(recorded, between)]


def test_the_log_gives_the_order_when_the_clock_of_the_broker_was_set_back():
    recorded = [
        event(EventKind.STORED, 5_000, **QUEUE),
        event(EventKind.RETRY_WAITS, 2_000, **NUMBERED),
        event(EventKind.RETRY, 3_000, **NUMBERED, **RETRY_QUEUE),
    ]

    second = event(EventKind.ATTEMPT, 3_020, group="billing", number=2, **RETRY_QUEUE)
    first = event(EventKind.ATTEMPT, 1_990, **NUMBERED, **QUEUE)

    assert told(recorded, second, first, event(EventKind.PRODUCED, 4_999)) == [
        ("produced", 4_999), ("stored", 5_000), ("attempt", 1_990), ("retry waits", 2_000), ("retry", 3_000),
        ("attempt", 3_020),
    ]  # fmt: skip


@pytest.mark.parametrize("skew_ms", [-3_600_000, -3, 0, 3, 3_600_000])
def test_what_clients_say_is_put_between_its_causes_and_its_effects_however_their_clocks_go(skew_ms):
    recorded = [
        event(EventKind.HALF, 10_000_000),
        event(EventKind.COMMITTED, 10_000_090),
        event(EventKind.STORED, 10_000_090, **QUEUE),
        event(EventKind.RETRY_WAITS, 10_000_100, **NUMBERED),
    ]
    between = [
        event(EventKind.PRODUCED, 9_999_998 + skew_ms),
        event(EventKind.SENT, 9_999_999 + skew_ms),
        event(EventKind.ANSWERED, 10_000_089 + skew_ms),
        event(EventKind.ATTEMPT, 10_000_095 + skew_ms, **NUMBERED, **QUEUE),
    ]

    kinds = [kind for kind, _at_ms in told(recorded, *reversed(between))]

    assert kinds == ["produced", "sent", "half", "answered", "committed", "stored", "attempt", "retry waits"]


def test_a_client_that_sent_again_may_have_done_so_after_the_first_was_stored():
    sent = [event(EventKind.SENT, 99), event(EventKind.SENT, 3_100)]

    assert told([event(EventKind.STORED, 103, **QUEUE)], *sent) == [("sent", 99), ("stored", 103), ("sent", 3_100)]


def test_an_attempt_at_a_record_that_is_gone_stands_before_what_it_led_to():
    dead = event(EventKind.DEAD, 50, group="billing", number=2, topic="%DLQ%billing", queue_id=0, queue_offset=0)
    recorded = [event(EventKind.RETRY, 50, **NUMBERED, **RETRY_QUEUE), dead]
    attempts = [event(EventKind.ATTEMPT, 50, **NUMBERED), event(EventKind.ATTEMPT, 50, group="billing", number=2)]

    assert told(recorded, *attempts) == [("attempt", 50), ("retry", 50), ("attempt", 50), ("dead", 50)]


def test_a_group_passes_a_message_that_is_stored_and_what_has_no_time_is_last():
    passed = event(EventKind.PASSED, 40, group="search", **QUEUE)
    ahead = event(EventKind.AHEAD, -1, group="audit", **QUEUE)

    assert told([event(EventKind.STORED, 50, **QUEUE)], ahead, passed) == [("stored", 50), ("passed", 40), ("ahead", -1)]


def test_an_earlier_message_alike_stands_before_this_one():
    recorded = [event(EventKind.RESENT_FROM, 10), event(EventKind.STORED, 100, **QUEUE), event(EventKind.RESENT, 900)]

    assert told(recorded, event(EventKind.PRODUCED, 98)) == [
        ("resent from", 10), ("produced", 98), ("stored", 100), ("resent", 900),
    ]  # fmt: skip
