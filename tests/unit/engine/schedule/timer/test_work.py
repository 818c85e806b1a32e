"""Delivery by the clock: never early, in order, cancelled, rolled, tried again."""

import math

import pytest

from broker_core.engine.schedule.timer.messages import NEVER_ENQUEUED
from broker_core.engine.store.results import NEVER_STORED, PutStatus
from broker_core.protocol.message.properties import PROPERTIES_BYTES_MAX, encode_properties
from broker_core.protocol.names import WHEEL_TIMER_TOPIC
from tests.support.store_bench import message
from tests.support.timer_bench import DAY_MS

SECOND = 1_000


def test_a_message_is_delivered_in_the_second_it_asked_for_and_not_before(bench):
    start = bench.clock()
    bench.send("a", start + 5 * SECOND)
    assert bench.turns() == 5 * SECOND
    bench.clock.advance(5 * SECOND - 1)
    bench.turns()
    assert bench.delivered() == []
    bench.clock.advance(1)
    bench.turns()
    assert bench.delivered() == ["a"]


def test_a_time_within_a_second_is_due_at_its_end(bench):
    start = bench.clock()
    bench.send("a", start + 4_200)
    assert bench.turns() == 5 * SECOND


def test_the_properties_of_a_delivered_message_are_those_of_5x(bench):
    start = bench.clock()
    bench.send("a", start + 3 * SECOND)
    bench.pass_time(10 * SECOND)
    ((stored_ms, properties),) = bench.arrivals()
    assert stored_ms == start + 3 * SECOND
    assert properties == {
        "UNIQ_KEY": "a",
        "KEYS": "a",
        "TIMER_DELIVER_MS": str(start + 3 * SECOND),
        "TIMER_OUT_MS": str(start + 2 * SECOND),
        "REAL_TOPIC": "Later",
        "REAL_QID": "0",
        "TIMER_ENQUEUE_MS": str(start),
        "TIMER_DEQUEUE_MS": str(start + 3 * SECOND),
    }


def test_messages_come_by_time_and_within_a_second_as_they_were_sent(bench):
    start = bench.clock()
    for key, seconds in (("late", 9), ("b1", 4), ("a1", 2), ("b2", 4), ("a2", 2)):
        bench.send(key, start + seconds * SECOND)
    bench.pass_time(20 * SECOND)
    assert bench.delivered() == ["a1", "a2", "b1", "b2", "late"]


def test_what_is_due_before_it_enters_the_wheel_is_delivered_at_once(bench):
    bench.send("a", bench.clock() + 2 * SECOND)
    bench.clock.advance(10 * SECOND)
    bench.turns()
    ((_at, properties),) = bench.arrivals()
    assert properties["TIMER_ENQUEUE_MS"] == str(NEVER_ENQUEUED)


def test_a_cancelled_message_is_not_delivered(bench):
    due = bench.clock() + 10 * SECOND
    bench.send("a", due)
    bench.send("b", due)
    bench.pass_time(9 * SECOND)
    bench.send("del", due, cancels="a")
    bench.pass_time(9 * SECOND)
    assert bench.delivered() == ["b"]
    assert (bench.work.figures.cancelled, bench.work.store.waiting, bench.work.store.waiting_by_topic) == (1, 0, {})


def test_a_cancel_sent_in_the_last_moment_counts(bench):
    due = bench.clock() + 10 * SECOND
    bench.send("a", due)
    bench.turns()
    bench.clock.advance(10 * SECOND - 1)
    bench.send("del", due, cancels="a")
    bench.clock.advance(1)
    bench.turns()
    assert bench.delivered() == []


def test_a_cancel_for_another_topic_cancels_nothing(bench):
    due = bench.clock() + 10 * SECOND
    bench.send("a", due)
    bench.send("del", due, cancels="a", topic="Other")
    bench.pass_time(11 * SECOND)
    assert bench.delivered() == ["a"]


def test_the_first_cancels_of_5x_named_the_unique_key_alone(bench):
    due = bench.clock() + 10 * SECOND
    bench.send("a", due)
    properties = f"TIMER_DEL_UNIQKEY\x01a\x02REAL_TOPIC\x01Later\x02TIMER_OUT_MS\x01{due - SECOND}".encode()
    bench.store.put(message(b"x", topic=WHEEL_TIMER_TOPIC, properties=properties))
    bench.pass_time(11 * SECOND)
    assert bench.delivered() == []


def test_what_is_due_months_ahead_is_rolled_until_its_day_has_come(bench):
    start = bench.clock()
    bench.send("a", start + 90 * DAY_MS)
    bench.send("b", start + 90 * DAY_MS)
    bench.send("del", start + 90 * DAY_MS, cancels="b")
    bench.pass_time(90 * DAY_MS - 1)
    assert bench.delivered() == []
    bench.pass_time(1)
    ((stored_ms, properties),) = bench.arrivals()
    assert stored_ms == start + 90 * DAY_MS
    assert properties["TIMER_ROLL_TIMES"] == "44"
    assert (bench.work.figures.rolled, bench.work.far.days) == (3 * 44, {})


def test_the_last_roll_leaves_time_for_the_next(bench):
    start = bench.clock()
    bench.send("a", start + 2 * DAY_MS + 100 * SECOND)
    assert bench.turns() == DAY_MS + SECOND
    bench.pass_time(3 * DAY_MS)
    assert bench.delivered() == ["a"]
    assert bench.arrivals()[0][0] == start + 2 * DAY_MS + 100 * SECOND


def test_a_put_that_fails_is_tried_again_in_order_with_growing_pauses(bench):
    start = bench.clock()
    for key in ("a", "b", "c"):
        bench.send(key, start + 5 * SECOND)
    bench.turns()
    bench.clock.advance(5 * SECOND)
    bench.put_status = PutStatus.SERVICE_NOT_AVAILABLE
    pauses = []
    for _ in range(7):
        pauses.append(bench.turns())
        bench.clock.advance(pauses[-1])
    assert pauses == [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]
    assert bench.work.figures.refusal == "SERVICE_NOT_AVAILABLE"
    bench.put_status = None
    bench.turns()
    assert bench.delivered() == ["a", "b", "c"]
    assert bench.work.figures.refusal == ""


@pytest.mark.parametrize("status", sorted(NEVER_STORED, key=lambda status: status.value))
def test_what_the_store_never_takes_is_set_aside_and_counted(bench, caplog, status):
    bench.send("a", bench.clock() + 5 * SECOND)
    bench.turns()
    bench.clock.advance(5 * SECOND)
    bench.put_status = status
    assert bench.turns() is None
    assert bench.work.figures.lost == 1
    assert "cannot be copied to Later" in caplog.text


def test_a_message_in_the_wheel_topic_that_is_no_timer_does_not_stop_the_others(bench, caplog):
    bench.store.put(message(b"x", topic=WHEEL_TIMER_TOPIC, properties=b"REAL_TOPIC\x01Later\x02TIMER_OUT_MS\x01soon"))
    bench.send("a", bench.clock() + 2 * SECOND)
    bench.pass_time(3 * SECOND)
    assert bench.delivered() == ["a"]
    assert "no timer message" in caplog.text


def test_a_turn_does_a_bounded_amount_of_work(bench):
    due = bench.clock() + 5 * SECOND
    for number in range(1_100):
        bench.send(f"k{number}", due)
    assert bench.work.turn(bench.clock()) == 0
    assert bench.work.store.waiting == 1_000
    bench.turns()
    bench.clock.advance(5 * SECOND)
    taken = 0
    while bench.work.turn(bench.clock()) == 0:
        delivered = bench.store.max_offset("Later", 0)
        assert delivered - taken <= 256
        taken = delivered
    assert bench.delivered() == [f"k{number}" for number in range(1_100)]


def test_a_clock_set_back_makes_nothing_early_and_loses_nothing(bench):
    start = bench.clock()
    bench.send("a", start + 3_600 * SECOND)
    bench.pass_time(10 * SECOND)
    bench.clock.advance(-1_800 * SECOND)
    bench.send("b", bench.clock() + 5 * SECOND)
    bench.pass_time(5 * SECOND)
    assert bench.delivered() == ["b"]
    bench.pass_time(1_800 * SECOND + 3_600 * SECOND - 15 * SECOND - 1)
    assert bench.delivered() == ["b"]
    bench.pass_time(1)
    assert bench.delivered() == ["b", "a"]


def test_a_clock_set_forward_delivers_in_order_of_time(bench):
    start = bench.clock()
    for hours in (3, 1, 2):
        bench.send(f"h{hours}", start + hours * 3_600 * SECOND)
    bench.turns()
    bench.clock.advance(DAY_MS)
    bench.turns()
    assert bench.delivered() == ["h1", "h2", "h3"]


def test_a_clock_set_forward_by_more_than_a_turn_of_the_wheel_loses_nothing(bench):
    start = bench.clock()
    bench.send("first", start + 5 * SECOND)
    bench.send("second", start + 3 * DAY_MS)
    bench.turns()
    bench.clock.advance(15 * DAY_MS)
    bench.send("new", bench.clock() + 3_600 * SECOND)
    bench.turns()
    assert bench.delivered() == ["first", "second"]
    bench.pass_time(3_600 * SECOND)
    assert bench.delivered() == ["first", "second", "new"]


def test_what_is_overdue_by_more_than_a_unit_can_say_is_delivered_after_a_stop_too(open_bench):
    bench = open_bench(precision_ms=5 * SECOND)
    bench.send("a", bench.clock() + 10 * SECOND)
    bench.clock.advance(40 * DAY_MS)
    bench.work.turn(bench.clock())
    assert bench.delivered() == []
    bench.flush()
    bench.crash()
    bench.open().turns()
    assert bench.delivered() == ["a"]


def test_a_slot_that_grows_while_it_is_delivered_is_delivered_whole(bench):
    due = bench.clock() + 5 * SECOND
    for number in range(600):
        bench.send(f"k{number}", due)
    bench.turns()
    bench.clock.advance(5 * SECOND)
    while not bench.store.max_offset("Later", 0):
        bench.work.turn(bench.clock())
    bench.clock.advance(-3 * SECOND)
    bench.send("last", due)
    bench.pass_time(10 * SECOND)
    assert bench.delivered() == [*(f"k{number}" for number in range(600)), "last"]


def test_lateness_is_that_of_the_last_minute(bench):
    due = bench.clock() + 5 * SECOND
    bench.send("a", due)
    bench.turns()
    bench.clock.now_ms = due + 40
    bench.turns()
    assert bench.work.lateness.figures(bench.clock() // 1_000) == (40, 40)
    bench.clock.advance(61_000)
    assert math.isnan(bench.work.lateness.figures(bench.clock() // 1_000).p50_ms)


@pytest.mark.parametrize("ahead_ms", [5 * SECOND, 5 * DAY_MS])
@pytest.mark.parametrize("free", [0, 1, 40, 61, 62, 120, 200])
def test_a_message_without_room_for_the_times_of_the_wheel_is_delivered(bench, free, ahead_ms):
    due = bench.clock() + ahead_ms
    stored = {"UNIQ_KEY": "a", "TIMER_DELIVER_MS": str(due), "TIMER_OUT_MS": str(due - SECOND), "REAL_TOPIC": "Later"}
    stored |= {"REAL_QID": "0", "long": ""}
    stored["long"] = "v" * (PROPERTIES_BYTES_MAX - free - len(encode_properties(stored)))
    bench.store.put(message(b"x", topic=WHEEL_TIMER_TOPIC, properties=encode_properties(stored)))
    bench.send("neighbour", due)
    bench.pass_time(ahead_ms)
    assert bench.delivered() == ["a", "neighbour"]
    assert stored.items() <= bench.arrivals()[0][1].items()
    assert bench.work.figures.lost == 0
