"""The pump: when, in which order and as what delayed messages are delivered."""

import pytest

from broker_core.engine.schedule.delay_delivery import DELIVERIES_PER_TURN
from broker_core.engine.schedule.lateness import LATE_FROM_MS
from broker_core.engine.schedule.overrides import Override
from broker_core.engine.store.results import NEVER_STORED, PutStatus
from broker_core.protocol.message.tags import tags_code


def test_a_message_is_invisible_until_it_is_due_and_there_at_that_moment(bench):
    bench.delivery.start()
    bench.timers.advance(0)
    bench.put(3, "later")
    bench.timers.advance(9_999)
    assert bench.bodies() == []
    bench.timers.advance(1)
    assert bench.bodies() == ["later"]


def test_nothing_is_polled(bench):
    bench.delivery.start()
    bench.timers.advance(0)
    assert bench.timers.next_in_ms() is None
    bench.put(4, "minute")
    assert bench.timers.next_in_ms() == 60_000
    bench.put(1, "second")
    assert bench.timers.next_in_ms() == 1_000
    rung = bench.timers.rung
    bench.timers.advance(100_000)
    assert bench.timers.rung - rung == 2
    assert bench.bodies() == ["second", "minute"]


def test_the_delivered_message_is_the_one_that_was_sent(bench):
    waiting = bench.put(3, "body", topic="Orders", queue_id=2, KEYS="k1", UNIQ_KEY="U1")
    bench.delivery.start()
    bench.timers.advance(10_000)
    (message,) = bench.messages("Orders", 2)
    assert (message.topic, message.queue_id, message.queue_offset) == ("Orders", 2, 0)
    assert (message.body, message.flag, message.reconsume_times) == (b"body", 7, 2)
    assert message.properties == {
        "TAGS": "a", "DELAY": "3", "REAL_TOPIC": "Orders", "REAL_QID": "2", "KEYS": "k1", "UNIQ_KEY": "U1",
    }  # fmt: skip
    assert message.born_timestamp_ms == waiting.store_timestamp_ms
    assert message.store_timestamp_ms == bench.clock.now_ms
    (unit,) = bench.store.queue_units("Orders", 2, 0, 10)
    assert unit.tags_code == tags_code("a")


def test_messages_of_a_level_keep_their_order(bench):
    bench.delivery.start()
    for number in range(5):
        bench.put(2, str(number))
        bench.timers.advance(10)
    bench.timers.advance(5_000)
    assert bench.bodies() == list("01234")


def test_what_is_overdue_at_the_start_comes_at_once_in_order_of_due_time_over_all_levels(bench):
    for level, name in ((3, "due 10"), (1, "due 1"), (2, "due 5"), (1, "due 1 too"), (4, "due 60")):
        bench.put(level, name)
    bench.clock.advance(20_000)
    bench.delivery.start()
    bench.timers.advance(0)
    assert bench.bodies() == ["due 1", "due 1 too", "due 5", "due 10"]
    assert bench.timers.next_in_ms() == 40_000


def test_a_run_delivers_a_bounded_number_and_leaves_the_rest_to_the_next_turn(bench):
    count = DELIVERIES_PER_TURN * 2 + 5
    for number in range(count):
        bench.put(1, str(number))
    bench.clock.advance(1_000)
    bench.delivery.start()
    assert bench.bodies() == []
    runs = 0
    while len(bench.bodies()) < count:
        before, rung = len(bench.bodies()), bench.timers.rung
        bench.timers.advance(0)
        runs += bench.timers.rung - rung
        assert len(bench.bodies()) > before
    assert runs == 3
    assert bench.bodies() == [str(number) for number in range(count)]


@pytest.mark.parametrize("status", [PutStatus.SERVICE_NOT_AVAILABLE, PutStatus.CREATE_MAPPED_FILE_FAILED])
def test_a_failed_delivery_is_tried_again_and_the_order_of_the_level_is_kept(bench, status):
    bench.delivery.start()
    bench.put(1, "first", topic="Full")
    bench.put(1, "second")
    bench.put(2, "other level", topic="Other")
    bench.store.refuse_topics, bench.store.refuse_with = frozenset({"Full"}), status
    bench.timers.advance(20_000)
    assert (bench.bodies("Full"), bench.bodies(), bench.bodies("Other")) == ([], [], ["other level"])
    assert bench.delivery.levels[1].offset == 0
    bench.store.refuse_topics = frozenset()
    bench.timers.advance(1_000)
    assert (bench.bodies("Full"), bench.bodies()) == (["first"], ["second"])


def test_tries_of_a_failed_delivery_become_rarer(bench):
    bench.store.refuse_topics = frozenset({"T"})
    bench.delivery.start()
    bench.put(1, "first")
    bench.timers.advance(1_000)
    pauses = []
    for _ in range(6):
        pauses.append(bench.timers.next_in_ms())
        bench.timers.advance(pauses[-1])
    assert pauses == [100, 200, 400, 800, 1_000, 1_000]


@pytest.mark.parametrize("status", sorted(NEVER_STORED, key=lambda status: status.value))
def test_a_message_that_the_store_never_takes_does_not_hold_up_its_level(bench, status):
    bench.store.refuse_topics, bench.store.refuse_with = frozenset({"Bad"}), status
    bench.put(1, "bad", topic="Bad")
    bench.put(1, "good")
    bench.delivery.start()
    bench.timers.advance(1_000)
    assert bench.bodies() == ["good"]
    assert bench.delivery.levels[1].skipped == 1


@pytest.mark.parametrize(
    "wrong", [{"REAL_TOPIC": ""}, {"REAL_QID": "x"}, {"REAL_TOPIC": "RMQ_SYS_TRANS_HALF_TOPIC"}], ids=["topic", "queue", "half"]
)
def test_a_message_without_a_place_of_its_own_is_passed_over(bench, wrong):
    bench.put(1, "bad", **wrong)
    bench.put(1, "good")
    bench.delivery.start()
    bench.timers.advance(1_000)
    assert bench.bodies() == ["good"]
    assert bench.store.max_offset("RMQ_SYS_TRANS_HALF_TOPIC", 0) == 0


def test_a_clock_set_forward_makes_messages_due(bench):
    bench.delivery.start()
    bench.put(4, "minute")
    bench.clock.advance(3_600_000)
    bench.delivery.wake()
    bench.timers.advance(0)
    assert bench.bodies() == ["minute"]


def test_after_a_clock_was_set_far_back_nothing_waits_longer_than_its_level(bench):
    bench.put(4, "minute")
    bench.clock.advance(-3_600_000)
    bench.delivery.start()
    bench.timers.advance(0)
    assert bench.bodies() == ["minute"]


def test_a_clock_set_back_a_little_makes_no_message_early(bench):
    bench.put(3, "ten seconds")
    bench.clock.advance(-500)
    bench.delivery.start()
    bench.timers.advance(10_499)
    assert bench.bodies() == []
    bench.timers.advance(1)
    assert bench.bodies() == ["ten seconds"]


def test_a_shorter_level_delivers_what_waits_too_long_for_it(bench):
    bench.put(4, "minute")
    bench.put(3, "ten seconds")
    bench.close()
    bench.open(levels="1s 5s 20s 2s")
    bench.delivery.start()
    bench.timers.advance(0)
    assert bench.bodies() == ["minute"]
    bench.timers.advance(9_999)
    assert bench.bodies() == ["minute"]
    bench.timers.advance(1)
    assert bench.bodies() == ["minute", "ten seconds"]


def test_progress_outside_of_the_queue_is_brought_into_it(bench):
    bench.put(1, "kept")
    bench.close()
    bench.open(offsets={1: 99, 2: -5})
    bench.put(1, "new")
    bench.put(2, "too")
    bench.delivery.start()
    bench.timers.advance(5_000)
    # What lay in the queue counts as delivered when the file is ahead of it; what comes afterwards does not.
    assert bench.bodies() == ["new", "too"]


def test_records_that_are_gone_are_passed_over(bench, monkeypatch):
    lost = bench.put(1, "lost").physical_offset
    bench.put(1, "kept")
    real = bench.store.record_at
    monkeypatch.setattr(bench.store, "record_at", lambda offset: None if offset == lost else real(offset))
    bench.delivery.start()
    bench.timers.advance(1_000)
    assert bench.bodies() == ["kept"]
    assert bench.delivery.levels[1].skipped == 1


def test_a_stopped_delivery_delivers_nothing(bench):
    bench.delivery.start()
    bench.put(1, "late")
    bench.delivery.stop()
    bench.put(1, "later")
    bench.timers.advance(10_000)
    assert bench.bodies() == []


def test_lateness_is_measured_and_nothing_is_early(bench):
    bench.put(1, "late")
    bench.clock.advance(1_012)
    bench.delivery.start()
    bench.timers.advance(0)
    bench.put(1, "exact")
    bench.timers.advance(1_000)
    level = bench.delivery.levels[1]
    assert level.delivered == 2
    assert level.lateness.figures(1) == (0.0, 12.0)
    counts = bench.delivery.late_hour.counts(1).deliveries
    assert {LATE_FROM_MS[place]: count for place, count in enumerate(counts) if count} == {0: 1, 10: 1}


def test_a_cancelled_message_is_passed_over(bench):
    put = bench.put(1, "cancelled")
    bench.put(1, "kept")
    bench.overrides.set_done(put.physical_offset, Override(1, 0, -1))
    bench.delivery.start()
    bench.timers.advance(1_000)
    assert bench.bodies() == ["kept"]


def test_a_message_moved_to_an_earlier_time_comes_then_and_only_then(bench):
    bench.put(3, "first")
    put = bench.put(3, "moved")
    bench.overrides.set_due(put.physical_offset, Override(3, 1, bench.clock() + 2_000))
    bench.delivery.start()
    bench.timers.advance(1_999)
    assert bench.bodies() == []
    bench.timers.advance(1)
    assert bench.bodies() == ["moved"]
    assert bench.delivery.overrides_changed
    bench.timers.advance(10_000)
    assert bench.bodies() == ["moved", "first"]


def test_a_moved_message_waits_for_a_target_that_is_full(bench):
    put = bench.put(3, "moved")
    bench.overrides.set_due(put.physical_offset, Override(3, 0, bench.clock() + 1_000))
    bench.store.refuse_topics = frozenset({"T"})
    bench.delivery.start()
    bench.timers.advance(5_000)
    bench.store.refuse_topics = frozenset()
    bench.timers.advance(1_000)
    assert bench.bodies() == ["moved"]


def test_a_moved_message_that_its_level_delivered_is_not_delivered_twice(bench):
    put = bench.put(1, "moved")
    bench.overrides.set_due(put.physical_offset, Override(1, 0, bench.clock() + 900))
    bench.store.refuse_topics = frozenset({"T"})
    bench.delivery.start()
    bench.timers.advance(1_000)
    bench.store.refuse_topics = frozenset()
    bench.timers.advance(5_000)
    assert bench.bodies() == ["moved"]
