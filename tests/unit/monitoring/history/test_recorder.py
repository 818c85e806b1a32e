import sqlite3
from functools import partial

import pytest

from monitoring.history.recorder import Recorder
from tests.unit.monitoring.history.conftest import BEGIN_MS, NAN, Bench, state_of


def at(second: int, **figures):
    return state_of(BEGIN_MS + second * 1_000, **figures)


def rising(second: int):
    return at(second, put_rate=float(second), lag=float(second % 50))


def test_samples_can_be_read_before_and_after_they_are_rows(bench):
    bench.record(0, 150, rising)
    line = bench.line("topic:orders.put_rate", 0, 200)
    assert line["at"] == list(range(150))
    assert line["last"] == line["low"] == line["high"] == list(range(150))
    assert bench.line("group:billing.lag_messages", 100, 103)["last"] == [0, 1, 2]
    assert bench.line("queue:orders/0.max_offset", 10, 12)["last"] == [100, 100]
    assert bench.line("position:billing/orders/0.owner", 10, 12)["last"] == [1, 1]
    assert bench.line("group:billing.members", 10, 11)["last"] == [0]


def test_what_is_unknown_or_was_never_recorded_has_no_points(bench):
    bench.record(0, 70, rising)
    assert bench.line("group:billing.behind_ms", 0, 70)["at"] == []
    assert bench.line("topic:orders.kept_messages", 0, 70)["at"] == []
    assert bench.line("topic:nothing.put_rate", 0, 70)["at"] == []


def test_what_does_not_change_takes_one_row(bench):
    bench.record(0, 3_600, partial(at, put_rate=7.0))
    line = bench.line("topic:orders.put_rate", 0, 3_600)
    assert line["at"] == list(range(3_600))
    assert set(line["last"]) == {7.0}
    assert bench.rows() == 5  # totals, topic, group, queue, position


def test_a_silence_is_a_gap(bench):
    bench.record(0, 90, partial(at, put_rate=7.0))
    bench.record(200, 230, partial(at, put_rate=7.0))
    line = bench.line("topic:orders.put_rate", 0, 300)
    assert line["at"] == [*range(90), 90, *range(200, 230)]
    assert line["last"] == pytest.approx([7.0] * 90 + [NAN] + [7.0] * 30, nan_ok=True)


def test_a_missing_second_is_no_gap(bench):
    bench.record(0, 30, rising)
    bench.record(33, 70, rising)
    assert bench.line("totals.put_rate", 0, 70)["at"] == [*range(30), *range(33, 70)]


def test_a_second_sample_of_a_second_is_left_out(bench):
    bench.record(0, 3, rising)
    bench.recorder.add(state_of(BEGIN_MS + 2_900, put_rate=99.0))
    assert bench.line("totals.put_rate", 0, 5)["last"] == [0, 1, 2]


def test_a_clock_set_back_begins_a_new_run(bench):
    bench.record(100, 130, rising)
    bench.record(0, 30, rising)
    assert bench.line("totals.put_rate", 0, 200)["last"][:30] == list(range(30))
    bench.recorder.end_run()
    assert bench.line("totals.put_rate", 0, 200)["last"][-30:] == list(range(100, 130))


def test_a_topic_that_is_gone_has_no_more_points(bench):
    bench.record(0, 70, partial(at, put_rate=1.0, topics=("orders", "payments")))
    bench.record(70, 200, partial(at, put_rate=1.0))
    assert bench.line("topic:payments.put_rate", 0, 200)["at"] == list(range(70))
    assert bench.line("topic:orders.put_rate", 0, 200)["at"] == list(range(200))


def test_new_figures_begin_when_they_come(bench):
    bench.record(0, 10, rising)
    for second in range(10, 70):
        state = rising(second)
        state.totals["new_figure"] = 5.0
        bench.recorder.add(state)
    assert bench.line("totals.new_figure", 0, 70)["at"] == list(range(10, 70))
    assert bench.line("totals.put_rate", 0, 70)["at"] == list(range(70))


@pytest.mark.parametrize("seconds", [3, 17, 60, 64, 119])
def test_a_crash_loses_the_last_seconds_only(bench, seconds, tmp_path):
    bench.record(0, seconds, rising)
    bench.close()
    again = Bench(bench.path)
    found = again.line("topic:orders.put_rate", 0, 200)["last"]
    assert found == list(range(len(found)))
    assert seconds - 5 < len(found) <= seconds
    again.record(seconds + 20, seconds + 30, rising)
    after = again.line("topic:orders.put_rate", 0, 400)
    assert after["at"][-10:] == list(range(seconds + 20, seconds + 30))
    again.close()


def test_after_a_clean_end_all_is_there(bench):
    bench.record(0, 64, rising)
    bench.recorder.end_run()
    bench.close()
    again = Bench(bench.path)
    assert again.line("totals.put_rate", 0, 200)["last"] == list(range(64))
    again.close()


def test_a_write_that_fails_costs_its_minute_and_nothing_else(bench):
    bench.record(0, 62, rising)
    other = sqlite3.connect(bench.path, isolation_level=None)
    bench.connection.execute("PRAGMA busy_timeout=0")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        bench.record(62, 70, rising)
    bench.recorder.forget()
    other.execute("ROLLBACK")
    other.close()
    bench.record(80, 90, rising)
    assert bench.line("totals.put_rate", 0, 60)["last"] == list(range(60))
    assert bench.line("totals.put_rate", 80, 100)["last"] == list(range(80, 90))


def test_a_full_disk_costs_what_is_recorded_meanwhile(bench):
    bench.record(0, 62, rising)
    (pages,) = bench.connection.execute("PRAGMA page_count").fetchone()
    bench.connection.execute(f"PRAGMA max_page_count={pages}")
    names = tuple(f"topic-{number}" for number in range(3_000))
    with pytest.raises(sqlite3.OperationalError, match="full"):
        bench.record(62, 70, partial(at, put_rate=1.0, topics=names))
    bench.recorder.forget()
    assert not bench.connection.in_transaction
    bench.connection.execute("PRAGMA max_page_count=1000000")
    bench.record(80, 150, rising)
    assert bench.line("totals.put_rate", 0, 60)["last"] == list(range(60))
    assert bench.line("totals.put_rate", 80, 200)["last"] == list(range(80, 150))


def test_a_journal_that_cannot_be_read_costs_only_itself(bench):
    bench.record(0, 70, rising)
    bench.connection.execute("UPDATE journal SET data=x'93c1'")
    again = Recorder(bench.connection)
    assert again.block is None
    assert bench.line("totals.put_rate", 0, 60)["last"] == list(range(60))


def test_a_write_that_fails_leaves_what_is_in_the_journal(bench):
    bench.record(0, 50, rising)
    with sqlite3.connect(bench.path, isolation_level=None) as other:
        bench.connection.execute("PRAGMA busy_timeout=0")
        other.execute("BEGIN IMMEDIATE")
        for attempt in range(2):
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                bench.record(50 + 20 * attempt, 70 + 20 * attempt, rising)
            bench.recorder.forget()
        other.execute("ROLLBACK")
    other.close()
    bench.record(100, 170, rising)
    assert bench.line("totals.put_rate", 0, 100)["last"] == list(range(50))
    assert bench.line("totals.put_rate", 100, 200)["last"] == list(range(100, 170))
