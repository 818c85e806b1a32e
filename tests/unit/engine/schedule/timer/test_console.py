"""Pending timers: how many when, which, and what a person can do to them."""

import asyncio

import pytest

from broker_core.engine.schedule.timer.console import TimerConsole, TimerPlace
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.errors import StoreError, UsageError
from tests.support.store_bench import HOST
from tests.support.timer_bench import DAY_MS, TOPIC

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


class Journal:
    def __init__(self):
        self.entries = []
        self.fault = None

    async def record(self, action, subject, **details):
        if self.fault:
            raise self.fault
        self.entries.append((action, subject, details))


@pytest.fixture
def journal():
    return Journal()


def console_of(bench, journal, put):
    return TimerConsole(
        bench.work,
        StoreSource(bench.store, bench.store.commit_log_max_offset),
        put=put,
        journal=journal,
        clock=bench.clock,
        delay_max_ms=40 * DAY_MS,
        store_host=HOST,
    )


@pytest.fixture
def console(bench, journal):
    return console_of(bench, journal, bench.put)


def act(console, action, places, **more):
    return asyncio.run(console.act(action, places, **more))


def listed(console, start=None, count=100, **more):
    page = console.page(start, count, **more)
    return [found.unique_key for found in console.describe(page.timers)], page


def place_of(console, key):
    keys, page = listed(console)
    return page.timers[keys.index(key)].place


def test_the_outlook_counts_by_minute_hour_and_day(bench, console):
    start = bench.clock()
    for key, ahead in (("a", 30 * SECOND), ("b", 40 * SECOND), ("c", 90 * SECOND), ("d", 90 * MINUTE), ("e", 30 * HOUR)):
        bench.send(key, start + ahead)
    bench.send("far", start + 20 * DAY_MS)
    bench.send("del", start + 40 * SECOND, cancels="b")
    bench.turns()
    outlook = console.outlook()
    assert (outlook.taken_ms, outlook.first_day) == (start, start // DAY_MS)
    assert (outlook.minutes[:2], sum(outlook.minutes), len(outlook.minutes)) == ([1, 1], 2, 60)
    assert (outlook.hours[0], outlook.hours[1], outlook.hours[30], sum(outlook.hours), len(outlook.hours)) == (2, 1, 1, 4, 48)
    assert sum(outlook.days) == 5
    assert outlook.days[-1] == 1
    assert len(outlook.days) == 21


def test_an_empty_outlook_has_one_day(console):
    outlook = console.outlook()
    assert (sum(outlook.minutes), sum(outlook.hours), outlook.days) == (0, 0, [0])


def test_what_is_overdue_counts_as_of_now(bench, console):
    bench.send("a", bench.clock() + 5 * SECOND)
    bench.turns()
    bench.clock.advance(HOUR)
    assert console.outlook().minutes[0] == 1
    assert console.figures().overdue_ms == HOUR - 5 * SECOND


def test_figures_of_an_idle_and_a_busy_moment(bench, console):
    assert console.figures()[:4] == (0, -1, 0, 0)
    bench.send("a", bench.clock() + 5 * SECOND)
    assert console.figures().not_yet_in_wheel == 1
    bench.turns()
    assert console.figures()[:4] == (1, bench.clock() + 5 * SECOND, 0, 0)
    bench.pass_time(5 * SECOND)
    figures = console.figures()
    assert (figures.pending, figures.delivered, figures.late_p99_ms) == (0, 1, 0.0)


def test_pages_go_through_all_by_time(bench, console):
    start = bench.clock()
    for number in range(10):
        bench.send(f"k{number}", start + (number // 4 + 1) * 10 * SECOND)
    bench.turns()
    seen, place = [], None
    while True:
        keys, page = listed(console, place, 3)
        seen += keys
        place = page.next
        if place is None:
            break
    assert seen == ["k3", "k2", "k1", "k0", "k7", "k6", "k5", "k4", "k9", "k8"]
    assert listed(console, TimerPlace(start + 15 * SECOND, -1), 1)[0] == ["k7"]


def test_a_page_says_everything_about_a_message(bench, console):
    due = bench.clock() + 20 * DAY_MS
    bench.send("far", due, body=b"12345")
    bench.turns()
    ((timer,), _next) = console.page(None, 10)
    (found,) = console.describe([timer])
    assert (found.topic, found.queue_id, found.keys, found.due_ms, found.body_bytes) == (TOPIC, 0, "far", due, 5)
    assert timer.unit.is_roll


def test_a_page_can_be_of_one_topic_and_marks_what_is_cancelled(bench, console):
    due = bench.clock() + 10 * SECOND
    bench.send("a", due)
    bench.send("b", due, topic="Other")
    bench.send("c", due)
    bench.send("del", due, cancels="a")
    bench.turns()
    keys, page = listed(console, topic=TOPIC)
    assert (keys, [timer.is_cancelled for timer in page.timers]) == (["c", "a"], [False, True])


@pytest.mark.parametrize("count", [0, 1_001])
def test_a_page_is_bounded(console, count):
    with pytest.raises(UsageError, match="1 to 1000"):
        console.page(None, count)


def test_deliver_now_delivers_once(bench, console, journal):
    bench.send("a", bench.clock() + HOUR)
    bench.send("b", bench.clock() + HOUR)
    bench.turns()
    place = place_of(console, "a")
    assert act(console, "deliver", [place]) == (1, [])
    assert bench.delivered() == ["a"]
    bench.pass_time(2 * HOUR)
    assert bench.delivered() == ["a", "b"]
    assert journal.entries == [("timer.deliver", "1 timers", {"slotMs": [place.slot_ms], "positions": [place.position]})]


def test_a_cancelled_timer_is_not_delivered_after_a_kill_either(bench, console):
    bench.send("a", bench.clock() + HOUR)
    bench.turns()
    assert act(console, "cancel", [place_of(console, "a")]).done == 1
    bench.crash()
    bench.open()
    bench.pass_time(2 * HOUR)
    assert bench.delivered() == []
    assert bench.work.figures.cancelled == 1


def test_a_moved_timer_comes_at_its_new_time_and_can_be_moved_again(bench, console):
    start = bench.clock()
    bench.send("a", start + HOUR)
    bench.turns()
    assert act(console, "move", [place_of(console, "a")], due_ms=start + 3 * HOUR).done == 1
    bench.turns()
    places = [timer.place for timer in console.page(None, 10).timers if not timer.is_cancelled]
    assert act(console, "move", places, due_ms=start + 2 * HOUR).done == 1
    bench.pass_time(5 * HOUR)
    ((at_ms, properties),) = bench.arrivals()
    assert (at_ms, properties["TIMER_DELIVER_MS"]) == (start + 2 * HOUR, str(start + 2 * HOUR))


def test_a_timer_is_not_moved_to_where_it_is_or_was_cancelled(bench, console):
    start = bench.clock()
    bench.send("a", start + HOUR)
    bench.turns()
    place = place_of(console, "a")
    assert act(console, "move", [place], due_ms=start + HOUR).gone == [place]
    act(console, "move", [place], due_ms=start + 2 * HOUR)
    bench.turns()
    (moved,) = [timer.place for timer in console.page(None, 10).timers if not timer.is_cancelled]
    assert act(console, "move", [moved], due_ms=start + HOUR).gone == [moved]
    assert act(console, "cancel", [place]).gone == [place]


def test_a_rolled_timer_can_be_cancelled_and_moved(bench, console):
    start = bench.clock()
    bench.send("a", start + 20 * DAY_MS)
    bench.send("b", start + 20 * DAY_MS)
    bench.turns()
    act(console, "cancel", [place_of(console, "a")])
    act(console, "move", [place_of(console, "b")], due_ms=start + 3 * DAY_MS)
    bench.pass_time(30 * DAY_MS)
    assert bench.delivered() == ["b"]
    assert bench.arrivals()[0][0] == start + 3 * DAY_MS


def test_what_is_due_or_gone_is_left_alone(bench, console):
    bench.send("a", bench.clock() + 5 * SECOND)
    bench.turns()
    place = place_of(console, "a")
    unknown = TimerPlace(place.slot_ms, place.position + 52)
    assert act(console, "cancel", [unknown, TimerPlace(place.slot_ms + SECOND, 0)]) == (
        0,
        [unknown, TimerPlace(place.slot_ms + SECOND, 0)],
    )
    bench.clock.advance(4_500)
    assert act(console, "cancel", [place]).gone == [place]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("explode", 1, -1), "there are deliver, cancel, move"),
        (("cancel", 1_001, -1), "at most 1000"),
        (("move", 1, -1), "timerMaxDelaySec"),
        (("move", 1, 1 << 60), "timerMaxDelaySec"),
    ],
)
def test_an_action_that_cannot_be_is_refused_unrecorded(console, journal, asked, told):
    action, count, due_ms = asked
    places = [TimerPlace(0, 0)] * count
    with pytest.raises(UsageError, match=told):
        act(console, action, places, due_ms=due_ms)
    assert journal.entries == []


def test_without_its_record_an_action_does_nothing(bench, console, journal):
    bench.send("a", bench.clock() + HOUR)
    bench.turns()
    journal.fault = StoreError("no room")
    with pytest.raises(StoreError, match="no room"):
        act(console, "cancel", [place_of(console, "a")])
    assert bench.store.max_offset("rmq_sys_wheel_timer", 0) == 1


def test_an_action_that_the_store_refuses_is_recorded_as_failed(bench, journal):
    console = console_of(bench, journal, lambda _message: PutResult(PutStatus.SERVICE_NOT_AVAILABLE))
    bench.send("a", bench.clock() + HOUR)
    bench.turns()
    with pytest.raises(StoreError, match="SERVICE_NOT_AVAILABLE"):
        act(console, "cancel", [place_of(console, "a")])
    assert [entry[0] for entry in journal.entries] == ["timer.cancel", "timer.cancel.failed"]
